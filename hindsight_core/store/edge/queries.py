"""Lanes and filters in the embedded engine's own terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import UUID

import qdrant_edge as qe

from hindsight_core.models import Memory
from hindsight_core.store.base import DenseLane, Hit, Lane, Search, SparseLane
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
    "LaneQuery",
    "Numbered",
    "Scores",
    "ask_all",
    "engine_filter",
    "hit_of",
    "lane_query",
    "number_of",
    "numbered",
    "read_exact",
]


Numbered: TypeAlias = list[list[tuple[int, qe.ScoredPoint]]]
"""What each lane found, with the numbers of the points: an id's 128 bits."""


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


def number_of(point_id: int | str | UUID) -> int:
    """Return the 128 bits of an id, which are compared much faster than the id."""
    return point_id.int if isinstance(point_id, UUID) else UUID(str(point_id)).int


def numbered(lists: list[list[qe.ScoredPoint]]) -> Numbered:
    """Give each point its number: the engine makes a new UUID at each look at an id."""
    return [[(number_of(point.id), point) for point in points] for points in lists]


@dataclass(frozen=True, slots=True)
class Scores:
    """Both scores of every candidate, by the number of its point; a missing BM25 score is 0."""

    cosine: Mapping[int, float]
    bm25: Mapping[int, float]


def read_exact(shard: qe.EdgeShard, queries: Sequence[LaneQuery], lanes: Numbered) -> Scores:
    """Return both scores of every point in `lanes`, the answers to `queries`.

    In process a second, small batch is cheaper than nesting the lanes in one: no lane is
    searched twice, and each is asked only about points that it did not bring itself.
    """
    every = {number for lane in lanes for number, _ in lane}
    known: dict[str, dict[int, float]] = {}
    asked: list[tuple[str, LaneQuery]] = []
    for using in ("dense", "sparse"):
        places = [place for place, query in enumerate(queries) if query.using == using]
        scores = known[using] = {
            number: point.score for place in places for number, point in lanes[place]
        }
        missing = every - scores.keys()
        if places and missing:
            asked.append((using, _among(queries[places[0]], missing)))
    answers = ask_all(shard, [query for _, query in asked]) if asked else []
    for (using, _), points in zip(asked, answers, strict=True):
        known[using].update((number_of(point.id), point.score) for point in points)
    return Scores(known["dense"], known["sparse"])


def _among(query: LaneQuery, numbers: set[int]) -> LaneQuery:
    ids: set[int | str | UUID] = {UUID(int=number) for number in numbers}
    return replace(query, limit=len(ids), where=qe.Filter(must=[qe.HasIdCondition(ids)]))


def hit_of(
    number: int, point: qe.ScoredPoint, memory: Memory, query: LaneQuery, scores: Scores | None
) -> Hit:
    """Return what a lane found."""
    vector: Any = point.vector
    dense = tuple(vector["dense"]) if vector else ()
    score = 0.0 if query.using == "order" else point.score
    if scores is None:
        return Hit(memory, score, dense)
    return Hit(memory, score, dense, scores.cosine.get(number), scores.bm25.get(number, 0.0))


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
        case AllWords(field, words):
            return qe.FieldCondition(field, match=qe.MatchText(" ".join(words)))
        case AtLeast(field, least):
            return qe.FieldCondition(field, range=qe.RangeFloat(gte=least))
        case Within(field, since, until):
            return qe.FieldCondition(field, range=qe.RangeDateTime(gte=since, lte=until))
        case HasId(point_ids):
            return qe.HasIdCondition(set(point_ids))
