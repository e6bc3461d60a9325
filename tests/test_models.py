"""The values that the rooms share."""

from __future__ import annotations

import pytest

from hindsight_core.models import CATEGORIES, STATEMENTS, Category, Lesson, is_statement


@pytest.mark.parametrize("category", CATEGORIES)
def test_what_is_filtered_as_a_statement_is_taken_for_one(category: Category) -> None:
    lesson = Lesson(content="The export needs a header row.", category=category)
    assert is_statement(lesson) == (category in STATEMENTS)


def test_only_an_experience_tells_what_happened() -> None:
    assert [category for category in CATEGORIES if category not in STATEMENTS] == ["experience"]
