"""What a retrieval is narrowed down to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.testing import FrozenClock

Opener = Callable[..., Hindsight]
QUERY = "how is the deploy done"


def names(h: Hindsight, query: str | None = QUERY, **options: Any) -> set[str]:
    return {result.memory.id for result in h.retrieve(query, top_k=50, **options)}


@pytest.fixture
def filled(h: Hindsight, clock: FrozenClock) -> Hindsight:
    """One memory for each thing that can be filtered by; ids say which."""
    now = clock()
    h.store("The deploy needs the VPN", memory_id="fact", tags=["net"])
    h.store(
        "When the deploy hangs, restart the runner",
        memory_id="rule",
        category="rule",
        task_type="operations",
        tags=["net", "ci"],
        confidence=0.9,
        domain="shop",
    )
    h.store(
        "The deploy of the shop went well",
        memory_id="good",
        kind="episodic",
        category="experience",
        task_description="Deploy the shop",
        task_type="operations",
        outcome="success",
        domain="shop",
        event_time=now - timedelta(days=10),
        confidence=0.5,
    )
    h.store(
        "The deploy of the bank went wrong",
        memory_id="bad",
        kind="episodic",
        category="experience",
        task_description="Deploy the bank",
        task_type="operations",
        outcome="failure",
        domain="bank",
        event_time=now - timedelta(days=20),
        confidence=0.4,
    )
    return h


EVERYTHING = {"fact", "rule", "good", "bad"}

FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, EVERYTHING),
    ({"kinds": ["semantic"]}, {"fact", "rule"}),
    ({"kinds": ["episodic"]}, {"good", "bad"}),
    ({"kinds": ["semantic", "episodic"]}, EVERYTHING),
    ({"categories": ["rule", "experience"]}, {"rule", "good", "bad"}),
    ({"task_types": ["operations"]}, {"rule", "good", "bad"}),
    ({"task_types": ["coding"]}, set()),
    ({"outcomes": ["failure"]}, {"bad"}),
    ({"outcomes": ["failure", "success"]}, {"good", "bad"}),
    ({"keywords": ["deploy"]}, EVERYTHING),
    ({"keywords": ["DEPLOY", "vpn"]}, {"fact"}),
    ({"keywords": ["restart", "vpn"]}, set()),
    ({"min_confidence": 0.45}, {"fact", "rule", "good"}),
    ({"min_confidence": 0.9}, {"rule"}),
    # Episodes stay inside their domain, rules and facts cross.
    ({"domain": "shop"}, {"fact", "rule", "good"}),
    ({"domain": "bank"}, {"fact", "rule", "bad"}),
    ({"domain": "zoo"}, {"fact", "rule"}),
    ({"domain": "shop", "kinds": ["episodic"]}, {"good"}),
    ({"domain": "shop", "outcomes": ["failure"]}, set()),
]


@pytest.mark.parametrize("profile", ["balanced", "layered", "three-lane", "reranked"])
@pytest.mark.parametrize(("options", "expected"), FILTERS)
def test_only_what_a_filter_lets_through_is_found(
    filled: Hindsight, options: dict[str, Any], expected: set[str], profile: str
) -> None:
    assert names(filled, profile=profile, **options) == expected


@pytest.mark.parametrize(("options", "expected"), FILTERS)
def test_filters_hold_for_a_blank_query_too(
    filled: Hindsight, options: dict[str, Any], expected: set[str]
) -> None:
    assert names(filled, None, **options) == expected


def test_times_are_inclusive_at_both_ends(filled: Hindsight, clock: FrozenClock) -> None:
    now = clock()
    assert names(filled, since=now - timedelta(days=10)) == {"fact", "rule", "good"}
    assert names(filled, until=now - timedelta(days=10)) == {"good", "bad"}
    ten = now - timedelta(days=10)
    assert names(filled, since=ten, until=ten) == {"good"}
    with pytest.raises(ConfigurationError, match="is after until"):
        filled.retrieve(QUERY, since=now, until=ten)
    with pytest.raises(ConfigurationError, match="since"):
        filled.retrieve(QUERY, since=now.replace(tzinfo=None))


def test_least_confidence_is_that_of_today(filled: Hindsight, clock: FrozenClock) -> None:
    assert names(filled, min_confidence=0.69) == {"fact", "rule"}
    clock.advance(days=30)
    assert names(filled, min_confidence=0.69) == {"rule"}
    assert names(filled, None, min_confidence=0.69) == {"rule"}
    clock.advance(days=90)
    assert names(filled, min_confidence=0.69) == set()


def test_only_active_memories_are_found_unless_asked_otherwise(filled: Hindsight) -> None:
    filled.forget("fact")
    assert names(filled) == {"rule", "good", "bad"}
    assert names(filled, statuses=["forgotten"]) == {"fact"}
    assert names(filled, statuses=["active", "forgotten"]) == EVERYTHING


def test_what_has_expired_is_not_found(h: Hindsight, clock: FrozenClock) -> None:
    h.store("The deploy is frozen", memory_id="freeze", valid_until=clock() + timedelta(days=1))
    assert names(h) == {"freeze"}
    clock.advance(days=2)
    assert names(h) == set()
    assert names(h, None) == set()


@pytest.mark.parametrize(
    "options", [{"kinds": ["odd"]}, {"categories": ["odd"]}, {"outcomes": ["odd"]}]
)
def test_a_label_that_is_not_known_is_refused_with_those_that_are(
    filled: Hindsight, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match="'odd' is not known; use one of"):
        filled.retrieve(QUERY, **options)


def test_tags_raise_what_has_them_and_leave_nothing_out(filled: Hindsight) -> None:
    plain = {r.memory.id: r.score for r in filled.retrieve(QUERY, profile="layered")}
    tagged = {r.memory.id: r.score for r in filled.retrieve(QUERY, profile="layered", tags=["ci"])}
    assert tagged.keys() == plain.keys()
    assert tagged["rule"] == pytest.approx(plain["rule"] + 0.2)
    assert tagged["fact"] == pytest.approx(plain["fact"])


@pytest.mark.parametrize("options", [{"tags": ["ci"]}, {"task_type": "operations"}])
def test_by_default_tags_and_task_type_raise_by_a_fifth_of_the_relevance(
    filled: Hindsight, options: dict[str, Any]
) -> None:
    plain = {r.memory.id: r for r in filled.retrieve(QUERY)}
    raised = {r.memory.id: r for r in filled.retrieve(QUERY, **options)}
    factors = plain["rule"].factors
    similarity = sum(factors[name] for name in ("meaning", "words", "neighbor"))
    assert factors["match"] == 0.0
    assert raised["rule"].factors["match"] == pytest.approx(0.2 * similarity)
    assert raised["fact"].factors["match"] == 0.0
    assert raised["fact"].score == pytest.approx(plain["fact"].score)


def test_the_own_namespace_comes_first_among_equals(h: Hindsight) -> None:
    first = h.scoped(("acme", f"{h.namespace.parts[0]}-1"))
    second = h.scoped(("acme", f"{h.namespace.parts[0]}-2"))
    text = "The deploy needs the VPN"
    for view, memory_id in ((second, "second"), (h, "own"), (first, "first")):
        view.store(text, memory_id=memory_id)
    view = h.scoped(h.namespace, read_namespaces=[first.namespace, second.namespace])
    assert [r.memory.id for r in view.retrieve(text)] == ["own", "first", "second"]
    turned = h.scoped(h.namespace, read_namespaces=[second.namespace, first.namespace])
    assert [r.memory.id for r in turned.retrieve(text)] == ["own", "second", "first"]
    assert [r.memory.id for r in h.retrieve(text)] == ["own"]


def test_ids_that_two_namespaces_share_are_two_memories(h: Hindsight) -> None:
    other = h.scoped(("acme", h.namespace.parts[0]))
    other.store("The deploy needs a token", memory_id="same")
    h.store("The deploy needs the VPN", memory_id="same")
    view = h.scoped(h.namespace, read_namespaces=[other.namespace])
    for profile in ("balanced", "three-lane"):
        assert len(view.retrieve("what does the deploy need", profile=profile)) == 2
