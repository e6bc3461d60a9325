"""Simulated histories: everything agrees at every end, all can be undone and replayed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from taught_runs import contents, open_in, teaching

from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.versions import lifeline, memory_in
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryFilter, Record, Scroll
from hindsight_core.store.payload import memory_to_payload
from hindsight_core.testing import EPOCH, FrozenClock
from hindsight_core.trajectory import OUTCOME_SOURCES, Outcome, OutcomeLabel

SUBJECTS = ("office of Acme", "port of the gateway", "owner of the build", "color of the logo")
LABELS: tuple[OutcomeLabel, ...] = ("success", "failure", "unknown")
VALUES = ("red", "blue", "green", "gray")


def records(h: Hindsight) -> dict[str, Record]:
    """Return everything in the namespace, whatever its status."""
    where = MemoryFilter(namespaces=(h.namespace,), statuses=())
    page = h._engine.store.execute(Scroll(where, 10_000))
    return {record.memory.id: record for record in page.records}


def live(h: Hindsight, clock: FrozenClock, seed: int, runs: int) -> list[str]:
    """Live through `runs` runs that teach, contradict, repeat, recall and fail."""
    chance = random.Random(seed)
    lived = []
    for number in range(runs):
        clock.advance(minutes=chance.choice((1, 60, 3_000)))
        run_id = f"run-{number}"
        subject, value = chance.choice(SUBJECTS), chance.choice(VALUES)
        lessons = [f"The {subject} is now {value}"] if chance.random() < 0.8 else []
        if chance.random() < 0.3:
            lessons.append(f"Tool {chance.choice(VALUES)} needs flag {chance.randrange(5)}")
        if chance.random() < 0.5:
            h.brief(f"What is the {chance.choice(SUBJECTS)}?", run_id=run_id)
        label: OutcomeLabel = chance.choice(LABELS)
        outcome = Outcome(label, chance.choice(OUTCOME_SOURCES))
        h.reflect(teaching(run_id, *lessons, outcome=outcome))
        if chance.random() < 0.2:
            h.feedback(run_id=run_id, outcome=chance.choice(("success", "failure")))
        lived.append(run_id)
    return lived


def assert_everything_agrees(h: Hindsight) -> None:
    found = records(h)
    assert h.stats().by_status == Counter(record.memory.status for record in found.values())
    assert h._engine.journal.unapplied() == ()
    for record in found.values():
        memory, line = record.memory, lifeline(record)
        assert [version.number for version in line] == list(range(1, memory.version + 1))
        assert [version.at for version in line] == sorted(version.at for version in line)
        assert memory_in(line[-1]).status == memory.status
        assert 0.0 <= memory.confidence <= 1.0
        audited = [e.version for e in h._engine.journal.audit(memory.namespace, memory.id)]
        assert audited == [version.number for version in line]
        assert (memory.status == "superseded") == bool(memory.superseded_by) or (
            memory.status == "forgotten"
        )
        if memory.status == "superseded":
            assert memory.id in found[memory.superseded_by].memory.supersedes
            assert found[memory.superseded_by].memory.status != "forgotten"


@hypothesis_settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_undoing_every_run_in_reverse_order_leaves_nothing(shared: Hindsight, seed: int) -> None:
    clock = shared._engine.clock
    assert isinstance(clock, FrozenClock)
    clock.set(EPOCH)
    h = shared.scoped(("hundred", f"reverse-{seed}-{len(shared._engine.recalls)}", str(id(seed))))
    lived = live(h, clock, seed, runs=100)
    assert_everything_agrees(h)
    for position, run_id in enumerate(reversed(lived)):
        h.rollback(run_id=run_id)
        if position % 10 == 0:
            assert_everything_agrees(h)
    assert contents(h) == set()
    assert {record.memory.status for record in records(h).values()} == {"forgotten"}


@hypothesis_settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_undoing_runs_in_any_order_keeps_everything_in_agreement(
    shared: Hindsight, seed: int
) -> None:
    clock = shared._engine.clock
    assert isinstance(clock, FrozenClock)
    clock.set(EPOCH)
    h = shared.scoped(("hundred", f"any-{seed}", str(id(seed))))
    lived = live(h, clock, seed, runs=40)
    random.Random(seed).shuffle(lived)
    for run_id in lived[:20]:
        h.rollback(run_id=run_id)
        assert_everything_agrees(h)
        taught = {e.run_id for m in h.list(limit=1_000).memories for e in m.evidence}
        assert run_id not in taught
    for run_id in lived:
        h.rollback(run_id=run_id)
    assert contents(h) == set()


@pytest.mark.parametrize("seed", [1, 2])
def test_undoing_the_last_run_gives_the_memory_before_it(
    shared: Hindsight, clock: FrozenClock, seed: int
) -> None:
    before = shared.scoped(("hundred", f"before-{seed}"))
    after = shared.scoped(("hundred", f"after-{seed}"))
    live(before, clock, seed, runs=29)
    clock.set(EPOCH)
    lived = live(after, clock, seed, runs=30)
    after.rollback(run_id=lived[-1])
    assert standing(after) == standing(before)


def standing(h: Hindsight) -> dict[str, tuple[object, ...]]:
    """Return what holds, apart from what is counted and when it was written."""
    return {
        memory.content: (
            round(memory.confidence, 9),
            memory.success_count,
            memory.failure_count,
            tuple(e.run_id for e in memory.evidence),
        )
        for memory in h.list(limit=1_000).memories
    }


def test_replaying_the_journal_rebuilds_the_same_store(tmp_path: Path, clock: FrozenClock) -> None:
    kept = Settings(log_retention_days=10_000)
    with (
        open_in(tmp_path / "first", clock, settings=kept) as first,
        open_in(tmp_path / "second", clock) as second,
    ):
        live(first, clock, 7, runs=100)
        replay(first, second, clock)
        assert len(records(first)) > 20
        assert comparable(second) == comparable(first)


def replay(first: Hindsight, second: Hindsight, clock: FrozenClock) -> None:
    """Live through what stands in the journal of `first` again."""
    journal = first._engine.journal
    for run in reversed(journal.runs((first.namespace,), limit=1_000)):
        clock.set(run.submitted_at)
        for recall in journal.recalls(first.namespace, run.run_id):
            second._engine.journal.record_recall(
                first.namespace, run.run_id, recall.memory_ids, recall.query, now=recall.at
            )
        second.reflect(run.trajectory)
        for said in journal.feedback(first.namespace, run_id=run.run_id):
            options: Any = {"outcome": said.outcome, "source": said.source}
            second.feedback(run_id=run.run_id, **options)


def comparable(h: Hindsight) -> dict[str, Any]:
    """Return every memory and its history, apart from how often it was recalled."""
    found = {}
    for memory_id, record in records(h).items():
        fields = memory_to_payload(record.memory)
        for name in ("access_count", "last_accessed_at"):
            fields.pop(name)
        found[memory_id] = (fields, record.changes)
    return found
