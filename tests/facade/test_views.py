"""Views of one engine: by user, and what an adapter asks of a facade."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_core.errors import NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_core.namespaces import Namespace


def test_the_view_of_a_user_writes_below_the_own_namespace_and_reads_what_is_shared(
    opened: Any,
) -> None:
    h = opened(namespace="acme", read_namespaces=[("acme", "shared")])
    alice = h.for_user("alice")
    assert alice.namespace == Namespace.of(("acme", "alice"))
    assert alice.read_namespaces == (Namespace.of(("acme", "shared")),)
    alice.store("Alice likes tea", category="preference")
    assert h.for_user("bob").list().memories == ()
    assert len(alice.list().memories) == 1


@pytest.mark.parametrize("user", ["alice", " alice "])
def test_the_user_whom_the_namespace_ends_with_already_changes_nothing(
    h: Hindsight, user: str
) -> None:
    assert h.for_user(user).namespace == h.namespace


@pytest.mark.parametrize("user", ["", "  ", "{user_id}", 1.0, None, "a\x00b"])
def test_an_unusable_user_id_is_refused(h: Hindsight, user: Any) -> None:
    with pytest.raises(NamespaceError):
        h.for_user(user)


def test_one_and_its_text_are_the_same_user(h: Hindsight) -> None:
    assert h.for_user(1).namespace == h.for_user("1").namespace


def test_a_failure_that_an_adapter_notes_is_shown_by_every_view(h: Hindsight) -> None:
    h.for_user("bob").note_failure("capture", ValueError("no such span"), "run_1")
    assert h.stats().failures == {"capture": 1}
    assert h.stats().last_failures == {"capture": "no such span"}


def test_a_view_of_a_closed_memory_knows_that_it_is_closed(h: Hindsight) -> None:
    view = h.for_user("bob")
    assert not view.is_closed
    h.close()
    assert view.is_closed
    assert view.location == h.location
