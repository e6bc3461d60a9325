"""The views that a binding keeps: the right one each time, and none of a closed memory."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_core.errors import ClosedError, NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import binding
from hindsight_llamaindex.binding import bind


def test_a_view_is_found_again_and_each_user_gets_their_own(h: Hindsight) -> None:
    bound = bind(h)
    assert bound.hindsight() is bound.hindsight()
    assert bound.hindsight("alice") is bound.hindsight("alice")
    own = h.namespace.parts
    assert bound.hindsight().namespace.parts == own
    assert bound.hindsight("alice").namespace.parts == (*own, "alice")
    assert bound.hindsight("bob").namespace.parts == (*own, "bob")
    assert bind(h.for_user("carol")).hindsight().namespace.parts == (*own, "carol")


def test_shared_namespaces_make_another_view(h: Hindsight) -> None:
    shared = (*h.namespace.parts, "shared")
    reading = h.scoped(h.namespace, read_namespaces=[shared])
    assert bind(h).hindsight("alice").read_namespaces == ()
    assert [n.parts for n in bind(reading).hindsight("alice").read_namespaces] == [shared]


@pytest.mark.parametrize("user_id", [True, 1.0, "", "{user}", ["alice"], {"a": 1}])
def test_an_id_that_is_none_is_refused_though_an_equal_one_was_known(
    h: Hindsight, user_id: Any
) -> None:
    bound = bind(h)
    bound.hindsight(1)
    bound.hindsight("1")
    bound.hindsight()
    for _ in range(2):
        with pytest.raises(NamespaceError):
            bound.hindsight(user_id)
    assert bound.hindsight(1).namespace == bound.hindsight("1").namespace


def test_a_closed_memory_is_refused_though_its_views_were_known(opened: Any) -> None:
    h = opened()
    bound, other = bind(h), bind(opened("other"))
    bound.hindsight(), bound.hindsight("alice"), other.hindsight()
    h.close()
    for user_id in (None, "alice"):
        with pytest.raises(ClosedError):
            bound.hindsight(user_id)
    assert not [key for key in binding._views if key[0] == bound.token]
    assert not other.hindsight().is_closed


def test_a_memory_that_was_closed_and_opened_again_is_the_new_one(opened: Any) -> None:
    first = opened()
    bound = bind(first)
    bound.hindsight("alice")
    first.close()
    second = opened()
    again = bind(second)
    assert bound.hindsight("alice").location is second.location
    assert again.hindsight("alice").location is second.location
    second.close()
    with pytest.raises(ClosedError):
        bound.hindsight("alice")


def test_only_the_last_views_are_kept(h: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "MAX_VIEWS", 3)
    bound = bind(h)
    for number in range(10):
        bound.hindsight(f"user{number}")
    assert len(binding._views) <= 3
    assert bound.hindsight("user0").namespace.parts[-1] == "user0"
