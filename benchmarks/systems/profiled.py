"""The same store, ranked by another profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.context import Context
from benchmarks.metrics import Ranking
from benchmarks.systems.hindsight import MOST_RESULTS, Stored

__all__ = ["Profiled", "row_name", "with_profiles"]


@dataclass(frozen=True, slots=True)
class Profiled:
    """Documents that were stored once, ranked by a profile.

    Attributes:
        stored: The documents.
        profile: Name of the profile.
    """

    stored: Stored
    profile: str

    def rank(self, query: str, k: int) -> Ranking:
        """Return the documents behind the best `k` memories."""
        results = self.stored.memory.retrieve(query, top_k=k, profile=self.profile)
        return {
            document: position
            for position, result in enumerate(results)
            for document in self.stored.places.get(result.memory.id, ())
        }

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the absolute relevance of each document, 0 for what is not found."""
        ended = self.stored.ended
        scores = np.zeros(len(ended))
        count = min(MOST_RESULTS, len(ended))
        for result in self.stored.memory.retrieve(query, top_k=count, profile=self.profile):
            scores[self.stored.places.get(result.memory.id, [])] = result.relevance
        return scores


def with_profiles(stored: Stored, context: Context) -> Mapping[str, Stored | Profiled]:
    """Return the rows of Hindsight: as it comes, and by each profile that was asked for."""
    if context.profiles:
        context.notes.append(
            "rows of other profiles rank the store as the default profile has written it"
        )
    more = {row_name(profile): Profiled(stored, profile) for profile in context.profiles}
    return {"hindsight": stored, **more}


def row_name(profile: str) -> str:
    """Return the name of the row of a profile."""
    return f"hindsight, profile={profile}"
