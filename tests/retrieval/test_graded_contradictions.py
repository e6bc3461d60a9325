"""What is known that contradicts a statement."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.reconcile.opposition import dispute
from hindsight_core.retrieval.contradicting import LEAST_SCORE

KNOWN = (
    "I just met Brittney's parents at The French Laundry restaurant",
    "Brittney's parents live in a house by the sea",
    "The office opens at 9",
    "Rent is split 60/40 from May",
)


def told(h: Hindsight) -> None:
    for content in KNOWN:
        h.store(content)


def test_what_denies_a_claim_comes_first_with_its_shares(h: Hindsight) -> None:
    told(h)
    found = h.contradictions("I've never met Brittney's parents, how do I make an impression?")
    assert [one.memory.content for one in found] == [KNOWN[0]]
    assert found[0].difference > 0.5
    assert found[0].score == pytest.approx((found[0].relevance + found[0].difference / 2) / 1.5)


def test_another_number_is_a_contradiction(h: Hindsight) -> None:
    told(h)
    found = h.contradictions("The office opens at 10")
    assert [(one.memory.content, one.difference) for one in found] == [(KNOWN[2], 1.0)]


def test_what_agrees_or_was_said_in_the_same_words_is_none(h: Hindsight) -> None:
    told(h)
    assert h.contradictions(KNOWN[0]) == []
    assert h.contradictions("Cats sleep a lot") == []


def test_what_confirms_in_other_words_contradicts_nothing(h: Hindsight) -> None:
    h.store("The team lead of payments is Carla Mendes")
    statement = "Carla Mendes is the team lead of payments"
    assert h.contradictions(statement) == []
    (graded,) = h.contradictions(statement, least=0.65)
    assert graded.difference == 0
    assert graded.score < LEAST_SCORE


def test_no_relevance_alone_reaches_the_default() -> None:
    assert dispute(1.0, 0.0) < LEAST_SCORE


def test_all_are_graded_where_the_least_is_0(h: Hindsight) -> None:
    told(h)
    found = h.contradictions("The office opens at 10", least=0.0)
    assert {one.memory.content for one in found} == set(KNOWN)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(h.contradictions("The office opens at 10", least=0.0, top_k=2)) == 2


def test_runs_contradict_nothing(h: Hindsight) -> None:
    task = "The office opens at 9"
    h.store(task, category="experience", kind="episodic", task_description=task)
    assert h.contradictions("The office opens at 10", least=0.0) == []


def test_the_async_twin_says_the_same(h: Hindsight) -> None:
    told(h)
    found = asyncio.run(h.acontradictions("The office opens at 10"))
    assert found == h.contradictions("The office opens at 10")


def test_a_blank_statement_contradicts_nothing(h: Hindsight) -> None:
    told(h)
    assert h.contradictions("  ") == []


@pytest.mark.parametrize(
    "given",
    [{"least": -0.1}, {"least": 1.5}, {"least": "x"}, {"least": True}, {"top_k": 0},
     {"top_k": "5"}, {"top_k": True}],
)  # fmt: skip
def test_arguments_that_can_not_be_meant_are_refused(h: Hindsight, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        h.contradictions("The office opens at 10", **given)
