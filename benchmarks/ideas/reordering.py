"""Maximal marginal relevance, and re-rankers that read query and text together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.ideas.pair_scores import PairScores
from benchmarks.ideas.variant import Order, Scene, Variant
from hindsight_core.models import Retrieved
from hindsight_core.reconcile.texts import searchable_text
from hindsight_core.retrieval.falling import falling

__all__ = ["blended", "diverse", "diversity_variants", "rating_variants", "twins"]

AMONG = 20
"""First results that maximal marginal relevance chooses from."""
ALIKE = 0.8
"""Cosine from which on two results count as one thing."""
SHOWN = 5
MOST_CASES = 60
"""Cases of a set that a re-ranker is asked about, evenly spread."""


def diversity_variants() -> list[Variant]:
    """Return the variants of maximal marginal relevance."""
    return [
        Variant("diversity", f"maximal marginal relevance, λ = {share}", after=diverse(share))
        for share in (0.9, 0.7, 0.5)
    ]


def rating_variants(
    group: str,
    scores: PairScores,
    shares: Mapping[float, Sequence[int]],
    scaled: Callable[[float], float],
    sets: tuple[str, ...] = (),
) -> list[Variant]:
    """Return the variants of one re-ranker.

    Args:
        group: The idea.
        scores: Rates pairs.
        shares: For each weight beside the score of the default system, of how many results.
        scaled: Brings a rating to about 0–1.
        sets: The sets that are not too long for it; all if empty.
    """
    return [
        Variant(
            group,
            f"weighs {weight} over the first {first}",
            before=blended(scores, weight, first, scaled),
            most=MOST_CASES,
            sets=sets,
        )
        for weight, firsts in shares.items()
        for first in firsts
    ]


def diverse(share: float) -> Order:
    """Return maximal marginal relevance over the first results.

    Each next one has the highest λ · score / best score − (1 − λ) · cosine to what stands
    before it (Carbonell and Goldstein, 1998).

    Args:
        share: λ, 0–1.
    """

    def order(scene: Scene, results: Sequence[Retrieved]) -> list[Retrieved]:
        head = list(results[:AMONG])
        if not head or head[0].score <= 0:
            return list(results)
        rows = scene.lanes.vectors[[scene.places[result.memory.id] for result in head]]
        near = rows @ rows.T
        worth = np.array([result.score / head[0].score for result in head])
        nearest = np.zeros(len(head))
        left, chosen = list(range(len(head))), []
        while left:
            gains = share * worth[left] - (1.0 - share) * nearest[left]
            best = left.pop(int(np.argmax(gains)))
            chosen.append(head[best])
            nearest = np.maximum(nearest, near[best])
        return [*chosen, *results[AMONG:]]

    return order


def twins(scene: Scene, results: Sequence[Retrieved]) -> float:
    """Return the share of the first five that nearly repeat one before them."""
    head = results[:SHOWN]
    if len(head) < 2:
        return 0.0
    rows = scene.lanes.vectors[[scene.places[result.memory.id] for result in head]]
    near = np.tril(rows @ rows.T, -1)
    return float((near.max(axis=1)[1:] >= ALIKE).mean())


def blended(
    scores: PairScores, weight: float, first: int, scaled: Callable[[float], float]
) -> Order:
    """Return an order by score + weight · (rating − mean rating) over the first results."""

    def order(scene: Scene, results: Sequence[Retrieved]) -> list[Retrieved]:
        head = results[:first]
        texts = [searchable_text(result.memory) for result in head]
        ratings = [scaled(value) for value in scores.of(scene.query, texts)]
        middle = sum(ratings) / max(1, len(ratings))
        rated = [
            replace(result, score=result.score + weight * (rating - middle))
            for result, rating in zip(head, ratings, strict=True)
        ]
        rated.sort(key=lambda result: -result.score)
        return falling([*rated, *results[first:]], "rating")

    return order
