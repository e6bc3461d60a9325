"""What `maintain` does to its stores; each job runs in a process of its own."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

from benchmarks.sets.scale_process import footprint
from benchmarks.synthetic import NOW, points
from hindsight_core import Hindsight
from hindsight_core.lifecycle.maintain import Progress
from hindsight_core.models import Category, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import MemoryFilter, Point, Put, Schema, Scroll
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.payload import changes_to_payload, memory_to_payload
from hindsight_core.testing import HashingEmbedder

__all__ = ["DIMENSION", "Spent", "fill", "maintain", "state"]

DIMENSION = 384
NAMESPACE = Namespace.of(("benchmark", "user-0"))
CATEGORIES: tuple[Category, ...] = ("experience", "rule", "fact", "preference")
BATCH = 500


@dataclass(frozen=True, slots=True)
class Spent:
    """What one maintenance took.

    Attributes:
        seconds: By the clock.
        processor: Seconds of all threads.
        resident: MB by which the process grew at most, mapped files included.
        anonymous: MB by which the part of it grew that is no file's, at most.
        changed: Memories that were changed.
    """

    seconds: float
    processor: float
    resident: float
    anonymous: float
    changed: int


def fill(folder: Path, count: int) -> None:
    """Fill a store with memories of which many have grown cold, expired or are there twice."""
    every = _memories(count)
    store = EdgeStore.open(folder / "store", Schema("hashing", DIMENSION))
    try:
        while batch := tuple(islice(every, BATCH)):
            store.execute(Put(batch))
    finally:
        store.close()


def maintain(folder: Path) -> Spent:
    """Maintain the store once."""
    with _opened(folder) as memory:
        before = footprint()
        most = before.anonymous

        def look(_: Progress) -> None:
            nonlocal most
            most = max(most, footprint().anonymous)

        wall, processor = time.perf_counter(), time.process_time()
        report = memory.maintain(everything=True, on_progress=look)
        seconds, spent = time.perf_counter() - wall, time.process_time() - processor
        peak = footprint().peak
    return Spent(seconds, spent, peak - before.resident, most - before.anonymous, report.changed)


def state(folder: Path) -> str:
    """Return a digest of every memory with its history, whatever its status."""
    digest = hashlib.sha256()
    with _opened(folder) as memory:
        where, cursor = MemoryFilter(namespaces=(NAMESPACE,), statuses=()), None
        while True:
            page = memory._engine.store.execute(Scroll(where, BATCH, cursor))
            for record in page.records:
                line = [memory_to_payload(record.memory), changes_to_payload(record.changes)]
                digest.update(json.dumps(line, sort_keys=True).encode())
            cursor = page.cursor
            if cursor is None:
                return digest.hexdigest()


def _memories(count: int) -> Iterator[Point]:
    """Yield made-up memories, all active: one of ten has expired, one of 20 is a copy."""
    original: Point | None = None
    for place, point in enumerate(points(count, namespaces=1, dimension=DIMENSION)):
        category = CATEGORIES[place % 4]
        memory = replace(point.memory, category=category, status="active")
        if place % 20 == 14 and original is not None:
            yield _copy(original, memory)
            continue
        if place % 10 == 3:
            memory = replace(memory, valid_until=NOW - timedelta(days=1))
        elif category != "experience":
            original = replace(point, memory=memory)
        yield replace(point, memory=memory)


def _copy(original: Point, memory: Memory) -> Point:
    return replace(
        original, memory=replace(original.memory, id=memory.id, evidence=memory.evidence)
    )


def _opened(folder: Path) -> Hindsight:
    return Hindsight.open(
        folder,
        namespace=NAMESPACE,
        embedder=HashingEmbedder(dimension=DIMENSION),
        clock=lambda: NOW,
    )
