from __future__ import annotations

import itertools

import pytest

from hindsight_core.reflection.signals import IMPORTANT, Signals, importance_of, is_important


@pytest.mark.parametrize(
    ("signals", "importance"),
    [
        (Signals(), 0.0),
        (Signals(preference=True), 0.4),
        (Signals(success=True), 0.3),
        (Signals(new_entity=True), 0.2),
        (Signals(correction=True), 0.3),
        (Signals(preference=True, new_entity=True), 0.6),
        (Signals(success=True, correction=True), 0.6),
        (Signals(preference=True, success=True, new_entity=True, correction=True), 1.0),
    ],
)
def test_importance_is_the_sum_of_the_described_weights(
    signals: Signals, importance: float
) -> None:
    assert importance_of(signals) == pytest.approx(importance)


def test_importance_never_leaves_its_range_and_never_falls_with_another_signal() -> None:
    for flags in itertools.product((False, True), repeat=4):
        importance = importance_of(Signals(*flags))
        assert 0.0 <= importance <= 1.0
        for position, flag in enumerate(flags):
            if not flag:
                more = Signals(*(*flags[:position], True, *flags[position + 1 :]))
                assert importance_of(more) >= importance


def test_what_reaches_the_threshold_counts_as_important() -> None:
    assert is_important(IMPORTANT)
    assert is_important(importance_of(Signals(preference=True, new_entity=True)))
    assert not is_important(importance_of(Signals(preference=True)))
