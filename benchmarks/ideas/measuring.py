"""Every variant on one set, case by case, beside the default system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.context import Context
from benchmarks.ideas.asking import Asking, retrieved
from benchmarks.ideas.building import SETS
from benchmarks.ideas.cases import IdeaSet, ranking_of
from benchmarks.ideas.collection import Floats
from benchmarks.ideas.reordering import twins
from benchmarks.ideas.scoring import scenes_of, superseding
from benchmarks.ideas.variant import Made, Scene, Variant, replaced
from benchmarks.metrics import SEED, Measure, mean_of
from benchmarks.progress import track
from benchmarks.systems.hindsight import HindsightStore
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.retrieval.profiles import Profile, profile_named
from hindsight_core.settings import Settings

__all__ = ["DEFAULT", "Difference", "Measured", "SetMeasure", "differences", "spread"]

DEFAULT = Variant("default", "default")
HALVES = 200
"""Random halves of the cases in which a difference is looked at again."""
READS_EVERY_SCRIPT = False
"""The embedder that everybody gets has learned English alone."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a variant changes in one figure of a set.

    Attributes:
        change: Mean of variant − default over the cases, with its paired bootstrap interval.
        halves: Share of random halves of the cases in which the change has the same sign.
    """

    change: Measure
    halves: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant on one set.

    Attributes:
        variant: The variant.
        set_name: The set.
        differences: By metric.
    """

    variant: Variant
    set_name: str
    differences: Mapping[str, Difference]


_Figures = Mapping[str, Floats]
"""One value per case by metric, NaN where the metric says nothing about the case."""


class SetMeasure:
    """One set, stored once and asked by many variants.

    Args:
        name: Name of the set.
        context: What the benchmark is given.
        most: Most cases, evenly spread; 0 for all.
    """

    def __init__(self, name: str, context: Context, most: int = 0) -> None:
        self.name = name
        self._most = most
        self._context = context
        self._words = Bm25Embedder()
        self._profile = profile_named(Settings().profile)
        self.ideas = self._built(self._profile)
        self.scenes = scenes_of(self.ideas, DEFAULT.made, context, self._words)
        self._last: tuple[Made, list[Scene]] = (DEFAULT.made, self.scenes)
        self._default = self._figures(self.ideas, self.scenes, DEFAULT, self._every)

    @property
    def default(self) -> Mapping[str, Measure]:
        """The figures of the default system by metric."""
        return {
            metric: mean_of(values[~np.isnan(values)].tolist())
            for metric, values in self._default.items()
        }

    def of(self, variants: Sequence[Variant]) -> Iterator[Measured]:
        """Yield what each variant changes; those that are of other sets are passed over."""
        mine = [one for one in variants if not one.sets or self.name in one.sets]
        for variant in track(mine, f"variants on {self.name}"):
            places = spread(len(self.ideas.cases), variant.most)
            ideas, scenes = self._scenes(variant)
            found = self._figures(ideas, superseding(variant, scenes), variant, places)
            changes = {
                metric: differences(values - self._default[metric][places])
                for metric, values in found.items()
            }
            yield Measured(variant, self.name, changes)

    @property
    def _every(self) -> NDArray[np.int64]:
        return spread(len(self.ideas.cases), 0)

    def _built(self, profile: Profile) -> IdeaSet:
        with HindsightStore(self._context.embedder, profile=profile) as store:
            ideas = SETS[self.name](self._context, store)
        chosen = spread(len(ideas.cases), self._most).tolist()
        return replace(ideas, cases=tuple(ideas.cases[place] for place in chosen))

    def _scenes(self, variant: Variant) -> tuple[IdeaSet, list[Scene]]:
        if variant.written is not None:
            ideas = self._built(variant.written(self._profile))
            return ideas, scenes_of(ideas, variant.made, self._context, self._words)
        if variant.made is DEFAULT.made:
            return self.ideas, self.scenes
        if self._last[0] is not variant.made:
            made = scenes_of(self.ideas, variant.made, self._context, self._words)
            self._last = (variant.made, made)
        return self.ideas, self._last[1]

    def _figures(
        self,
        ideas: IdeaSet,
        scenes: Sequence[Scene],
        variant: Variant,
        places: NDArray[np.int64],
    ) -> _Figures:
        asking = Asking(self._profile, ideas.now, ideas.top_k, READS_EVERY_SCRIPT)
        rows: list[dict[str, float]] = []
        with replaced(variant.replaces):
            for place in places.tolist():
                scene, case = scenes[place], ideas.cases[place]
                results = retrieved(scene, variant, asking, self._words)
                ranking = ranking_of(scene.lanes.shelf, results)
                rows.append({**case.judge(ranking), "alike@5": twins(scene, results)})
        metrics = dict.fromkeys(metric for row in rows for metric in row)
        return {metric: np.array([row.get(metric, np.nan) for row in rows]) for metric in metrics}


def spread(count: int, most: int) -> NDArray[np.int64]:
    """Return the places of at most `most` of `count` cases, evenly spread; all of them for 0."""
    if not most or count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def differences(values: Floats) -> Difference:
    """Return the mean of paired differences and how it stands in random halves.

    Args:
        values: One per case, NaN where there is none.
    """
    known = values[~np.isnan(values)]
    if not len(known) or not known.any():
        return Difference(Measure(0.0, 0.0, 0.0, len(known)), 0.0)
    change = mean_of(known.tolist())
    random = np.random.default_rng(SEED)
    half = max(1, len(known) // 2)
    means = [random.permutation(known)[:half].mean() for _ in range(HALVES)]
    same = np.sign(means) == np.sign(change.value)
    return Difference(change, float(same.mean()))
