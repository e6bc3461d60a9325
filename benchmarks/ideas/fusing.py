"""How the scores of both lanes become one relevance, and how wide the lanes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.ideas.variant import Replacement, Variant
from hindsight_core.retrieval import fusion, recall
from hindsight_core.retrieval.fusion import QueryShape, Relevance, fuse
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.store.base import Hit

__all__ = ["fixed_weight", "fusing_variants", "lane_variants"]

RANK_CONSTANT = 60
"""k of reciprocal rank fusion: 1 / (k + rank), summed over the lanes."""
CONTRAST_OVER = 10
"""Best hits of a lane over which it is judged how flat it is."""
MOST_SHIFT = 2.0
"""Most by which a flat lane loses weight beside the other."""
BOTH = 1e6
"""A weight beside which the other lane does not count."""


def fusing_variants() -> list[Variant]:
    """Return the variants of fusion."""
    group = "fusion"
    plain = fixed_weight(1.0)
    return [
        Variant(group, "one weight of the words, .7", fixed_weight(0.7)),
        Variant(group, "one weight of the words, 1.2", fixed_weight(1.2)),
        Variant(group, "one weight of the words, 2.5", fixed_weight(2.5)),
        Variant(
            group,
            "questions and tasks weigh words alike, 1.2",
            ((fusion, "QUESTION_WEIGHT", 1.2), (fusion, "STATEMENT_WEIGHT", 1.2)),
        ),
        Variant(
            group, "words keep their weight where they explain little",
            ((fusion, "FLOOR_PER_TERM", 0.0),),
        ),
        Variant(
            group, "script of the query ignored", ((fusion, "FOREIGN_WEIGHT", 1.0),),
            sets=("chinese",),
        ),
        Variant(group, "a flat lane weighs less", ((recall, "fuse", _fuse_by(_contrasted)),)),
        Variant(group, "min–max of each lane", (*plain, (recall, "fuse", _fuse_by(_min_max)))),
        Variant(group, "rank fusion, k = 60", (*plain, (recall, "fuse", _fuse_by(_ranks)))),
        Variant(group, "meaning alone", fixed_weight(0.0)),
        Variant(group, "words alone", fixed_weight(BOTH)),
    ]  # fmt: skip


def lane_variants() -> list[Variant]:
    """Return the variants of lane widths; the default is 50."""
    return [
        Variant("lanes", f"{width} candidates a lane", profile=_wide(width))
        for width in (30, 40, 80, 120)
    ]


def fixed_weight(weight: float) -> tuple[Replacement, ...]:
    """Return what makes the words weigh `weight` beside a cosine of 1 in every query."""
    return (
        (fusion, "QUESTION_WEIGHT", weight),
        (fusion, "STATEMENT_WEIGHT", weight),
        (fusion, "FLOOR_PER_TERM", 0.0),
        (fusion, "FOREIGN_WEIGHT", 1.0),
    )


def _wide(width: int) -> Callable[[Profile], Profile]:
    return lambda profile: replace(profile, lanes=replace(profile.lanes, dense=width, sparse=width))


_Scores = tuple[list[float], list[float]]
_Fuse = Callable[[Sequence[Hit], QueryShape], list[Relevance]]


def _fuse_by(change: Callable[[list[float], list[float]], _Scores]) -> _Fuse:
    """Return the core's fusion with other scores: the rest of it is as it was."""

    def fused(hits: Sequence[Hit], query: QueryShape) -> list[Relevance]:
        once = list({hit.memory.id: hit for hit in hits}.values())
        cosines = [hit.cosine or 0.0 for hit in once]
        words = [hit.bm25 or 0.0 for hit in once]
        changed = zip(once, *change(cosines, words), strict=True)
        return fuse([hit._replace(cosine=c, bm25=w) for hit, c, w in changed], query)

    return fused


def _ranks(cosines: list[float], words: list[float]) -> _Scores:
    """Return (k + 1) / (k + rank), so that the best of a lane has 1; nothing found has 0."""
    return _by_rank(cosines), _by_rank(words)


def _by_rank(scores: list[float]) -> list[float]:
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    ranks = [0.0] * len(scores)
    for rank, place in enumerate(order, start=1):
        if scores[place] > 0:
            ranks[place] = (RANK_CONSTANT + 1) / (RANK_CONSTANT + rank)
    return ranks


def _min_max(cosines: list[float], words: list[float]) -> _Scores:
    return _stretched(cosines), _stretched(words)


def _stretched(scores: list[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


def _contrasted(cosines: list[float], words: list[float]) -> _Scores:
    """Return the cosines times how much the lane of meaning stands out beside that of words."""
    share = _contrast(cosines) / max(_contrast(words), 1e-9)
    share = max(1.0 / MOST_SHIFT, min(MOST_SHIFT, share))
    return [cosine * share for cosine in cosines], words


def _contrast(scores: list[float]) -> float:
    """Return how far the best hit stands above the first ones, as a share of it."""
    best = sorted(scores, reverse=True)[:CONTRAST_OVER]
    return 1.0 - sum(best) / len(best) / best[0] if best and best[0] > 0 else 0.0
