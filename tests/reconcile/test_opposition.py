"""How much of what one text denies another one claims."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.reconcile.opposition import DISPUTED, dispute, opposition, stance_of

TERMS = Bm25Embedder().content_terms


def opposed(one: str, other: str) -> float:
    return opposition(stance_of(one, TERMS), stance_of(other, TERMS))


@pytest.mark.parametrize(
    ("denying", "claiming"),
    [
        ("I've never used any Bootstrap components", "I'm using Bootstrap components here"),
        ("The export doesn't support large files", "Large files are supported by the export"),
        ("He isn’t allowed to merge pull requests", "He was allowed to merge pull requests"),
        ("We deploy without running the tests", "Always run the tests"),
        ("我从来没有去过北京的博物馆", "上周我去过北京的博物馆"),
        ("这个接口不支持分页查询", "这个接口支持分页查询"),
    ],
)
def test_a_denial_stands_against_its_claim(denying: str, claiming: str) -> None:
    assert opposed(denying, claiming) >= 0.5
    assert opposed(denying, claiming) == opposed(claiming, denying)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I've used Bootstrap components", "I use Bootstrap components"),
        ("I've never used Bootstrap components", "I haven't used Bootstrap components"),
        ("I've never used Bootstrap components", "Frogs eat flies"),
        ("这家餐厅不错", "这家餐厅很好"),
        ("他不但会写代码，还会设计", "他会写代码"),
        ("", "I've never been there"),
        ("No.", "No!"),
    ],
)
def test_what_agrees_or_is_about_something_else_is_not_opposed(one: str, other: str) -> None:
    assert opposed(one, other) == 0.0


def test_one_clause_of_a_long_message_is_enough() -> None:
    message = (
        "I want my portfolio to be accessible, but I've never implemented any Bootstrap "
        "components in this project. Can you show me a navigation bar?"
    )
    assert opposed(message, "I implemented Bootstrap components in this project") > 0.5


def test_what_stands_in_front_counts_where_nothing_follows_the_negation() -> None:
    assert opposed("Deploys on Friday: never", "Deploys on Friday work") == 0.0
    assert opposed("Friday deploys never, please", "Friday deploys are fine") > 0.5


def test_code_is_not_read() -> None:
    assert opposed("```\nif not cached pages: cached pages\n```", "cached pages") == 0.0


def test_a_single_shared_term_counts_half() -> None:
    assert opposed("I never smoke", "They smoke salmon") == pytest.approx(0.5)


@settings(max_examples=60)
@given(st.text(max_size=80), st.text(max_size=80))
def test_opposition_is_symmetric_and_within_bounds(one: str, other: str) -> None:
    found = opposed(one, other)
    assert 0.0 <= found < 1.0
    assert found == opposed(other, one)
    assert opposed(one, one) < 1.0


def test_dispute_grows_with_both_and_needs_both_to_be_sure() -> None:
    assert dispute(0.0, 0.0) == 0.0
    assert dispute(1.0, 1.0) == 1.0
    assert dispute(0.7, 0.0) < DISPUTED < dispute(0.7, 0.7)
    assert dispute(0.3, 1.0) < DISPUTED
