"""A second dense lane, with a model that knows other languages."""

from __future__ import annotations

import re

import numpy as np

from benchmarks.ideas.collection import Floats
from benchmarks.ideas.packaged import Multilingual
from benchmarks.ideas.variant import Made, Variant
from hindsight_core.embedding.base import DenseEmbedder

__all__ = ["second_lane_variants"]

SETS = ("chinese", "currency", "contradiction", "same-task", "locomo")
"""Sets that are not too long for a model that embeds three texts a second."""
UNRELATED = 0.77
"""What this model gives two texts that have nothing to do with each other."""
SPREAD = 4.0
"""By which what is above that is stretched, to about what the default model gives."""
_CHINESE = re.compile(r"[一-鿿]")


def second_lane_variants(embedder: DenseEmbedder | None = None) -> list[Variant]:
    """Return the variants of a second dense lane.

    Args:
        embedder: The second model, by default multilingual-e5-small from its package.
    """
    second = embedder or Multilingual()
    return [
        Variant(
            "second lane", "multilingual, mean of both",
            made=Made(second=second, blend=_mean), reads_every_script=True, sets=SETS,
        ),
        Variant(
            "second lane", "multilingual instead",
            made=Made(second=second, blend=_instead), reads_every_script=True, sets=SETS,
        ),
        Variant(
            "second lane", "multilingual for Chinese queries alone",
            made=Made(second=second, blend=_for_chinese), reads_every_script=True,
            sets=("chinese",),
        ),
    ]  # fmt: skip


def _instead(query: str, first: Floats, second: Floats) -> Floats:
    stretched: Floats = np.clip(SPREAD * (second - UNRELATED), 0.0, 1.0)
    return stretched


def _mean(query: str, first: Floats, second: Floats) -> Floats:
    return (first + _instead(query, first, second)) / 2.0


def _for_chinese(query: str, first: Floats, second: Floats) -> Floats:
    return _instead(query, first, second) if _CHINESE.search(query) else first
