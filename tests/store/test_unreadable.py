"""One damaged memory is left out and told; all others are found as before."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from store_values import ALICE, nearest, point, within

import hindsight_core.store.edge.store as edge
import hindsight_core.store.qdrant.plans as qdrant
from hindsight_core.errors import StoreCorruptError
from hindsight_core.store.base import Get, MemoryStore, Put, Scroll, StoreOp
from hindsight_core.store.payload import stored_payload

Call = Callable[[StoreOp[Any]], Any]
_numbers = itertools.count()


@pytest.fixture
def bad() -> str:
    """An id that no other test damages: stores remember what they have told."""
    return f"bad-{next(_numbers)}"


@pytest.fixture
def damaged(store: MemoryStore, bad: str, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store that holds the memories `good` and `bad`, the latter damaged."""

    def damage(written: Any, changes: Any) -> Mapping[str, Any]:
        stored = stored_payload(written, changes)
        return {**stored, "body": stored["body"][:20]} if written.id == bad else stored

    with monkeypatch.context() as patched:
        patched.setattr(edge, "stored_payload", damage)
        patched.setattr(qdrant, "stored_payload", damage)
        store.execute(Put((point("good"), point(bad))))
    return store


def test_searching_and_listing_leave_a_damaged_memory_out(damaged: MemoryStore, call: Call) -> None:
    (hits,) = call(nearest(within(ALICE)))
    assert [hit.memory.id for hit in hits] == ["good"]
    page = call(Scroll(within(ALICE), 10))
    assert [record.memory.id for record in page.records] == ["good"]


def test_a_damaged_memory_is_logged_once_and_counted(
    damaged: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    before = damaged.stats().details["unreadable"]
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            damaged.execute(Scroll(within(ALICE), 10))
            damaged.execute(nearest(within(ALICE)))
    assert damaged.stats().details["unreadable"] == before + 1
    said = [record for record in caplog.records if "is left out" in record.getMessage()]
    assert len(said) == 1


def test_a_memory_that_was_written_anew_is_counted_no_longer(
    damaged: MemoryStore, bad: str
) -> None:
    damaged.execute(Scroll(within(ALICE), 10))
    met = damaged.stats().details["unreadable"]
    damaged.execute(Put((point(bad),)))
    page = damaged.execute(Scroll(within(ALICE), 10))
    assert {record.memory.id for record in page.records} == {"good", bad}
    assert damaged.stats().details["unreadable"] == met - 1


def test_asking_for_exactly_the_damaged_memory_tells_what_is_wrong(
    damaged: MemoryStore, bad: str, call: Call
) -> None:
    assert [record.memory.id for record in call(Get((ALICE,), ("good",)))] == ["good"]
    with pytest.raises(StoreCorruptError, match="can't be read"):
        call(Get((ALICE,), (bad,)))
