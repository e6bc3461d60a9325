"""The simulation of credit repeats itself, and feedback does what it is for."""

from __future__ import annotations

from statistics import fmean

from benchmarks.sets.credit import POLICIES, simulate
from hindsight_core.retrieval.profiles import profile_named


def test_one_seed_gives_the_same_figures_twice() -> None:
    lifecycle = profile_named("balanced").lifecycle
    assert simulate(3, lifecycle) == simulate(3, lifecycle)


def test_the_default_retires_what_turned_harmful_and_nothing_else() -> None:
    lifecycle = profile_named("balanced").lifecycle
    found = [simulate(seed, lifecycle) for seed in range(6)]
    silent = [simulate(seed, None) for seed in range(6)]
    assert fmean(figures.runs_to_retire for figures in found) < 40
    assert fmean(figures.wrongly_retired for figures in found) <= 0.02
    assert all(
        with_.regret < 0.5 * without.regret for with_, without in zip(found, silent, strict=True)
    )


def test_the_row_of_the_default_is_the_default() -> None:
    assert dict(POLICIES)["beta, last outcomes (balanced)"] == profile_named("balanced").lifecycle
