"""Sketches deny no twin, and most of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hindsight_core.lifecycle.twins import Sketches


def unit_vectors(seed: int, count: int, width: int, topics: int) -> NDArray[np.float64]:
    """Return vectors around `topics` centers, some of them near copies of others."""
    chance = np.random.default_rng(seed)
    centers = chance.standard_normal((topics, width))
    vectors = centers[chance.integers(topics, size=count)]
    vectors = vectors + chance.uniform(0.2, 1.5) * chance.standard_normal((count, width))
    for place in range(0, count, 7):
        noise = chance.uniform(0, 0.4) * chance.standard_normal(width)
        vectors[place] = vectors[chance.integers(count)] + noise
    unit: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def sketched(
    vectors: NDArray[np.float64], least: float, *, asking: NDArray[np.bool_], page: int
) -> set[int]:
    """Return the places of those that may have a twin."""
    sketches = Sketches(least)
    for start in range(0, len(vectors), page):
        places = range(start, min(start + page, len(vectors)))
        sketches.add(
            [f"m{place}" for place in places],
            [tuple(map(float, vectors[place])) for place in places],
            [bool(asking[place]) for place in places],
        )
    assert list(sketches.compare())[-1:] == ([len(vectors)] if len(vectors) else [])
    return {place for place in range(len(vectors)) if sketches.may_have_twin(f"m{place}")}


def with_twin(vectors: NDArray[np.float64], least: float) -> set[int]:
    """Return the places of those that have one, told by comparing all."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1.0)
    return set(np.flatnonzero((cosines >= least).any(axis=1)).tolist())


@hypothesis_settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 2_500),
    width=st.sampled_from([3, 64, 96, 384]),
    topics=st.integers(1, 40),
    least=st.sampled_from([0.92, 0.95]),
)
def test_who_has_a_twin_is_never_denied(
    seed: int, count: int, width: int, topics: int, least: float
) -> None:
    vectors = unit_vectors(seed, count, width, topics)
    asking = np.random.default_rng(seed).random(count) < 0.7
    found = sketched(vectors, least, asking=asking, page=256)
    wanted = {place for place in with_twin(vectors, least) if asking[place]}
    assert wanted <= found
    assert found <= set(np.flatnonzero(asking).tolist())


@pytest.mark.parametrize("topics", [1, 50])
def test_most_of_those_without_a_twin_are_told(topics: int) -> None:
    chance = np.random.default_rng(5)
    centers = chance.standard_normal((topics, 384))
    vectors = centers[chance.integers(topics, size=2_000)] + chance.standard_normal((2_000, 384))
    vectors[-1] = vectors[0] + 0.05 * chance.standard_normal(384)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = sketched(vectors, 0.95, asking=np.ones(2_000, np.bool_), page=500)
    assert {0, 1_999} <= found
    assert len(found) < 100
