"""Maintenance in a process that is killed at arbitrary moments and run again."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Category, Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryFilter, Point, Put, Record, Schema, Scroll, SparseVector
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import EPOCH, HashingEmbedder

NAMESPACE = Namespace.of(("acme", "alice"))
LATER = EPOCH + timedelta(days=30)
CATEGORIES: tuple[Category, ...] = ("experience", "rule", "fact", "preference")

MAINTAINS = """
import sys
from datetime import datetime
from hindsight_core import Hindsight
from hindsight_core.testing import HashingEmbedder

now = datetime.fromisoformat(sys.argv[2])
with Hindsight.open(
    sys.argv[1], namespace=("acme", "alice"), embedder=HashingEmbedder(), clock=lambda: now
) as h:
    print("open", flush=True)
    h.maintain(
        everything=True,
        on_progress=lambda progress: print(progress.stage, flush=True),
        on_step=lambda step: print(step.action, flush=True),
    )
    print("done", flush=True)
"""

Line = tuple[Any, ...]


def points(count: int, seed: int) -> Iterator[Point]:
    """Yield memories of which a third expire, falsify or grow cold and some are there thrice."""
    chance, vectors = random.Random(seed), np.random.default_rng(seed)
    original: Point | None = None
    for number in range(count):
        if number % 9 in {7, 8} and original is not None:
            twin = _memory(f"m{number}", number, original.memory.content, original.memory.category)
            yield Point(twin, original.dense, original.sparse)
            continue
        vector = vectors.standard_normal(64)
        vector /= np.linalg.norm(vector)
        memory = _memory(f"m{number}", number, f"note {number} says {chance.random()}")
        point = Point(memory, tuple(map(float, vector)), SparseVector((number,), (1.0,)))
        if number % 9 == 6 and memory.category != "experience":
            original = point
        yield point


def _memory(id_: str, number: int, content: str, category: Category | None = None) -> Memory:
    leaves = category is None and number % 9 < 3
    reasons: tuple[dict[str, Any], ...] = (
        {"valid_until": EPOCH + timedelta(days=7)},
        {"failure_count": 4, "confidence": 0.1},
        {"created_at": EPOCH - timedelta(days=700)},
    )
    given: dict[str, Any] = {"created_at": EPOCH} | (reasons[number % 3] if leaves else {})
    return Memory(
        id=id_,
        namespace=NAMESPACE,
        content=content,
        kind="semantic",
        category=category or CATEGORIES[number % 4],
        event_time=EPOCH,
        updated_at=EPOCH,
        access_count=number % 5,
        evidence=(Evidence(f"run-{number}"),),
        **given,
    )


def filled(folder: Path, count: int, seed: int) -> Path:
    store = EdgeStore.open(folder / "store", Schema("hashing", 64))
    store.execute(Put(tuple(points(count, seed))))
    store.close()
    return folder


def opened(folder: Path) -> Hindsight:
    return Hindsight.open(
        folder,
        namespace=NAMESPACE,
        settings=Settings(drain_seconds=1.0),
        embedder=HashingEmbedder(),
        clock=lambda: LATER,
    )


def records(h: Hindsight) -> dict[str, Record]:
    where = MemoryFilter(namespaces=(h.namespace,), statuses=())
    found = h._engine.store.execute(Scroll(where, 10_000)).records
    return {record.memory.id: record for record in found}


def audited(h: Hindsight, memory_ids: Iterator[str] | list[str]) -> dict[str, list[Line]]:
    """Return what the journal says was done to each memory."""
    return {
        memory_id: [
            (entry.action, entry.reason, entry.version)
            for entry in h._engine.journal.audit(h.namespace, memory_id)
        ]
        for memory_id in memory_ids
    }


def killed_somewhere(folder: Path, chance: random.Random, lines: int) -> bool:
    """Maintain in a child, and kill it after some lines and a moment; say if it was in time."""
    child = subprocess.Popen(
        [sys.executable, "-c", MAINTAINS, str(folder), LATER.isoformat()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    wanted = chance.randrange(1, lines)
    for _ in range(wanted):
        child.stdout.readline()
    # The moment has to be an arbitrary one; nothing is waited for here.
    time.sleep(chance.uniform(0, 0.1))
    child.kill()
    rest = child.stdout.read()
    child.wait(30)
    child.stdout.close()
    return "done" not in rest


def assert_nothing_is_half_done(
    found: dict[str, Record], before: dict[str, Record], after: dict[str, Record]
) -> None:
    """Every memory stands as before or as at the end, and so does each cluster of twins."""
    assert found.keys() == before.keys()
    for memory_id, record in found.items():
        memory = record.memory
        assert len(record.changes) == memory.version - 1
        assert record in (before[memory_id], after[memory_id])
        if memory.status == "superseded":
            assert memory.id in found[memory.superseded_by].memory.supersedes
        for other in memory.supersedes:
            gone = found[other].memory
            assert (gone.status, gone.superseded_by) == ("superseded", memory_id)
            assert {e.run_id for e in gone.evidence} <= {e.run_id for e in memory.evidence}


def kill_and_run_again(folder: Path, *, count: int, kills: int, seed: int) -> None:
    whole = filled(folder / "whole", count, seed)
    cut = folder / "cut"
    shutil.copytree(whole, cut)
    with opened(whole) as h:
        before = records(h)
        report = h.maintain(everything=True)
        after, said = records(h), audited(h, list(before))
        assert set(report.counts) == {"archived", "forgotten", "merged"}
    assert len(after) == len(before) == count
    chance = random.Random(seed)
    lines = report.changed + count // 64
    in_time = 0
    for _ in range(kills):
        in_time += killed_somewhere(cut, chance, lines)
        with opened(cut) as h:
            assert h._engine.journal.unapplied() == ()
            assert_nothing_is_half_done(records(h), before, after)
    with opened(cut) as h:
        h.maintain(everything=True)
        assert records(h) == after
        assert audited(h, list(before)) == said
        assert h.maintain(everything=True).changed == 0
    assert in_time


def test_killed_three_times_maintenance_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    kill_and_run_again(tmp_path, count=900, kills=3, seed=3)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not os.environ.get("HINDSIGHT_TEST_LONG"), reason="takes minutes")
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_twenty_times_maintenance_ends_as_if_it_had_not_been(
    tmp_path: Path, seed: int
) -> None:
    kill_and_run_again(tmp_path, count=4_000, kills=20, seed=seed)
