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
    "ExactScores",
    "LaneQuery",
    "ask_all",
    "engine_filter",
    "exact_scores",
    "hit_of",
    "lane_query",
]


@dataclass(frozen=True, slots=True)
class LaneQuery:
    """One lane in the engine's own terms; `using` is `dense`, `sparse` or `order`."""

    query: Any
    limit: int
    where: qe.Filter
    using: str
    params: qe.SearchParams | None = None


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
    shard: qe.EdgeShard, queries: Sequence[LaneQuery], *, with_vectors: bool, with_payload: bool
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
                    with_payload=["body"] if with_payload else False,
                    with_vector=["dense"] if with_vectors else False,
                )
                for q in queries
            ]
        )
    )


@dataclass(frozen=True, slots=True)
class ExactScores:
    """Both scores of every candidate, by point id; a missing BM25 score is 0."""

    cosine: Mapping[Any, float]
    bm25: Mapping[Any, float]


def exact_scores(
    shard: qe.EdgeShard, queries: Sequence[LaneQuery], lists: Sequence[Sequence[qe.ScoredPoint]]
) -> ExactScores:
    """Return both scores of every point in `lists`, the answers to `queries`.

    In process a second, small batch is cheaper than nesting the lanes in one: no lane is
    searched twice.
    """
    ids = {point.id for points in lists for point in points}
    wanted = [first for name in ("dense", "sparse") if (first := _first(queries, name))]
    if not ids or not wanted:
        return ExactScores({}, {})
    these = qe.Filter(must=[qe.HasIdCondition(ids)])
    answers = ask_all(
        shard,
        [replace(query, limit=len(ids), where=these) for query in wanted],
        with_vectors=False,
        with_payload=False,
    )
    by_name = {
        query.using: {point.id: point.score for point in points}
        for query, points in zip(wanted, answers, strict=True)
    }
    return ExactScores(by_name.get("dense", {}), by_name.get("sparse", {}))


def hit_of(
    point: qe.ScoredPoint, memory: Memory, query: LaneQuery, exact: ExactScores | None
) -> Hit:
    """Return what a lane found."""
    vector: Any = point.vector
    dense = tuple(vector["dense"]) if vector else ()
    score = 0.0 if query.using == "order" else point.score
    if exact is None:
        return Hit(memory, score, dense)
    return Hit(memory, score, dense, exact.cosine.get(point.id), exact.bm25.get(point.id, 0.0))


def _first(queries: Sequence[LaneQuery], using: str) -> LaneQuery | None:
    return next((query for query in queries if query.using == using), None)


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
