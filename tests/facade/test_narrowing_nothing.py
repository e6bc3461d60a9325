"""What narrows nothing down, or can't be known, is refused by every verb that takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Lesson
from hindsight_core.store.base import MemoryFilter, Purge

VERBS = ["retrieve", "brief", "list", "forget"]
WORDLESS = ["", " ", "🚀", "!!!", "。", "—", "++"]


def ask(h: Hindsight, verb: str, **options: Any) -> Any:
    query = ["the user drinks tea"] if verb in ("retrieve", "brief") else []
    return getattr(h, verb)(*query, **options)


@pytest.fixture
def two(h: Hindsight) -> Hindsight:
    h.store("The user drinks tea", memory_id="tea")
    h.store("The deploy needs the VPN", memory_id="vpn", domain="shop", tags=["net"])
    return h


def all_there(h: Hindsight) -> bool:
    return len(h.list().memories) == 2


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("keyword", WORDLESS)
def test_no_verb_takes_a_keyword_without_letters_or_digits(
    two: Hindsight, verb: str, keyword: str
) -> None:
    for keywords in ([keyword], ["tea", keyword], iter([keyword])):
        with pytest.raises(ConfigurationError, match="no letter or digit"):
            ask(two, verb, keywords=keywords)
    assert all_there(two)


def test_no_twin_and_no_purge_takes_one_either(two: Hindsight) -> None:
    for verb in (two.aforget, two.alist):
        call: Any = verb
        with pytest.raises(ConfigurationError, match="no letter or digit"):
            asyncio.run(call(keywords=["🚀"]))
    with pytest.raises(ConfigurationError, match="no letter or digit"):
        Purge(MemoryFilter(namespaces=(two.namespace,), keywords=("🚀",)))
    assert all_there(two)


@pytest.mark.parametrize("name", ["domains", "tags", "task_types", "sources", "kinds"])
@pytest.mark.parametrize("blank", ["", " "])
def test_forgetting_by_a_blank_item_forgets_nothing(two: Hindsight, name: str, blank: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        ask(two, "forget", **{name: [blank]})
    assert all_there(two)


@pytest.mark.parametrize("verb", ["retrieve", "brief"])
def test_recall_takes_no_blank_items_either(two: Hindsight, verb: str) -> None:
    for wrong in ({"tags": [""]}, {"task_types": [" "]}, {"domain": " "}):
        with pytest.raises(ConfigurationError, match="blank"):
            ask(two, verb, **wrong)


@pytest.mark.parametrize(
    "empty", [{"tags": iter(())}, {"keywords": map(str, ())}, {"min_confidence": -1}]
)
def test_forgetting_by_a_filter_that_turns_out_empty_forgets_nothing(
    two: Hindsight, empty: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError):
        ask(two, "forget", **empty)
    assert all_there(two)


def test_a_filter_beside_an_id_is_checked_as_well(two: Hindsight) -> None:
    with pytest.raises(ConfigurationError, match="sources 'x' is not known"):
        ask(two, "forget", memory_id="tea", sources=["x"])
    assert all_there(two)


def test_statuses_that_turn_out_empty_bring_no_forgotten_memory_back(two: Hindsight) -> None:
    two.forget("tea")
    assert [r.memory.id for r in ask(two, "retrieve", statuses=iter(()))] == ["vpn"]


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        *((verb, name) for verb in VERBS for name in ("kinds", "categories", "statuses")),
        *((verb, "outcomes") for verb in VERBS),
        *((verb, "sources") for verb in ("list", "forget")),
    ],
)
def test_no_verb_takes_a_label_that_there_is_not(two: Hindsight, verb: str, name: str) -> None:
    for label in ("Active", "z", ""):
        with pytest.raises(ConfigurationError, match=f"{name} '{label}' is not known; use one of"):
            ask(two, verb, **{name: [label]})
    assert all_there(two)


@pytest.mark.parametrize("name", ["kind", "category", "source", "outcome"])
def test_nothing_is_stored_under_a_label_that_there_is_not(h: Hindsight, name: str) -> None:
    wrong: dict[str, Any] = {name: "z"}
    with pytest.raises(ConfigurationError, match=f"{name} 'z' is not known; use one of"):
        h.store("The user drinks tea", **wrong)
    with pytest.raises(ConfigurationError, match=f"{name} 'z' is not known"):
        Lesson(content="The user drinks tea", **wrong)
    assert not h.list().memories


def test_feedback_on_a_memory_refuses_a_source_that_there_is_not(two: Hindsight) -> None:
    wrong: dict[str, Any] = {"source": "z"}
    with pytest.raises(ConfigurationError, match="source 'z' is not known; use one of validator"):
        two.feedback(memory_id="tea", helpful=False, **wrong)
    assert two.history("tea") == ()


def test_a_task_type_of_ones_own_is_kept_and_found(h: Hindsight) -> None:
    h.store("Rest the dough for an hour", memory_id="dough", task_type="cooking")
    assert [m.id for m in h.list(task_types=["cooking"]).memories] == ["dough"]
    assert [r.memory.id for r in h.retrieve("dough", task_types=["cooking"])] == ["dough"]


@pytest.mark.parametrize("verb", ["retrieve", "brief", "forethought"])
def test_none_is_as_left_out(two: Hindsight, verb: str) -> None:
    names = {
        "retrieve": ("min_confidence", "top_k", "statuses", "domain", "abstain", "session_id"),
        "brief": ("min_confidence", "diverse", "run_id", "language", "context_window"),
        "forethought": ("token_budget", "run_id", "domain", "language"),
    }
    nothing = dict.fromkeys(names[verb])
    plain = getattr(two, verb)("the user drinks tea")
    assert getattr(two, verb)("the user drinks tea", **nothing) == plain


def test_storing_takes_none_as_left_out(h: Hindsight) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("tags", "evidence", "kind", "source", "outcome"))
    assert h.store("The user drinks tea", **nothing).tags == ()


@pytest.mark.parametrize(
    "items",
    [
        ["x"],
        [Lesson(content="The user drinks tea")],
        [{"content": "The user drinks tea"}, None],
        [{"content": "The user drinks tea"}, {"tags": ["x"]}],
        "The user drinks tea",
        {"content": "The user drinks tea"},
        5,
        None,
    ],
)
def test_storing_many_refuses_what_are_no_items(h: Hindsight, items: Any) -> None:
    with pytest.raises(ConfigurationError, match="content"):
        h.store_many(items)
    assert not h.list().memories


def test_storing_many_writes_nothing_when_the_last_item_is_wrong(h: Hindsight) -> None:
    items: list[dict[str, Any]] = [{"content": f"Fact number {n}"} for n in range(70)]
    with pytest.raises(ConfigurationError, match="outcome 'z' is not known"):
        h.store_many([*items, {"content": "The last one", "outcome": "z"}])
    assert not h.list().memories


@pytest.mark.parametrize("verb", ["brief", "forethought"])
def test_a_language_that_there_is_not_is_refused(two: Hindsight, verb: str) -> None:
    call: Callable[..., Any] = getattr(two, verb)
    for language in ("fr", "EN", " "):
        with pytest.raises(ConfigurationError, match=r"language .* use one of en, zh, auto"):
            call("the user drinks tea", language=language)
    for language in ("", "auto", "en"):
        assert call("the user drinks tea", language=language).language == "en"
    assert call("用户喝什么茶", language="auto").language == "zh"


@pytest.mark.parametrize("name", ["token_budget", "context_window"])
@pytest.mark.parametrize("tokens", [0, -5, 2.5, "a", True])
def test_budget_and_window_are_whole_numbers_above_zero(
    two: Hindsight, name: str, tokens: Any
) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name} .* is not a whole number above 0"):
        ask(two, "brief", **{name: tokens})


@pytest.mark.parametrize("limit", [0, 1_001, 2.5, "a", True, None])
def test_a_page_has_a_whole_number_of_memories(two: Hindsight, limit: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"limit .* is not a whole number in 1–1000"):
        two.list(limit=limit)
