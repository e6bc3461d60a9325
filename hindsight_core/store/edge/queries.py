"""Lanes and filters in the embedded engine's own terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import qdrant_edge as qe

from hindsight_core.models import Memory
from hindsight_core.store.base import DenseLane, Hit, Lane, Search, SparseLane
from hindsight_core.store.checks import check_dense, check_sparse
from hindsight_core.store.filters import (
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
    "LaneQuery",
    "Scores",
    "ask_all",
    "engine_filter",
    "hit_of",
    "lane_query",
    "read_exact",
]


@dataclass(frozen=True, slots=True)
class LaneQuery:
    """One lane in the engine's own terms; `using` is `dense`, `sparse` or `order`."""

    query: Any
    limit: int
    where: qe.Filter
    using: str
    params: qe.SearchParams | None = None
    with_payload: bool = False


def lane_query(lane: Lane, op: Search, dimension: int) -> LaneQuery:
    """Return `lane` of `op` for vectors `dimension` wide."""
    where = lane.where or op.where
    filter_ = engine_filter(conditions_of(where))
    if isinstance(lane, DenseLane):
        check_dense(lane.vector, dimension, "the query")
        return LaneQuery(qe.Query.Nearest(list(lane.vector), "dense"), lane.limit, filter_, "dense")
    if isinstance(lane, SparseLane):
        check_sparse(lane.vector, "the query")
        vector = qe.SparseVector(list(lane.vector.indices), list(lane.vector.values))
        params = qe.SearchParams(idf=qe.IdfParams(engine_filter(in_namespaces(where.namespaces))))
        return LaneQuery(qe.Query.Nearest(vector, "sparse"), lane.limit, filter_, "sparse", params)
    return LaneQuery(qe.OrderBy(lane.by, qe.Direction.Desc), lane.limit, filter_, "order")


def ask_all(
    shard: qe.EdgeShard, queries: Sequence[LaneQuery], *, with_vectors: bool = False
) -> list[list[qe.ScoredPoint]]:
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
                    with_vector=["dense"] if with_vectors else False,
                )
                for q in queries
            ]
        )
    )


@dataclass(frozen=True, slots=True)
class Scores:
    """Both scores of every candidate, by point id; a missing BM25 score is 0."""

    cosine: Mapping[Any, float]
    bm25: Mapping[Any, float]


def read_exact(
    shard: qe.EdgeShard,
    queries: Sequence[LaneQuery],
    lists: Sequence[Sequence[tuple[Any, qe.ScoredPoint]]],
) -> tuple[Scores, dict[Any, Any]]:
    """Return both scores and the payload of every point in `lists`, the answers to `queries`.

    In process a second, small batch is cheaper than nesting the lanes in one: no lane is
    searched twice. It reads the payloads along with the cosines, and asks BM25 only about
    points that its own lane did not bring.
    """
    ids = {id_ for points in lists for id_, _ in points}
    dense, sparse = _first(queries, "dense"), _first(queries, "sparse")
    if not ids:
        return Scores({}, {}), {}
    bm25: dict[Any, float] = {}
    asked: list[LaneQuery] = []
    if sparse is not None:
        bm25 = {id_: point.score for id_, point in lists[queries.index(sparse)]}
        missing = ids - bm25.keys()
        asked = [_among(sparse, missing)] if missing else []
    if dense is not None:
        asked.append(replace(_among(dense, ids), with_payload=True))
    answers = ask_all(shard, asked)
    cosine: dict[Any, float] = {}
    stored: dict[Any, Any] = {}
    if dense is not None:
        for point in answers.pop():
            id_ = point.id
            cosine[id_] = point.score
            stored[id_] = point.payload
    else:
        found = shard.retrieve([*ids], ["body"], False)
        stored = {record.id: record.payload for record in found}
    bm25.update((point.id, point.score) for rest in answers for point in rest)
    return Scores(cosine, bm25), stored


def _among(query: LaneQuery, ids: set[Any]) -> LaneQuery:
    return replace(query, limit=len(ids), where=qe.Filter(must=[qe.HasIdCondition(ids)]))


def _first(queries: Sequence[LaneQuery], using: str) -> LaneQuery | None:
    return next((query for query in queries if query.using == using), None)


def hit_of(
    id_: Any, point: qe.ScoredPoint, memory: Memory, query: LaneQuery, scores: Scores | None
) -> Hit:
    """Return what a lane found."""
    vector: Any = point.vector
    dense = tuple(vector["dense"]) if vector else ()
    score = 0.0 if query.using == "order" else point.score
    if scores is None:
        return Hit(memory, score, dense)
    return Hit(memory, score, dense, scores.cosine.get(id_), scores.bm25.get(id_, 0.0))


def engine_filter(conditions: Conditions) -> qe.Filter:
    """Return `conditions` as a filter of the engine."""
    return qe.Filter(
        must=[_condition(item) for item in conditions.must],
        must_not=[_condition(item) for item in conditions.must_not],
    )


def _condition(condition: Condition) -> qe.FieldCondition | qe.HasIdCondition:
    match condition:
        case AnyOf(field, values):
            return qe.FieldCondition(field, match=qe.MatchAny(list(values)))
        case AtLeast(field, least):
            return qe.FieldCondition(field, range=qe.RangeFloat(gte=least))
        case Within(field, since, until):
            return qe.FieldCondition(field, range=qe.RangeDateTime(gte=since, lte=until))
        case HasId(point_ids):
            return qe.HasIdCondition(set(point_ids))
