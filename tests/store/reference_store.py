"""The port in its simplest form, to compare the real stores with."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import (
    Count,
    DenseLane,
    Facet,
    Get,
    Hit,
    Lane,
    MemoryFilter,
    MemoryStore,
    Patch,
    Point,
    Purge,
    Put,
    Record,
    Schema,
    Scroll,
    ScrollPage,
    Search,
    SparseLane,
    StoreStats,
)


class ReferenceStore(MemoryStore):
    """A dictionary, and a loop over all of it for every question."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.points: dict[tuple[str, str], Point] = {}

    def execute(self, op: Any) -> Any:
        return getattr(self, f"_{type(op).__name__.lower()}")(op)

    async def aexecute(self, op: Any) -> Any:
        return self.execute(op)

    def stats(self) -> StoreStats:
        return StoreStats("memory", "reference", len(self.points), self.schema)

    def close(self) -> None:
        self.points = {}

    def _put(self, op: Put) -> None:
        for point in op.points:
            self.points[_key(point.memory)] = point

    def _patch(self, op: Patch) -> bool:
        point = self.points.get(_key(op.memory))
        if point is None or op.expected_version not in (None, point.memory.version):
            return False
        self.points[_key(op.memory)] = replace(point, memory=op.memory, changes=op.changes)
        return True

    def _get(self, op: Get) -> tuple[Record, ...]:
        keys = dict.fromkeys((n.key, id_) for id_ in op.ids for n in op.namespaces)
        found = (self.points[key] for key in keys if key in self.points)
        return tuple(Record(point.memory, point.changes) for point in found)

    def _search(self, op: Search) -> tuple[tuple[Hit, ...], ...]:
        lanes = tuple(self._lane(lane, lane.where or op.where) for lane in op.lanes)
        if not op.exact:
            return lanes
        return tuple(tuple(self._scored(hit, op) for hit in hits) for hits in lanes)

    def _scored(self, hit: Hit, op: Search) -> Hit:
        dense = next((lane for lane in op.lanes if isinstance(lane, DenseLane)), None)
        sparse = next((lane for lane in op.lanes if isinstance(lane, SparseLane)), None)
        point = self.points[_key(hit.memory)]
        cosine = None if dense is None else _dot(dense.vector, point.dense)
        bm25 = 0.0
        if sparse is not None:
            corpus = self._inside((sparse.where or op.where).namespaces)
            bm25 = _bm25(sparse, point, corpus)
        return hit._replace(cosine=cosine, bm25=bm25)

    def _lane(self, lane: Lane, where: MemoryFilter) -> tuple[Hit, ...]:
        scored: list[tuple[Any, Point]] = []
        corpus = self._inside(where.namespaces)
        for point in self._matching(where):
            if isinstance(lane, DenseLane):
                scored.append((_dot(lane.vector, point.dense), point))
            elif isinstance(lane, SparseLane):
                if set(lane.vector.indices) & set(point.sparse.indices):
                    scored.append((_bm25(lane, point, corpus), point))
            elif getattr(point.memory, lane.by) is not None:
                scored.append((getattr(point.memory, lane.by), point))
        scored.sort(key=lambda pair: pair[0], reverse=True)
        ordered = not isinstance(lane, (DenseLane, SparseLane))
        return tuple(
            Hit(point.memory, 0.0 if ordered else score, point.dense)
            for score, point in scored[: lane.limit]
        )

    def _scroll(self, op: Scroll) -> ScrollPage:
        """Return everything in one page; a caller compares whole scrolls as sets."""
        return ScrollPage(
            tuple(Record(p.memory, p.changes) for p in self._matching(op.where)), None
        )

    def _count(self, op: Count) -> int:
        return len(self._matching(op.where))

    def _facet(self, op: Facet) -> Mapping[str, int]:
        return Counter(getattr(p.memory, op.field) for p in self._matching(op.where))

    def _purge(self, op: Purge) -> int:
        gone = list(self.points.values()) if op.where is None else self._matching(op.where)
        for point in gone:
            del self.points[_key(point.memory)]
        return len(gone)

    def _inside(self, namespaces: Iterable[Namespace]) -> list[Point]:
        keys = {n.key for n in namespaces}
        return [p for p in self.points.values() if p.memory.namespace.key in keys]

    def _matching(self, where: MemoryFilter) -> list[Point]:
        return [p for p in self._inside(where.namespaces) if _matches(p.memory, where)]


def _key(memory: Memory) -> tuple[str, str]:
    return memory.namespace.key, memory.id


def _matches(memory: Memory, where: MemoryFilter) -> bool:
    wanted = (
        (where.statuses, {memory.status}),
        (where.ids, {memory.id}),
        (where.kinds, {memory.kind}),
        (where.categories, {memory.category}),
        (where.task_types, {memory.task_type}),
        (where.tags, set(memory.tags)),
        (where.domains, {memory.domain}),
        (where.sources, {memory.source}),
        (where.outcomes, {memory.outcome}),
        ((where.run_id,) if where.run_id else (), {e.run_id for e in memory.evidence}),
    )
    words = set(re.findall(r"[a-z0-9]+", memory.content.lower()))
    return (
        all(not values or set(values) & had for values, had in wanted)
        and all(_has_word(word, words, memory.content) for word in where.keywords)
        and (where.since is None or memory.event_time >= where.since)
        and (where.until is None or memory.event_time <= where.until)
        and not (where.valid_at and memory.valid_until and memory.valid_until <= where.valid_at)
        and round(memory.confidence, 9) >= round(where.min_confidence, 9)
    )


def _has_word(word: str, words: set[str], content: str) -> bool:
    return word.lower() in words if word.isascii() else word in content


def _dot(a: Iterable[float], b: Iterable[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _bm25(lane: SparseLane, point: Point, corpus: list[Point]) -> float:
    """Return the sum over shared terms of query weight, document weight and IDF."""
    weights = dict(zip(point.sparse.indices, point.sparse.values, strict=True))
    total = 0.0
    for index, weight in zip(lane.vector.indices, lane.vector.values, strict=True):
        holders = sum(index in p.sparse.indices for p in corpus)
        idf = math.log((len(corpus) - holders + 0.5) / (holders + 0.5) + 1)
        total += weight * weights.get(index, 0.0) * idf
    return total
