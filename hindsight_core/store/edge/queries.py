"""Lanes and filters in the embedded engine's own terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias
from uuid import UUID

import qdrant_edge as qe

from hindsight_core.models import Memory
from hindsight_core.store.base import DenseLane, Hit, Lane, MemoryFilter, Search, SparseLane
from hindsight_core.store.checks import check_dense, check_sparse
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

__all__ = [
    "Found",
    "LaneQuery",
    "Scores",
    "ask_all",
    "engine_filter",
    "found_by",
    "hits_of",
    "lane_queries",
    "number_of",
    "read_exact",
]


_Id: TypeAlias = int | str | UUID


@dataclass(frozen=True, slots=True)
class LaneQuery:
    """One lane in the engine's own terms; `using` is `dense`, `sparse` or `order`."""

    query: Any
    limit: int
    where: qe.Filter
    using: str
    params: qe.SearchParams | None = None
    with_payload: bool = False
    with_vector: bool = False


def lane_queries(lanes: Sequence[Lane], op: Search, dimension: int) -> list[LaneQuery]:
    """Return `lanes` of `op` for vectors `dimension` wide."""
    filters: dict[int, qe.Filter] = {}
    queries: list[LaneQuery] = []
    for lane in lanes:
        where = lane.where or op.where
        # Lanes mostly share their filter, and are held by `op` meanwhile.
        if id(where) not in filters:
            filters[id(where)] = engine_filter(conditions_of(where))
        query = _lane_query(lane, where, filters[id(where)], dimension)
        queries.append(replace(query, with_vector=True) if op.with_vectors else query)
    return queries


def _lane_query(lane: Lane, where: MemoryFilter, filter_: qe.Filter, dimension: int) -> LaneQuery:
    if isinstance(lane, DenseLane):
        check_dense(lane.vector, dimension, "the query")
        return LaneQuery(qe.Query.Nearest(list(lane.vector), "dense"), lane.limit, filter_, "dense")
    if isinstance(lane, SparseLane):
        check_sparse(lane.vector, "the query")
        vector = qe.SparseVector(list(lane.vector.indices), list(lane.vector.values))
        params = qe.SearchParams(idf=qe.IdfParams(engine_filter(in_namespaces(where.namespaces))))
        return LaneQuery(qe.Query.Nearest(vector, "sparse"), lane.limit, filter_, "sparse", params)
    return LaneQuery(qe.OrderBy(lane.by, qe.Direction.Desc), lane.limit, filter_, "order")


def ask_all(shard: qe.EdgeShard, queries: Sequence[LaneQuery]) -> list[list[qe.ScoredPoint]]:
    """Ask all lanes at once."""
    return shard.query_batch(
        qe.QueryBatchRequest(
            [
                qe.QueryRequest(
                    q.limit,
                    query=q.query,
                    filter=q.where,
                    params=q.params,
                    with_payload=["body"] if q.with_payload else False,
                    with_vector=["dense"] if q.with_vector else False,
                )
                for q in queries
            ]
        )
    )


def number_of(point_id: _Id) -> int:
    """Return the 128 bits of an id, which are compared much faster than the id."""
    return point_id.int if isinstance(point_id, UUID) else UUID(str(point_id)).int


@dataclass(frozen=True, slots=True)
class Found:
    """What each lane found.

    Attributes:
        lanes: The points of each lane with their numbers, best first.
        ids: The id of each of them by its number; the engine makes a new UUID at each look at
            an id, so each is looked at once.
    """

    lanes: Sequence[Sequence[tuple[int, qe.ScoredPoint]]]
    ids: Mapping[int, _Id]


def found_by(lists: Sequence[Sequence[qe.ScoredPoint]]) -> Found:
    """Return what lanes found, with each point's number."""
    ids: dict[int, _Id] = {}
    lanes = []
    for points in lists:
        lane = []
        for point in points:
            id_ = point.id
            number = number_of(id_)
            ids[number] = id_
            lane.append((number, point))
        lanes.append(lane)
    return Found(lanes, ids)


@dataclass(frozen=True, slots=True)
class Scores:
    """Both scores of every candidate, by the number of its point; a missing BM25 score is 0."""

    cosine: Mapping[int, float]
    bm25: Mapping[int, float]


def read_exact(shard: qe.EdgeShard, queries: Sequence[LaneQuery], found: Found) -> Scores:
    """Return both scores of every point that was found by `queries`.

    In process a second, small batch is cheaper than nesting the lanes in one: no lane is
    searched twice, and each is asked only about points that it did not bring itself.
    """
    known: dict[str, dict[int, float]] = {}
    asked: list[tuple[str, LaneQuery]] = []
    for using in ("dense", "sparse"):
        places = [place for place, query in enumerate(queries) if query.using == using]
        scores = known[using] = {
            number: point.score for place in places for number, point in found.lanes[place]
        }
        missing = {id_ for number, id_ in found.ids.items() if number not in scores}
        if places and missing:
            only = qe.Filter(must=[qe.HasIdCondition(missing)])
            asked.append((using, replace(queries[places[0]], limit=len(missing), where=only)))
    answers = ask_all(shard, [query for _, query in asked]) if asked else []
    for (using, _), points in zip(asked, answers, strict=True):
        known[using].update((number_of(point.id), point.score) for point in points)
    return Scores(known["dense"], known["sparse"])


def hits_of(
    points: Sequence[tuple[int, qe.ScoredPoint]],
    memories: Mapping[int, Memory],
    query: LaneQuery,
    scores: Scores | None,
) -> tuple[Hit, ...]:
    """Return what a lane found, without what can't be read."""
    ordered = query.using == "order"
    hits = []
    for number, point in points:
        memory = memories.get(number)
        if memory is None:
            continue
        vector: Any = point.vector if query.with_vector else None
        dense = tuple(vector["dense"]) if vector else ()
        score = 0.0 if ordered else point.score
        if scores is None:
            hits.append(Hit(memory, score, dense))
        else:
            bm25 = scores.bm25.get(number, 0.0)
            hits.append(Hit(memory, score, dense, scores.cosine.get(number), bm25))
    return tuple(hits)


def engine_filter(conditions: Conditions) -> qe.Filter:
    """Return `conditions` as a filter of the engine."""
    return qe.Filter(
        must=[_condition(item) for item in conditions.must],
        must_not=[_condition(item) for item in conditions.must_not],
    )


def _condition(condition: Condition) -> qe.FieldCondition | qe.HasIdCondition:
    match condition:
        case AnyOf(field, values):
            return _any_of(field, values) if len(values) <= _FEW else _any_of_anew(field, values)
        case AllWords(field, words):
            return qe.FieldCondition(field, match=qe.MatchText(" ".join(words)))
        case AtLeast(field, least):
            return qe.FieldCondition(field, range=qe.RangeFloat(gte=least))
        case Within(field, since, until):
            return qe.FieldCondition(field, range=qe.RangeDateTime(gte=since, lte=until))
        case HasId(point_ids):
            return qe.HasIdCondition(set(point_ids))


_FEW = 16
"""Values of a condition that is kept: each query asks for the same few namespaces and statuses."""


def _any_of_anew(field: str, values: tuple[str, ...]) -> qe.FieldCondition:
    # The engine checks one value in two thirds of the time of a list with one.
    match = qe.MatchValue(values[0]) if len(values) == 1 else qe.MatchAny(list(values))
    return qe.FieldCondition(field, match=match)


_any_of = lru_cache(maxsize=256)(_any_of_anew)
