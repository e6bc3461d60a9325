"""Currency, outcome, neighbors and openings: the factors beside relevance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.ideas.collection import Floats, Shelf
from benchmarks.ideas.variant import Variant
from hindsight_core.retrieval import currency, fusion
from hindsight_core.retrieval.profiles import Profile, Term

__all__ = ["currency_variants", "factor_variants", "outdated"]

Change = Callable[[Profile], Profile]
SAID = ("locomo", "beam", "currency", "contradiction")
"""Sets of statements, of which one may outdate another."""


def currency_variants() -> list[Variant]:
    """Return the variants of what happens to the older of two statements."""
    group = "currency"
    return [
        Variant(group, "older not demoted at read", profile=_no_demotion),
        Variant(group, "nothing superseded at write", written=_coexist, sets=SAID),
        *(
            Variant(
                group,
                f"superseded at write from cosine {least} on, not demoted at read",
                profile=_no_demotion,
                superseded=outdated(least),
                sets=SAID,
            )
            for least in (0.6, 0.7, 0.8)
        ),
        Variant(group, "recency weighs .1", profile=_weighing({"freshness": 0.1})),
        Variant(group, "demoted from overlap .10 on",
                ((currency, "SAME_THING", 0.10), (currency, "SAME_THING_OTHER_NUMBER", 0.07))),
        Variant(group, "demoted from overlap .25 on",
                ((currency, "SAME_THING", 0.25), (currency, "SAME_THING_OTHER_NUMBER", 0.17))),
        Variant(group, "demoted among the first 8", ((currency, "TOP", 8),)),
    ]  # fmt: skip


def factor_variants() -> list[Variant]:
    """Return the variants of outcome, neighbors and openings."""
    return [
        *(
            Variant("outcome", f"outcome weighs {weight}", profile=_weighing({"outcome": weight}))
            for weight in (0.0, 0.4, 1.0)
        ),
        *(
            Variant(
                "neighbors",
                f"what stands beside a hit weighs {weight}",
                ((fusion, "NEIGHBOR_WEIGHT", weight),),
            )
            for weight in (0.0, 0.2, 0.6)
        ),
        *(
            Variant(
                "openings",
                f"how tasks begin weighs {weight}",
                ((fusion, "OPENING_WEIGHT", weight),),
            )
            for weight in (0.0, 0.3)
        ),
    ]


def outdated(least: float) -> Callable[[Shelf, Floats], frozenset[int]]:
    """Return a rule by which a newer statement supersedes each older one that is as near.

    Args:
        least: Least cosine. Messages of one session do not supersede each other.
    """

    def find(shelf: Shelf, vectors: Floats) -> frozenset[int]:
        near = vectors @ vectors.T >= least
        memories = [entry.memory for entry in shelf.entries]
        times = np.array([memory.event_time.timestamp() for memory in memories])
        sessions = np.array([m.evidence[0].run_id if m.evidence else m.id for m in memories])
        newer = times[None, :] > times[:, None]
        elsewhere = sessions[None, :] != sessions[:, None]
        return frozenset(np.flatnonzero((near & newer & elsewhere).any(axis=1)).tolist())

    return find


def _no_demotion(profile: Profile) -> Profile:
    return replace(profile, newer_first=False)


def _coexist(profile: Profile) -> Profile:
    return replace(profile, lifecycle=replace(profile.lifecycle, conflict="coexist"))


def _weighing(weights: Mapping[Term, float]) -> Change:
    return lambda profile: replace(profile, add={**profile.add, **weights})
