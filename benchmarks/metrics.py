"""Figures of merit with their bootstrap intervals; pure.

A ranking is a mapping from a document to its position, counted from 0; a document that is not
in it was not found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RESAMPLES",
    "SEED",
    "Measure",
    "Ranking",
    "area_under_curve",
    "average_precision",
    "difference_of_means",
    "first_position",
    "mean_of",
    "precision_at",
    "quantile_of",
    "recall_at",
    "reciprocal_rank",
    "without",
]

RESAMPLES = 2_000
"""Samples with replacement behind an interval."""
SEED = 20_240_601
"""Seed of the samples, so that a run repeats to the last digit."""
NOWHERE = 1 << 30
"""Position of what was not found."""

Floats: TypeAlias = NDArray[np.float64]
Ranking: TypeAlias = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure with its 95 % bootstrap interval.

    Attributes:
        value: The figure.
        low: Lower end of the interval.
        high: Upper end.
        n: Cases behind it.
    """

    value: float
    low: float
    high: float
    n: int


def recall_at(ranking: Ranking, gold: Collection[int], k: int) -> float:
    """Return |gold ∩ top k| / |gold|."""
    return sum(ranking.get(document, NOWHERE) < k for document in gold) / len(gold)


def precision_at(ranking: Ranking, relevant: Collection[int], k: int) -> float:
    """Return |relevant ∩ top k| / k."""
    return sum(ranking.get(document, NOWHERE) < k for document in relevant) / k


def first_position(ranking: Ranking, documents: Collection[int]) -> int:
    """Return the position of the best of `documents`, a very large one if none was found."""
    return min((ranking.get(document, NOWHERE) for document in documents), default=NOWHERE)


def reciprocal_rank(ranking: Ranking, relevant: Collection[int], k: int = NOWHERE) -> float:
    """Return 1 / rank of the first relevant document, 0 if it is not among the first `k`."""
    position = first_position(ranking, relevant)
    return 1.0 / (position + 1) if position < k else 0.0


def average_precision(ranking: Ranking, relevant: Collection[int]) -> float:
    """Return the mean of the precision at each relevant document; one not found counts 0."""
    positions = sorted(ranking[document] for document in relevant if document in ranking)
    found = sum(count / (position + 1) for count, position in enumerate(positions, start=1))
    return found / len(relevant)


def without(ranking: Ranking, document: int) -> Ranking:
    """Return `ranking` as it would be if `document` had not been stored."""
    own = ranking.get(document, NOWHERE)
    return {
        other: position - (position > own)
        for other, position in ranking.items()
        if other != document
    }


def mean_of(values: Sequence[float]) -> Measure:
    """Return the mean of `values`, resampled over the cases."""
    return _bootstrapped([values], lambda groups: groups[0].mean(axis=-1))


def quantile_of(values: Sequence[float], share: float) -> Measure:
    """Return a quantile of `values`.

    Args:
        values: At least one.
        share: Which, 0–1; 0.5 for the median.
    """
    return _bootstrapped([values], lambda groups: np.quantile(groups[0], share, axis=-1))


def difference_of_means(first: Sequence[float], second: Sequence[float]) -> Measure:
    """Return mean(first) − mean(second), each group resampled by itself."""
    return _bootstrapped(
        [first, second], lambda groups: groups[0].mean(axis=-1) - groups[1].mean(axis=-1)
    )


def area_under_curve(positives: Sequence[float], negatives: Sequence[float]) -> Measure:
    """Return the chance that a positive scores above a negative, ties counting one half."""
    return _bootstrapped([positives, negatives], _auc)


def _auc(groups: Sequence[Floats]) -> Floats:
    positives, negatives = groups
    above = positives[..., :, None] > negatives[..., None, :]
    equal = positives[..., :, None] == negatives[..., None, :]
    shares: Floats = (above + 0.5 * equal).mean(axis=(-1, -2))
    return shares


def _bootstrapped(
    groups: Sequence[Sequence[float]], statistic: Callable[[Sequence[Floats]], Floats]
) -> Measure:
    count = sum(len(group) for group in groups)
    if not all(len(group) for group in groups):
        return Measure(float("nan"), float("nan"), float("nan"), count)
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    random = np.random.default_rng(SEED)
    samples: list[float] = []
    for _ in range(RESAMPLES // 100):
        drawn = [array[random.integers(0, len(array), (100, len(array)))] for array in arrays]
        samples += np.asarray(statistic(drawn)).tolist()
    low, high = np.quantile(samples, (0.025, 0.975))
    return Measure(float(np.asarray(statistic(arrays))), float(low), float(high), count)
