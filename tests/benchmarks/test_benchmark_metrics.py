"""The figures of merit, against values worked out by hand and against simple references."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics import (
    area_under_curve,
    average_precision,
    difference_of_means,
    first_position,
    mean_of,
    precision_at,
    quantile_of,
    recall_at,
    reciprocal_rank,
    without,
)

RANKING = {7: 0, 3: 1, 5: 2, 9: 3}


def test_recall_and_precision_count_what_stands_in_the_first_places() -> None:
    assert recall_at(RANKING, {3, 9}, 2) == 0.5
    assert recall_at(RANKING, {3, 9, 100}, 4) == pytest.approx(2 / 3)
    assert precision_at(RANKING, {3, 9}, 4) == 0.5
    assert precision_at({}, {3}, 5) == 0.0


def test_ranks_of_what_was_not_found_are_far_away() -> None:
    assert first_position(RANKING, {5, 9}) == 2
    assert first_position(RANKING, {100}) > 1_000_000
    assert first_position(RANKING, ()) > 1_000_000
    assert reciprocal_rank(RANKING, {5, 9}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKING, {5, 9}, k=2) == 0.0
    assert reciprocal_rank(RANKING, {100}) == 0.0


def test_average_precision_is_the_mean_of_the_precision_at_each_relevant_one() -> None:
    assert average_precision(RANKING, {7, 5}) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision(RANKING, {7, 100}) == 0.5


def test_leaving_one_out_moves_up_what_stood_behind_it() -> None:
    assert without(RANKING, 3) == {7: 0, 5: 1, 9: 2}
    assert without(RANKING, 100) == RANKING


def test_an_interval_holds_its_figure_and_repeats() -> None:
    random_ = random.Random(1)
    values = [random_.random() for _ in range(200)]
    measure = mean_of(values)
    assert measure.low < measure.value < measure.high
    assert measure == mean_of(values)
    assert measure.n == 200
    assert measure.value == pytest.approx(sum(values) / 200)
    # The normal approximation of the same interval.
    spread = math.sqrt(sum((v - measure.value) ** 2 for v in values) / 199 / 200)
    assert measure.high - measure.low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_quantiles_and_differences_have_intervals_too() -> None:
    values = list(range(1, 102))
    assert quantile_of(values, 0.5).value == 51
    assert quantile_of(values, 0.95).value == 96
    gap = difference_of_means([3.0, 3.0], [1.0, 2.0, 3.0])
    assert gap.value == 1.0
    assert gap.low < 1.0 < gap.high
    assert gap.n == 5


def test_no_cases_give_no_figure() -> None:
    assert math.isnan(mean_of([]).value)
    assert math.isnan(difference_of_means([1.0], []).low)
    assert mean_of([]).n == 0


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=8),
    st.lists(st.integers(0, 6), min_size=1, max_size=8),
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(
    positives: list[int], negatives: list[int]
) -> None:
    won = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    expected = won / len(positives) / len(negatives)
    assert area_under_curve(positives, negatives).value == pytest.approx(expected)


@given(st.permutations(range(8)), st.sets(st.integers(0, 7), min_size=1))
def test_recall_at_the_full_depth_is_one(order: list[int], gold: set[int]) -> None:
    ranking = {document: position for position, document in enumerate(order)}
    assert recall_at(ranking, gold, 8) == 1.0
    assert 0 < average_precision(ranking, gold) <= 1.0
