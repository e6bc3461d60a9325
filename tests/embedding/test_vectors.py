from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.embedding.vectors import unit_vectors, usable_text, usable_texts, well_formed
from hindsight_core.errors import EmbeddingError


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_every_vector_has_unit_length_or_is_zero(row: list[float]) -> None:
    [vector] = unit_vectors([row], count=1, dimension=0, model="m")
    length = math.sqrt(math.fsum(x * x for x in vector))
    assert length == pytest.approx(1) or not any(row) or length == 0


def test_arrays_become_tuples_of_plain_floats() -> None:
    [vector] = unit_vectors([np.array([3, 4], dtype=np.float32)], count=1, dimension=2, model="m")
    assert vector == (0.6, 0.8)
    assert type(vector[0]) is float


def test_a_vector_of_zeros_stays_as_it_is() -> None:
    assert unit_vectors([[0, 0]], count=1, dimension=2, model="m") == [(0.0, 0.0)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "0 vectors for 1 texts"),
        ([[1, 2], [3, 4]], "2 vectors for 1 texts"),
        ([[1, 2, 3]], r"shape \(3,\).*expected \(2,\)"),
        ([[]], "shape"),
        ([[[1, 2]]], "shape"),
        ([None], "shape|NoneType"),
        (["ab"], "str instead of numbers"),
        ([[1, None]], "NaN|NoneType|instead of numbers"),
        ([[1, math.nan]], "NaN"),
        ([[1, math.inf]], "NaN or infinity"),
    ],
)
def test_what_is_not_a_vector_is_refused(rows: list[Any], says: str) -> None:
    with pytest.raises(EmbeddingError, match=says):
        unit_vectors(rows, count=1, dimension=2, model="m")


def test_vectors_of_different_widths_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="text 1"):
        unit_vectors([[1, 2], [1, 2, 3]], count=2, dimension=0, model="m")


@pytest.mark.parametrize("text", ["", "  ", "\n\t\u3000"])
def test_a_blank_text_is_refused(text: str) -> None:
    with pytest.raises(EmbeddingError, match="blank"):
        usable_text(text)


def test_the_message_says_which_text_is_unusable() -> None:
    with pytest.raises(EmbeddingError, match="text 1 is NoneType"):
        usable_texts(["fine", None])  # type: ignore[list-item]


def test_one_string_is_not_taken_for_a_list_of_letters() -> None:
    with pytest.raises(EmbeddingError, match="one string 'abc'"):
        usable_texts("abc")


def test_surrogates_are_joined_or_replaced() -> None:
    assert well_formed("\ud83d\ude00") == "\U0001f600"
    assert well_formed("a\ud800b") == "a\ufffdb"


@given(st.text(st.characters(codec=None, categories=None)))
def test_well_formed_text_is_valid_utf8_and_valid_text_is_untouched(text: str) -> None:
    result = well_formed(text)
    result.encode("utf-8")
    assert well_formed(result) is result
