"""What maintenance lets go, why it says so, and that it may be killed at any point."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from taught_runs import contents, open_in

from hindsight_core.errors import StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.learning import propose
from hindsight_core.lifecycle.maintain import Maintained, Maintenance, Progress
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Evidence
from hindsight_core.store.base import Patch, Point, Put, Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import FaultyStore, FrozenClock

WORDS = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima".split()


def fill(h: Hindsight, count: int, **options: Any) -> list[str]:
    """Store `count` memories that have nothing to do with each other."""
    items = [
        {"content": f"{WORDS[i % 12]}{i} {WORDS[i // 12 % 12]}{i} note{i}", "memory_id": f"m{i}"}
        for i in range(count)
    ]
    return [memory.id for memory in h.store_many([item | options for item in items])]


def maintained(h: Hindsight, lifecycle: Lifecycle, *, dry_run: bool = False) -> Maintained:
    engine = h._engine
    engine.note_recalls()
    maintenance = Maintenance(h.namespace, lifecycle, engine.writer, engine.run)
    return maintenance.maintain(engine.clock(), dry_run=dry_run)


def copy_of(h: Hindsight, memory_id: str, new_id: str, **changes: Any) -> None:
    """Write a twin past the writer, as another host that wrote at the same time would."""
    memory = h.get(memory_id)
    assert memory is not None
    twin = replace(memory, id=new_id, **changes)
    engine = h._engine
    (proposal,) = propose([twin], engine.dense, engine.sparse)
    engine.store.execute(Put((Point(twin, proposal.dense, proposal.sparse),)))


def test_what_has_expired_is_forgotten_and_the_rest_stays(h: Hindsight, clock: FrozenClock) -> None:
    h.store("Alice is in Beijing", valid_until=clock() + timedelta(days=7))
    h.store("Bob lives in Oslo")
    assert h.maintain().changed == 0
    clock.advance(days=7)
    report = h.maintain()
    assert report.counts == {"forgotten": 1}
    assert report.steps[0].reason.startswith("expired at 2026-01-12")
    assert contents(h) == {"Bob lives in Oslo"}


def test_what_proved_wrong_again_and_again_is_forgotten(h: Hindsight) -> None:
    memory = h.store("The build needs flag -O9")
    for _ in range(2):
        h.feedback(memory_id=memory.id, helpful=False)
    assert h.maintain().changed == 0
    h.feedback(memory_id=memory.id, helpful=False)
    (step,) = h.maintain().steps
    assert (step.action, step.memory_id) == ("forgotten", memory.id)
    assert step.reason == ("falsified: 3 failures against 0 successes, confidence 0.09 < 0.2")
    assert h.restore(memory.id).status == "active"


def test_the_cold_is_archived_searchable_on_demand_and_comes_back(
    h: Hindsight, clock: FrozenClock
) -> None:
    memory = h.store("The build needs flag -O9")
    clock.advance(days=365)
    assert h.maintain().counts == {"archived": 1}
    assert h.retrieve("flag of the build") == []
    found = h.retrieve("flag of the build", statuses=("archived",))
    assert [result.memory.id for result in found] == [memory.id]
    h.restore(memory.id)
    assert h.maintain().changed == 0
    assert h.retrieve("flag of the build")


def test_a_dry_run_says_what_would_go_and_changes_nothing(h: Hindsight, clock: FrozenClock) -> None:
    fill(h, 5)
    copy_of(h, "m1", "twin")
    h.store("Alice is in Beijing", valid_until=clock() + timedelta(days=7))
    clock.advance(days=8)
    before = h.list(statuses=()).memories
    said = h.maintain(dry_run=True)
    assert h.list(statuses=()).memories == before
    assert said.counts == {"forgotten": 1, "merged": 1}
    done = h.maintain()
    assert (done.counts, done.steps) == (said.counts, said.steps)
    assert h.maintain().changed == 0


def test_twins_become_one_with_all_evidence_and_summed_counts(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store("The build needs flag -O9", memory_id="one", evidence=[Evidence("r1", (3,))])
    later = clock() + timedelta(days=1)
    copy_of(
        h, "one", "two", evidence=(Evidence("r2"),), success_count=2, access_count=3,
        confidence=0.8, created_at=later,
    )  # fmt: skip
    copy_of(h, "one", "three", evidence=(Evidence("r1"), Evidence("r3")), failure_count=1)
    assert h.maintain().counts == {"merged": 2}
    (memory,) = h.list().memories
    assert {e.run_id for e in memory.evidence} == {"r1", "r2", "r3"}
    assert (memory.success_count, memory.failure_count, memory.access_count) == (2, 1, 3)
    assert memory.confidence == 0.8
    for other in {"one", "two", "three"} - {memory.id}:
        gone = h.get(other)
        assert gone is not None
        assert (gone.status, gone.superseded_by) == ("superseded", memory.id)
        assert other in memory.supersedes


@pytest.mark.parametrize(
    "difference",
    [
        {"content": "The build needs flag -O8"},
        {"content": "The build needs no flag -O9"},
        {"not_when": "on Windows"},
        {"applies_when": "in release mode"},
        {"category": "preference"},
        {"domain": "games"},
        {"status": "archived"},
    ],
)
def test_numbers_negations_and_conditions_keep_look_alikes_apart(
    h: Hindsight, difference: dict[str, Any]
) -> None:
    h.store("The build needs flag -O9", memory_id="one")
    copy_of(h, "one", "two", **difference)
    assert h.maintain().changed == 0


def test_twins_of_another_namespace_stay_apart(h: Hindsight) -> None:
    other = h.scoped((*h.namespace.parts, "bob"))
    h.store("The build needs flag -O9")
    other.store("The build needs flag -O9")
    assert h.maintain(everything=True).changed == 0


def test_past_the_capacity_the_least_valuable_are_archived(h: Hindsight) -> None:
    ids = fill(h, 30)
    for number, memory_id in enumerate(ids[:5]):
        h.store(f"precious {number} x{number}", memory_id=memory_id, importance=0.9)
    small = Lifecycle(capacity=20)
    said = maintained(h, small, dry_run=True)
    done = maintained(h, small)
    assert (said.counts, said.steps) == ({"archived": 10}, done.steps)
    kept = {memory.id for memory in h.list(limit=100).memories}
    assert len(kept) == 20
    assert set(ids[:5]) < kept
    assert maintained(h, small).changed == 0


def test_what_never_mattered_and_was_never_recalled_is_forgotten(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store("The build needs flag -O9", importance=0.1)
    h.store("Coffee is on floor three", importance=0.1)
    assert h.brief("On which floor is coffee?")
    h.store("Lunch is at noon sharp", importance=0.9)
    clock.advance(days=8)
    report = maintained(h, Lifecycle(forget_importance=0.3, forget_age_days=7.0))
    assert [step.reason for step in report.steps] == [
        "importance 0.10 < 0.3, never recalled in 8 days"
    ]
    assert contents(h) == {"Coffee is on floor three", "Lunch is at noon sharp"}


def test_progress_rises_to_the_end_and_steps_are_told(h: Hindsight, clock: FrozenClock) -> None:
    fill(h, 300)
    clock.advance(days=365)
    seen: list[Progress] = []
    steps: list[Tended] = []
    h.maintain(on_progress=seen.append, on_step=steps.append)
    leaving = [progress for progress in seen if progress.stage == "leaving"]
    assert [progress.done for progress in leaving] == [256, 300]
    assert {progress.total for progress in leaving} == {300}
    assert len(steps) == 300


def test_maintenance_that_was_cut_off_is_finished_by_running_it_again(
    tmp_path: Path, clock: FrozenClock
) -> None:
    store = FaultyStore(
        EdgeStore.open(tmp_path / "store", Schema("hashing", 64)), lambda op, _: False
    )
    with open_in(tmp_path / "memory", clock, store=store) as h:
        fill(h, 300)
        clock.advance(days=365)
        for patches_until_cut in (1, 40, 100):
            left = patches_until_cut

            def cut(op: object, _: int) -> bool:
                nonlocal left
                left -= isinstance(op, Patch)
                return left <= 0 and isinstance(op, Patch)

            store.fails = cut
            with pytest.raises(StoreUnavailableError):
                h.maintain()
        store.fails = lambda op, _: False
        h.maintain()
        found = h.list(statuses=(), limit=1_000).memories
        assert {memory.status for memory in found} == {"archived"}
        assert {memory.version for memory in found} == {2}
        assert {len(h.history(memory.id)) for memory in found} == {1}


def test_maintenance_of_a_store_that_is_away_raises(tmp_path: Path, clock: FrozenClock) -> None:
    inner = EdgeStore.open(tmp_path / "store", Schema("hashing", 64))
    away = FaultyStore(inner, lambda op, _: True)
    with open_in(tmp_path, clock, store=away) as h, pytest.raises(StoreUnavailableError):
        h.maintain()


async def test_the_async_twin_maintains(h: Hindsight, clock: FrozenClock) -> None:
    fill(h, 3)
    clock.advance(days=365)
    assert (await h.amaintain()).counts == {"archived": 3}


def test_more_copies_than_are_compared_at_once_become_one(h: Hindsight) -> None:
    h.store("The build needs flag -O9", memory_id="one", evidence=[Evidence("r0")])
    for number in range(300):
        copy_of(h, "one", f"copy{number}", evidence=(Evidence(f"r{number + 1}"),))
    assert h.maintain().counts == {"merged": 300}
    (memory,) = h.list().memories
    assert {e.run_id for e in memory.evidence} == {f"r{number}" for number in range(301)}
    assert len(memory.supersedes) == 300
    assert h.maintain(everything=True).changed == 0


def test_copies_go_into_the_best_founded_of_them_at_once(h: Hindsight, clock: FrozenClock) -> None:
    h.store(
        "The build needs flag -O9",
        memory_id="agent",
        evidence=[Evidence("r1")],
        source="agent_inference",
    )
    copy_of(h, "agent", "person", source="user_feedback", created_at=clock() + timedelta(days=1))
    copy_of(h, "agent", "often", evidence=(Evidence("r2"), Evidence("r3")))
    (first, second) = h.maintain().steps
    assert first.reason == second.reason == "says the same as person (cosine 1.00)"
    (memory,) = h.list().memories
    assert memory.id == "person"
    assert memory.version == 2
    assert [change.reason for change in h.history("person")] == ["merged with often, agent"]
