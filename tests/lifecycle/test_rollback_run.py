"""What a run taught goes, what it displaced comes back, what others built on stays."""

from __future__ import annotations

from taught_runs import contents, teaching

from hindsight_core.hindsight import Hindsight
from hindsight_core.testing import FrozenClock
from hindsight_core.trajectory import Outcome

OSLO = "The office of Acme is in Oslo"
BERGEN = "The office of Acme is now in Bergen"
TURKU = "The office of Acme is now in Turku"


def test_what_a_run_replaced_holds_again(h: Hindsight, clock: FrozenClock) -> None:
    (old,) = h.reflect(teaching("r1", OSLO)).memories
    clock.advance(days=1)
    h.reflect(teaching("r2", BERGEN))
    assert contents(h) == {BERGEN}
    report = h.rollback(run_id="r2")
    assert contents(h) == {OSLO}
    assert (len(report.forgotten), report.restored) == (1, (old.id,))
    again = h.get(old.id)
    assert again is not None
    assert again.confidence == old.confidence


def test_a_second_rollback_of_the_same_run_finds_nothing_to_do(h: Hindsight) -> None:
    h.reflect(teaching("r1", OSLO))
    h.rollback(run_id="r1")
    assert h.rollback(run_id="r1").steps == ()
    assert h.rollback(run_id="never heard of").steps == ()


def test_what_two_runs_taught_stays_when_one_is_taken_back(h: Hindsight) -> None:
    h.reflect(teaching("r1", OSLO))
    h.reflect(teaching("r2", OSLO))
    report = h.rollback(run_id="r1")
    (memory,) = h.list().memories
    assert [e.run_id for e in memory.evidence] == ["r2"]
    assert [(s.action, s.reason) for s in report.steps] == [("left", "taught by r2 as well")]
    h.rollback(run_id="r2")
    assert contents(h) == set()


def test_what_a_later_run_replaced_again_stays_replaced(h: Hindsight, clock: FrozenClock) -> None:
    for run_id, fact in (("r1", OSLO), ("r2", BERGEN), ("r3", TURKU)):
        h.reflect(teaching(run_id, fact))
        clock.advance(days=1)
    report = h.rollback(run_id="r2")
    assert contents(h) == {TURKU}
    assert [step.content for step in report.steps if step.action == "left"] == [OSLO]
    h.rollback(run_id="r3")
    assert contents(h) == {OSLO}


def test_what_was_stored_by_hand_only_loses_what_the_run_added(h: Hindsight) -> None:
    stored = h.store(OSLO)
    h.reflect(teaching("r1", {"content": OSLO, "confidence": 0.9, "tags": ("geo",)}))
    h.rollback(run_id="r1")
    (memory,) = h.list().memories
    assert (memory.confidence, memory.tags, memory.evidence) == (stored.confidence, (), ())


def test_credit_of_the_run_is_taken_back_below_later_credit(h: Hindsight) -> None:
    known = h.store(OSLO)
    for run_id in ("r1", "r2"):
        assert h.brief("Where is the office of Acme?", run_id=run_id)
        h.reflect(teaching(run_id, outcome=Outcome("failure", "validator")))
    h.rollback(run_id="r1")
    now = h.get(known.id)
    assert now is not None
    assert now.failure_count == 1
    assert known.confidence * 0.75 < now.confidence < known.confidence


def test_a_verdict_about_a_run_that_was_taken_back_counts_anew(h: Hindsight) -> None:
    known = h.store(OSLO)
    h.brief("Where is the office of Acme?", run_id="r1")
    h.reflect(teaching("r1", outcome=Outcome("failure", "validator")))
    h.rollback(run_id="r1")
    h.feedback(run_id="r1", outcome="success", source="user")
    now = h.get(known.id)
    assert now is not None
    assert (now.success_count, now.failure_count) == (1, 0)
    assert now.confidence > known.confidence


def test_what_was_forgotten_by_hand_stays_forgotten(h: Hindsight, clock: FrozenClock) -> None:
    (old,) = h.reflect(teaching("r1", OSLO)).memories
    clock.advance(days=1)
    h.reflect(teaching("r2", BERGEN))
    h.forget(old.id)
    h.rollback(run_id="r2")
    assert contents(h) == set()


def test_a_change_that_later_ones_built_on_is_left_and_said(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store(OSLO, valid_until=clock().replace(year=2027))
    until = clock().replace(year=2028)
    h.reflect(teaching("r1", {"content": OSLO, "valid_until": until.isoformat()}))
    later = clock().replace(year=2029)
    h.reflect(teaching("r2", {"content": OSLO, "valid_until": later.isoformat()}))
    report = h.rollback(run_id="r1")
    (memory,) = h.list().memories
    assert memory.valid_until == later
    assert "valid_until was changed again after r1" in [step.reason for step in report.steps]


def test_a_dry_run_of_a_run_says_the_same_and_changes_nothing(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.reflect(teaching("r1", OSLO))
    clock.advance(days=1)
    h.reflect(teaching("r2", BERGEN))
    before = h.list(statuses=()).memories
    said = h.rollback(run_id="r2", dry_run=True)
    assert h.list(statuses=()).memories == before
    assert h.rollback(run_id="r2").steps == said.steps


def test_another_host_can_take_a_run_back(h: Hindsight) -> None:
    h.reflect(teaching("r1", OSLO))
    h._engine.journal.erase(h.namespace)
    h.rollback(run_id="r1")
    assert contents(h) == set()


def test_runs_of_other_namespaces_are_not_touched(h: Hindsight) -> None:
    other = h.scoped((*h.namespace.parts, "bob"))
    other.reflect(teaching("r1", OSLO))
    h.reflect(teaching("r1", OSLO))
    h.rollback(run_id="r1")
    assert contents(other) == {OSLO}
