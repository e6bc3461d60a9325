"""A memory's line of versions, and one memory rolled back or restored."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from hindsight_core.errors import ConfigurationError, MemoryNotFoundError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.versions import lifeline, memory_in
from hindsight_core.store.base import Get, Record
from hindsight_core.testing import FrozenClock


def record_of(h: Hindsight, memory_id: str) -> Record:
    return h._engine.store.execute(Get((h.namespace,), (memory_id,)))[0]


def test_every_earlier_version_can_be_read_back(h: Hindsight, clock: FrozenClock) -> None:
    stood = [h.store("The port is 8080", memory_id="port", tags=["net"])]
    for helpful in (True, False, True):
        clock.advance(hours=1)
        stood += h.feedback(memory_id="port", helpful=helpful)
    line = lifeline(record_of(h, "port"))
    assert [version.number for version in line] == [1, 2, 3, 4]
    assert [memory_in(version) for version in line] == stood
    assert [version.at for version in line] == [memory.updated_at for memory in stood]
    assert line[1].changed["confidence"] == (stood[0].confidence, stood[1].confidence)


def test_a_memory_goes_back_to_the_version_before(h: Hindsight) -> None:
    first = h.store("The port is 8080", memory_id="port")
    h.feedback(memory_id="port", helpful=False)
    h.rollback("port")
    now = h.get("port")
    assert now is not None
    assert (now.confidence, now.failure_count, now.version) == (first.confidence, 0, 3)
    assert h.history("port")[-1].reason == "rolled back to version 1"


def test_a_rollback_can_be_rolled_back(h: Hindsight) -> None:
    h.store("The port is 8080", memory_id="port")
    (wrong,) = h.feedback(memory_id="port", helpful=False)
    h.rollback("port", to=1)
    h.rollback("port", to=2)
    now = h.get("port")
    assert now is not None
    assert (now.confidence, now.failure_count) == (wrong.confidence, 1)


def test_a_memory_goes_back_to_what_it_said_at_a_moment(h: Hindsight, clock: FrozenClock) -> None:
    h.store("The port is 8080", memory_id="port")
    noon = clock.advance(hours=1)
    clock.advance(hours=1)
    h.store("The gateway listens on 9090", memory_id="port")
    h.rollback("port", to=noon)
    assert [m.content for m in h.list().memories] == ["The port is 8080"]
    assert h.retrieve("The port is 8080")[0].memory.id == "port"
    assert [c.version for c in h.history("port")] == [2, 3]


def test_what_is_rolled_back_to_being_current_is_no_longer_listed_as_replaced(
    h: Hindsight, clock: FrozenClock
) -> None:
    old = h.store("The office of Acme is in Oslo")
    clock.advance(days=1)
    new = h.store("The office of Acme is now in Bergen")
    assert new.supersedes == (old.id,)
    h.rollback(old.id)
    after = h.get(new.id)
    assert after is not None
    assert after.supersedes == ()
    assert {m.id for m in h.list().memories} == {old.id, new.id}


def test_a_version_that_was_replaced_by_what_is_gone_becomes_active(
    h: Hindsight, clock: FrozenClock
) -> None:
    old = h.store("The office of Acme is in Oslo")
    clock.advance(days=1)
    new = h.store("The office of Acme is now in Bergen")
    h.restore(old.id)
    h.forget(new.id)
    h.rollback(old.id, to=2)
    now = h.get(old.id)
    assert now is not None
    assert (now.status, now.superseded_by) == ("active", "")


def test_a_dry_run_changes_nothing(h: Hindsight) -> None:
    h.store("The port is 8080", memory_id="port")
    (before,) = h.feedback(memory_id="port", helpful=False)
    report = h.rollback("port", dry_run=True)
    assert (report.dry_run, report.ids("revised")) == (True, ("port",))
    assert h.get("port") == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "either a memory_id or a run_id"),
        ({"memory_id": "port", "run_id": "r"}, "either a memory_id or a run_id"),
        ({"run_id": "r", "to": 1}, "rolled back as a whole"),
        ({"memory_id": "port", "to": 7}, "has versions 1–1 and stands at 2"),
        ({"memory_id": "port", "to": 2}, "has no earlier version 2"),
        ({"memory_id": "fresh"}, "only one version"),
        ({"memory_id": "port", "to": datetime(2026, 1, 1)}, "no time zone"),
    ],
)
def test_a_rollback_that_means_nothing_is_refused(
    h: Hindsight, options: dict[str, object], said: str
) -> None:
    h.store("The port is 8080", memory_id="port")
    h.store("Alice likes tea", memory_id="fresh")
    (before,) = h.feedback(memory_id="port", helpful=True)
    with pytest.raises(ConfigurationError, match=said):
        h.rollback(**options)  # type: ignore[arg-type]  # that is the point
    assert h.get("port") == before


def test_a_moment_before_the_memory_was_stored_is_refused(h: Hindsight, clock: FrozenClock) -> None:
    h.store("The port is 8080", memory_id="port")
    with pytest.raises(ConfigurationError, match="was stored"):
        h.rollback("port", to=clock() - timedelta(days=1))


def test_ids_of_nobody_and_of_others_are_not_found(h: Hindsight) -> None:
    h.scoped((*h.namespace.parts, "bob")).store("Bob's secret port is 1", memory_id="port")
    for call in (h.rollback, h.restore):
        for memory_id in ("port", "mem_none"):
            with pytest.raises(MemoryNotFoundError):
                call(memory_id)


def test_what_is_only_shared_with_us_is_not_ours_to_change(h: Hindsight) -> None:
    h.scoped((*h.namespace.parts, "team")).store("The port is 8080", memory_id="port")
    reader = h.scoped(h.namespace, read_namespaces=[(*h.namespace.parts, "team")])
    assert reader.get("port") is not None
    with pytest.raises(MemoryNotFoundError):
        reader.restore("port")


def test_a_forgotten_memory_comes_back(h: Hindsight) -> None:
    h.store("The port is 8080", memory_id="port")
    h.forget("port", reason="by mistake")
    assert h.get("port") is None
    assert h.restore("port").status == "active"
    assert h.retrieve("port 8080")
    assert [c.reason for c in h.history("port")] == ["by mistake", "restored by hand"]


def test_a_restored_memory_has_no_validity_that_is_over(h: Hindsight, clock: FrozenClock) -> None:
    h.store("The port is 8080", memory_id="port", valid_until=clock() + timedelta(days=1))
    clock.advance(days=2)
    h.forget("port")
    assert h.restore("port").valid_until is None


def test_a_restored_memory_that_was_replaced_stands_beside_the_new_one(
    h: Hindsight, clock: FrozenClock
) -> None:
    old = h.store("The office of Acme is in Oslo")
    clock.advance(days=1)
    new = h.store("The office of Acme is now in Bergen")
    assert h.restore(old.id).superseded_by == ""
    after = h.get(new.id)
    assert after is not None
    assert after.supersedes == ()


def test_what_is_active_needs_no_restoring(h: Hindsight) -> None:
    memory = h.store("The port is 8080")
    with pytest.raises(ConfigurationError, match="is active"):
        h.restore(memory.id)


async def test_the_async_twins_do_the_same(h: Hindsight) -> None:
    h.store("The port is 8080", memory_id="port")
    await h.aforget("port")
    assert (await h.arestore("port")).status == "active"
    report = await h.arollback("port", to=2)
    assert report.ids("revised") == ("port",)
    assert h.get("port") is None
