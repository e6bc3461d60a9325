"""Searching through a Qdrant client: lanes, exact scores, filters."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from qdrant_client import models

from hindsight_core.models import Memory
from hindsight_core.store.base import (
    DenseLane,
    Hit,
    Lane,
    OrderedLane,
    Schema,
    Search,
    SparseLane,
)
from hindsight_core.store.checks import can_match, check_dense, check_sparse
from hindsight_core.store.filters import (
    AllWords,
    AnyOf,
    AtLeast,
    Condition,
    Conditions,
    HasId,
    Within,
    conditions_of,
    in_namespaces,
)
from hindsight_core.store.payload import memory_from_stored
from hindsight_core.store.unreadable import Unreadable

__all__ = ["Call", "Calls", "engine_filter", "search"]


OVERSAMPLING = 2.0
"""Candidates by their quantized vectors for each one that is wanted."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a client's method.

    Attributes:
        method: Name of the method.
        arguments: Its arguments, beside the collection's name.
        may_exist: Whether "already exists" is as good an answer as any.
    """

    method: str
    arguments: Mapping[str, Any]
    may_exist: bool = False


Calls: TypeAlias = Generator[Call, Any, Any]


def search(op: Search, schema: Schema, unreadable: Unreadable, *, quantized: bool) -> Calls:
    """Ask all lanes in one request, with both scores where `exact` asks for them.

    Where vectors are `quantized`, what is near is scored again by the whole ones.
    """
    asked = [i for i, lane in enumerate(op.lanes) if can_match(lane)]
    requests = [_request(op.lanes[i], op, schema, quantized) for i in asked]
    answers: dict[int, tuple[Hit, ...]] = {}
    if requests:
        scoring = _exact_requests(requests) if op.exact else []
        found = yield Call("query_batch_points", {"requests": [*requests, *scoring]})
        exact = _exact_scores(scoring, found[len(requests) :]) if op.exact else None
        memories: dict[Any, Memory | None] = {}
        for i, response in zip(asked, found, strict=False):
            scored = not isinstance(op.lanes[i], OrderedLane)
            hits = []
            for point in response.points:
                if point.id not in memories:
                    memory = unreadable.read(point.id, point.payload, memory_from_stored)
                    memories[point.id] = memory
                if (memory := memories[point.id]) is not None:
                    hits.append(_hit(point, memory, scored, exact))
            answers[i] = tuple(hits)
    return tuple(answers.get(i, ()) for i in range(len(op.lanes)))


def _request(lane: Lane, op: Search, schema: Schema, quantized: bool) -> models.QueryRequest:
    where = lane.where or op.where
    arguments: dict[str, Any] = {}
    if isinstance(lane, DenseLane):
        check_dense(lane.vector, schema.dimension, "the query")
        arguments = {"query": list(lane.vector), "using": "dense"}
        if quantized:
            again = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
            arguments["params"] = models.SearchParams(quantization=again)
    elif isinstance(lane, SparseLane):
        check_sparse(lane.vector, "the query")
        corpus = models.IdfCorpusParams(corpus=engine_filter(in_namespaces(where.namespaces)))
        arguments = {
            "query": models.SparseVector(
                indices=list(lane.vector.indices), values=list(lane.vector.values)
            ),
            "using": "sparse",
            "params": models.SearchParams(idf=corpus),
        }
    else:
        order = models.OrderBy(key=lane.by, direction=models.Direction.DESC)
        arguments = {"query": models.OrderByQuery(order_by=order)}
    return models.QueryRequest(
        **arguments,
        limit=lane.limit,
        filter=engine_filter(conditions_of(where)),
        with_payload=["body"],
        with_vector=["dense"] if op.with_vectors else False,
    )


_Exact: TypeAlias = Mapping[str, Mapping[Any, float]]
"""By vector name, the score of each point."""


def _exact_requests(lanes: Sequence[models.QueryRequest]) -> list[models.QueryRequest]:
    """Return requests for both scores of whatever `lanes` find, to be sent along with them.

    The lanes are nested, so that it stays one round trip.
    """
    nested = [
        models.Prefetch(
            query=lane.query,
            using=lane.using,
            filter=lane.filter,
            params=lane.params,
            limit=lane.limit,
        )
        for lane in lanes
    ]
    limit = sum(lane.limit or 0 for lane in lanes)
    firsts = {lane.using: lane for lane in reversed(lanes) if lane.using}
    return [
        models.QueryRequest(
            prefetch=nested,
            query=lane.query,
            using=lane.using,
            params=lane.params,
            limit=limit,
            with_payload=False,
        )
        for lane in firsts.values()
    ]


def _exact_scores(requests: Sequence[models.QueryRequest], found: Sequence[Any]) -> _Exact:
    return {
        str(request.using): {point.id: point.score for point in response.points}
        for request, response in zip(requests, found, strict=True)
    }


def _hit(point: models.ScoredPoint, memory: Memory, scored: bool, exact: _Exact | None) -> Hit:
    vector: Any = point.vector
    dense = tuple(vector["dense"]) if vector else ()
    score = point.score if scored else 0.0
    if exact is None:
        return Hit(memory, score, dense)
    cosine = exact.get("dense", {}).get(point.id)
    return Hit(memory, score, dense, cosine, exact.get("sparse", {}).get(point.id, 0.0))


def engine_filter(conditions: Conditions) -> models.Filter:
    """Return `conditions` as a filter of the client."""
    return models.Filter(
        must=[_condition(item) for item in conditions.must],
        must_not=[_condition(item) for item in conditions.must_not],
    )


def _condition(condition: Condition) -> models.FieldCondition | models.HasIdCondition:
    match condition:
        case AnyOf(field, values):
            return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))
        case AllWords(field, words):
            return models.FieldCondition(key=field, match=models.MatchText(text=" ".join(words)))
        case AtLeast(field, least):
            return models.FieldCondition(key=field, range=models.Range(gte=least))
        case Within(field, since, until):
            span = models.DatetimeRange.model_validate({"gte": since, "lte": until})
            return models.FieldCondition(key=field, range=span)
        case HasId(point_ids):
            return models.HasIdCondition(has_id=list(point_ids))
