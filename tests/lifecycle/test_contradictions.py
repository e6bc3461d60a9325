"""The five ends of a contradiction, per profile, and that nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from taught_runs import contents, open_in, teaching

from hindsight_core.errors import StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.versions import lifeline
from hindsight_core.retrieval.profiles import PROFILES, Profile
from hindsight_core.store.base import Get, Patch, Put, Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import FaultyStore, FrozenClock

OSLO = "The office of Acme is in Oslo"
BERGEN = "The office of Acme is now in Bergen"
BACK = "The office of Acme is now in Oslo"


def ended(tmp_path: Path, clock: FrozenClock, conflict: str, **more: Any) -> Hindsight:
    profile = Profile.from_mapping({"name": "own", "lifecycle": {"conflict": conflict, **more}})
    return open_in(tmp_path, clock, profile=profile)


@pytest.mark.parametrize(
    ("conflict", "status", "confidence"),
    [
        ("supersede", "superseded", 0.35),
        ("merge", "superseded", 0.35),
        ("down_weight", "active", 0.35),
        ("coexist", "active", 0.7),
        ("unresolved", "active", 0.7),
    ],
)
def test_a_contradiction_ends_as_the_profile_says(
    tmp_path: Path, clock: FrozenClock, conflict: str, status: str, confidence: float
) -> None:
    with ended(tmp_path, clock, conflict) as h:
        old = h.store(OSLO)
        clock.advance(days=1)
        new = h.store(BERGEN)
        after = h.get(old.id)
        assert after is not None
        assert after.status == status
        assert after.confidence == pytest.approx(confidence)
        assert new.status == "active"
        assert new.supersedes == ((old.id,) if status == "superseded" else ())
        marks = {"merge": {"was": [OSLO]}, "unresolved": {"contradicts": [old.id]}}
        assert new.metadata == marks.get(conflict, {})


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("balanced", "supersede"),
        ("experience", "supersede"),
        ("layered", "merge"),
        ("three-lane", "down_weight"),
        ("reranked", "coexist"),
        ("assistant", "supersede"),
    ],
)
def test_each_profile_has_its_own_end(name: str, end: str) -> None:
    assert PROFILES[name].lifecycle.conflict == end


def test_true_then_false_then_true_again_keeps_all_three_spans(
    h: Hindsight, clock: FrozenClock
) -> None:
    ids = []
    for fact in (OSLO, BERGEN, BACK):
        ids.append(h.store(fact).id)
        clock.advance(days=10)
    assert contents(h) == {BACK}
    records = h._engine.store.execute(Get((h.namespace,), tuple(ids)))
    spans = [(lifeline(r)[0].at.day, r.memory.superseded_by) for r in records]
    assert spans == [(5, ids[1]), (15, ids[2]), (25, "")]


def test_a_statement_with_a_condition_narrows_the_one_without(
    h: Hindsight, clock: FrozenClock
) -> None:
    old = h.store("The build timeout is 30 seconds")
    clock.advance(days=1)
    new = h.store("The build timeout is 90 seconds", applies_when="on the slow runner")
    after = h.get(old.id)
    assert after is not None
    assert (after.status, after.not_when) == ("active", "on the slow runner")
    assert after.confidence == old.confidence
    assert h.history(old.id)[0].reason.startswith(f"narrowed by {new.id}")
    h.rollback(old.id)
    now = h.get(old.id)
    assert now is not None
    assert now.not_when == ""


def test_what_holds_under_different_conditions_stands_side_by_side(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store("The build timeout is 30 seconds", applies_when="on the fast runner")
    clock.advance(days=1)
    h.store("The build timeout is 90 seconds", applies_when="on the slow runner")
    assert len(h.list().memories) == 2


def test_a_statement_about_something_else_retires_nothing(h: Hindsight, clock: FrozenClock) -> None:
    facts = [f"The {thing} of the service is {n}" for n, thing in enumerate("abcdefghij")]
    h.store_many([{"content": fact} for fact in facts])
    clock.advance(days=1)
    h.store("The service moved to region eu")
    assert set(facts) < contents(h)


@pytest.mark.parametrize("failing", [Put, Patch])
def test_a_write_that_fails_leaves_the_old_one_active_until_it_is_done(
    tmp_path: Path, clock: FrozenClock, failing: type
) -> None:
    inner = EdgeStore.open(tmp_path / "store", Schema("hashing", 64))
    store = FaultyStore(inner, lambda op, _: False)
    with open_in(tmp_path, clock, store=store) as h:
        h.store(OSLO)
        clock.advance(days=1)
        store.fails = lambda op, _: isinstance(op, failing)
        with pytest.raises(StoreUnavailableError):
            h.store(BERGEN)
        assert OSLO in contents(h)
        store.fails = lambda op, _: False
        h.store("Lunch is at noon sharp")
        assert contents(h) == {BERGEN, "Lunch is at noon sharp"}


def test_what_happened_earlier_replaces_nothing_that_is_newer(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store(BERGEN)
    h.store(OSLO, event_time=clock().replace(year=1970))
    assert BERGEN in contents(h)


def test_a_run_names_only_what_is_there(h: Hindsight, clock: FrozenClock) -> None:
    other = h.scoped((*h.namespace.parts, "bob"))
    foreign = other.store(OSLO)
    mine = h.store("Lunch is at noon sharp", source="rule")
    clock.advance(days=1)
    named = [foreign.id, "mem_none", "null", mine.id]
    h.reflect(teaching("r1", {"content": "Lunch is at one today", "supersedes": named}))
    assert contents(other) == {OSLO}
    assert contents(h) == {"Lunch is at one today"}
