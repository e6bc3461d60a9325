"""Two results that contradict each other are shown side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Context, Evidence, Memory, Retrieved
from hindsight_core.retrieval.brief import render
from hindsight_core.retrieval.conflicts import conflicting
from hindsight_core.testing import FrozenClock

TERMS = Bm25Embedder().content_terms
NOTE = "disagree and neither is settled"


def test_what_a_person_and_an_agent_say_stands_on_neighboring_lines_with_dates(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store("The office opens at 9", source="user_feedback")
    h.store("The office has a garden where people eat")
    clock.advance(days=40)
    h.store("The office opens at 10", source="agent_inference")
    brief = h.brief("when does the office open")
    lines = brief.text.splitlines()
    places = [n for n, line in enumerate(lines) if "opens at" in line]
    assert places[1] - places[0] == 1
    assert "2026-01-05" in "".join(lines[n] for n in places)
    assert "2026-02-14" in "".join(lines[n] for n in places)
    assert NOTE in lines[places[1] + 1]
    assert len(brief.retrieved) == 3


def test_what_holds_under_different_conditions_stands_with_them_and_without_a_note(
    h: Hindsight,
) -> None:
    h.store("The office opens at 9", source="user_feedback", applies_when="in summer")
    h.store("The office opens at 10", source="agent_inference", applies_when="in winter")
    text = h.brief("when does the office open").text
    assert "When: in summer" in text
    assert "When: in winter" in text
    assert NOTE not in text


def test_what_is_disputed_under_one_condition_stands_with_it_and_a_note(h: Hindsight) -> None:
    h.store("The office opens at 9", source="user_feedback", applies_when="in summer")
    h.store("The office opens at 10", source="agent_inference", applies_when="In  summer.")
    text = h.brief("when does the office open").text
    assert text.count("summer") == 2
    assert NOTE in text


@pytest.mark.parametrize(
    ("first", "second", "disputed"),
    [
        ({"applies_when": "in summer"}, {"applies_when": "in winter"}, False),
        ({"applies_when": "x > 1"}, {"applies_when": "x < 1"}, False),
        ({"applies_when": "in winter"}, {"not_when": "in winter"}, False),
        ({"not_when": "In winter"}, {"applies_when": "in winter"}, False),
        ({"applies_when": "in winter"}, {"not_when": "in summer"}, True),
        ({"applies_when": "in winter"}, {}, True),
        ({"not_when": "in winter"}, {"not_when": "in summer"}, True),
        ({}, {}, True),
    ],
)
@pytest.mark.parametrize(
    "contents",
    [
        ("The office opens at 9", "The office opens at 10"),
        ("I've never used Zotero to manage references", "I used Zotero to manage references"),
    ],
)
def test_two_statements_disagree_unless_each_says_when_the_other_does_not_hold(
    h: Hindsight,
    contents: tuple[str, str],
    first: dict[str, Any],
    second: dict[str, Any],
    disputed: bool,
) -> None:
    told = shown(h, contents[0])
    one = with_values(told, **first)
    two = with_values(told, id="y", content=contents[1], evidence=(), **second)
    assert bool(conflicting([one, two], TERMS)) is disputed
    assert bool(conflicting([two, one], TERMS)) is disputed


def test_a_warning_does_not_disagree_with_what_mends_the_failure(h: Hindsight) -> None:
    given: dict[str, Any] = {"category": "rule", "applies_when": "read_csv fails"}
    one = shown(h, "Use gb18030", context=Context(parameters={"encoding": "gb18030"}), **given)
    two = with_values(one, id="y", content="It failed", context=Context(), tags=("warning",))
    assert conflicting([one, two], TERMS) == ()


def test_it_is_said_in_chinese_to_a_chinese_reader(h: Hindsight) -> None:
    h.store("办公室九点开门", source="user_feedback")
    h.store("办公室十点开门", source="agent_inference")
    assert "互相矛盾，尚无定论" in h.brief("办公室几点开门？").text


def test_what_agrees_gets_no_note(h: Hindsight) -> None:
    h.store("The office opens at 9")
    h.store("The office has a garden where people eat")
    assert NOTE not in h.brief("when does the office open").text


def test_what_was_replaced_is_not_disputed(h: Hindsight, clock: FrozenClock) -> None:
    h.store("The office opens at 9")
    clock.advance(days=1)
    h.store("The office opens at 10")
    brief = h.brief("when does the office open")
    assert NOTE not in brief.text
    assert [r.memory.content for r in brief.retrieved] == ["The office opens at 10"]


def shown(h: Hindsight, content: str, **options: Any) -> Retrieved:
    memory = h.store(content, **options)
    return Retrieved(memory, 1.0, {}, 0.9)


def with_values(result: Retrieved, **values: Any) -> Retrieved:
    names = {name: getattr(result.memory, name) for name in Memory.__slots__}
    return Retrieved(Memory(**(names | values)), result.score, {}, result.relevance)


def test_two_remedies_for_one_condition_are_disputed(h: Hindsight) -> None:
    given: dict[str, Any] = {"category": "rule", "applies_when": "read_csv fails"}
    one = shown(h, "Use gb18030", context=Context(parameters={"encoding": "gb18030"}), **given)
    two = shown(h, "Use latin-1", context=Context(parameters={"encoding": "latin-1"}), **given)
    assert conflicting([one, two], TERMS) == ((0, 1),)
    other = with_values(two, applies_when="read_json fails")
    assert conflicting([one, other], TERMS) == ()


def test_one_remedy_that_another_condition_rules_out_is_disputed(h: Hindsight) -> None:
    one = shown(h, "Restart the service", category="rule", applies_when="it hangs")
    two = with_values(one, id="other", applies_when="", not_when="it hangs")
    assert conflicting([one, two], TERMS) == ((0, 1),)
    assert conflicting([one, with_values(one, id="other")], TERMS) == ()


@pytest.mark.parametrize("link", [{"supersedes": ("x",)}, {"id": "x", "supersedes": ()}])
def test_versions_of_one_memory_are_not_disputed(h: Hindsight, link: dict[str, Any]) -> None:
    one = shown(h, "The office opens at 9", memory_id="x")
    two = with_values(one, **({"id": "y", "content": "The office opens at 10"} | link))
    first = with_values(one, supersedes=("y",)) if link.get("id") == "x" else one
    second = with_values(two, id="y")
    assert conflicting([first, second], TERMS) == ()
    assert conflicting([second, first], TERMS) == ()


def test_runs_are_never_disputed(h: Hindsight) -> None:
    one = shown(h, "The office opens at 9", kind="episodic", category="experience")
    two = with_values(one, id="y", content="The office opens at 10")
    assert conflicting([one, two], TERMS) == ()


def test_of_three_that_disagree_two_are_paired(h: Hindsight) -> None:
    one = shown(h, "The office opens at 9")
    two, three = (
        with_values(one, id=f"o{hour}", content=f"The office opens at {hour}") for hour in (10, 11)
    )
    assert conflicting([one, two, three], TERMS) == ((0, 1),)


def test_a_pair_of_different_groups_stands_in_the_group_of_the_first(h: Hindsight) -> None:
    one = shown(h, "The office opens at 9")
    two = with_values(one, id="y", content="The office opens at 10", category="preference")
    text = render([one, two], "en", conflicting([one, two], TERMS), str)
    assert "What the user told us" not in text
    assert text.index("opens at 9") < text.index("opens at 10") < text.index(NOTE)


def test_only_the_first_results_and_single_statements_are_compared(h: Hindsight) -> None:
    one = shown(h, "The office opens at 9")
    two = with_values(one, id="y", content="The office opens at 10")
    between = [
        with_values(one, id=f"m{n}", content=f"{word} is blue")
        for n, word in enumerate("sky sea car hat cup pen box bag key".split())
    ]
    assert conflicting([one, *between[:8], two], TERMS) == ((0, 9),)
    assert conflicting([one, *between, two], TERMS) == ()
    long = with_values(one, id="z", content="The office opens at 10. " + "It is nice there. " * 30)
    assert conflicting([one, long], TERMS) == ()


def test_of_a_pair_that_the_budget_parts_the_first_stands_without_a_note(h: Hindsight) -> None:
    h.store("The office opens at 9", source="user_feedback")
    h.store("The office opens at 10", source="agent_inference")
    whole = h.brief("when does the office open")
    part = h.brief("when does the office open", token_budget=whole.tokens - 5)
    assert len(part.retrieved) == 1
    assert NOTE not in part.text


def test_what_one_denies_and_the_other_claims_is_disputed(h: Hindsight) -> None:
    h.store("I just downloaded Zotero to manage the references of my essay, can you help me?")
    h.store("I've never used Zotero to manage references, so how do I get started with it?")
    h.store("Mendeley can manage references too, but its groups are small")
    brief = h.brief("Have I ever used Zotero to manage references?")
    lines = brief.text.splitlines()
    places = [n for n, line in enumerate(lines) if "Zotero" in line]
    assert len(places) == 2
    assert places[1] - places[0] == 1
    assert NOTE in lines[places[1] + 1]


DENIED = "I've never used Zotero to manage references, so how do I get started?"


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("I love that Zotero exists", {}),  # shares one term
        ("I never used Zotero to manage references in my life", {}),  # denies it too
        ("I used Zotero to manage references", {"category": "experience", "kind": "episodic"}),
        ("I used Zotero to manage references. " + "More of that. " * 30, {}),  # a passage
        ("I used Zotero to manage references", {"evidence": (Evidence("run", (2,)),)}),
        ("I used Zotero to manage references", {"supersedes": ("denied",)}),
    ],
)
def test_no_dispute_with_what_says_less_the_same_or_belongs_together(
    h: Hindsight, content: str, options: dict[str, Any]
) -> None:
    one = shown(h, DENIED, memory_id="denied", evidence=(Evidence("run", (1,)),))
    other = with_values(one, id="other", content=content, evidence=())
    assert conflicting([one, with_values(other, **options)], TERMS) == ()


def test_no_dispute_among_results_that_were_hardly_asked_for(h: Hindsight) -> None:
    one = shown(h, DENIED)
    other = with_values(one, id="other", content="I used Zotero to manage references", evidence=())
    assert conflicting([one, other], TERMS) == ((0, 1),)
    far = replace(other, relevance=0.3)
    assert conflicting([one, far], TERMS) == ()
    middling = replace(other, relevance=0.5)
    assert conflicting([one, middling], TERMS) == ()
