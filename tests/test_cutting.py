"""Texts that are too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.cutting import clipped, up_to_word

TEXTS = st.text(alphabet="ab 中，", max_size=60)
LENGTHS = st.integers(2, 60)


@given(TEXTS, LENGTHS, st.sampled_from(["…", " …"]))
def test_a_clipped_text_is_whole_or_ends_with_the_mark_at_its_length(
    text: str, length: int, mark: str
) -> None:
    cut = clipped(text, length, mark)
    if len(text) <= length:
        assert cut == text
    else:
        assert len(cut) == length
        assert cut.endswith(mark)
        assert text.startswith(cut.removesuffix(mark))


@given(TEXTS, LENGTHS)
def test_a_text_cut_at_a_word_is_its_beginning_and_splits_no_word_it_need_not(
    text: str, length: int
) -> None:
    cut = up_to_word(text, length, length // 2)
    assert text.startswith(cut)
    assert len(cut) <= length
    if len(text) > length and " " in text[length // 2 + 1 : length]:
        assert text[len(cut)] == " "


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("one two three", "one two"),
        ("a bcdefghijklm", "a bcdefghi"),  # the only space would leave too little
        ("把几条编号的笔记合并成一句", "把几条编号的笔记合并"),
        ("short", "short"),
        ("exactly 10", "exactly 10"),
    ],
)
def test_the_cut_is_at_a_space_where_enough_is_left(text: str, cut: str) -> None:
    assert up_to_word(text, 10, 5) == cut
