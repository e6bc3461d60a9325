"""The numbers by which memories gain, fade, conflict, merge and go, as data.

Each profile of `hindsight_core.retrieval.profiles` has a set of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from hindsight_core.errors import ConfigurationError
from hindsight_core.trajectory import OUTCOME_SOURCES

__all__ = ["Conflict", "CreditPolicy", "Lifecycle", "MergeWords"]

Conflict: TypeAlias = Literal["supersede", "down_weight", "merge", "coexist", "unresolved"]
"""What a newer statement does to the older one it contradicts.

`supersede` replaces it, `down_weight` weakens it, `merge` makes one statement of both where
a model can say it and replaces otherwise, `coexist` keeps both, each with its condition, and
`unresolved` keeps both and marks them for a person to judge."""

MergeWords: TypeAlias = Literal["rule", "model"]
"""Whose words a merged memory has: those of the best founded, or a reflection model's."""

CreditPolicy: TypeAlias = Literal["additive", "beta"]
"""How outcomes move confidence: by fixed steps, or as the mean of counted outcomes."""

_SHARES = (
    "initial_confidence", "success_gain", "success_cap", "failure_loss", "failure_floor",
    "wrong_factor", "idle_factor", "idle_step", "conflict_factor", "conflict_similarity",
    "duplicate_similarity", "duplicate_gain", "archive_confidence", "archive_importance",
    "forget_importance", "falsified_confidence", "consolidate_importance",
)  # fmt: skip
_POSITIVE = ("idle_days", "prior_weight", "counted_outcomes")
# Below a second a year of idleness leaves the range of a float.
_LEAST = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """What becomes of a memory after it was written.

    Attributes:
        initial_confidence: Where the lesson brings none of its own.
        success_gain: Added when a run that had it in its brief succeeds.
        success_cap: Confidence that gains do not pass.
        failure_loss: Taken away when such a run fails.
        failure_floor: Confidence that losses do not pass.
        wrong_factor: Multiplies confidence when a user says that it is wrong.
        idle_factor: Multiplies confidence for each `idle_days` without use, continuously.
        idle_step: Taken away for each `idle_days` without use, continuously.
        idle_days: See `idle_factor`.
        conflict: What a newer contradicting statement does.
        conflict_factor: Multiplies the older statement's confidence in a conflict.
        conflict_similarity: Least cosine for two statements to be about the same thing.
        duplicate_similarity: Least cosine for two statements to be the same.
        duplicate_gain: Added to confidence when the same thing is said by another run.
        merge_words: Whose words a merged memory has; with `model` maintenance asks the
            reflection model where there is one, and keeps the rule's where it can't be used.
        archive_confidence: Archive below this confidence, when also idle.
        archive_idle_days: Archive past this many days without use.
        archive_importance: Archive below this importance, when also idle. With neither of
            the two, being idle is enough.
        forget_importance: Forget below this importance what was never recalled and is older
            than `forget_age_days`.
        forget_age_days: See `forget_importance`.
        falsified_failures: Forget what failed at least this often, more often than it
            succeeded, and is below `falsified_confidence`; 0 for never.
        falsified_confidence: See `falsified_failures`.
        capacity: Most active memories of a namespace, the least valuable are archived past
            it; 0 for no limit.
        credit: How outcomes move confidence.
        prior_weight: With `beta`, how many outcomes the initial confidence is worth.
        counted_outcomes: With `beta`, most outcomes that count; later ones push out earlier
            ones, so that a memory that turned wrong is noticed.
        bound_width: With `beta`, standard deviations below the mean at which the bound lies
            that memories are ranked by.
        source_weights: What an outcome counts by its source, 0–1, in the order of
            `hindsight_core.trajectory.OUTCOME_SOURCES`.
        consolidate_episodes: Least number of new episodes for a scheduled consolidation.
        consolidate_hours: Least hours between scheduled consolidations.
        consolidate_evidence: Least number of evidence runs of a rule.
        consolidate_by_hand: Least number of new episodes for a consolidation by hand.
        consolidate_importance: Least importance of episodes that are consolidated.
        consolidate_newest: Most episodes that one consolidation looks at, the newest.
    """

    initial_confidence: float = 0.7
    success_gain: float = 0.05
    success_cap: float = 0.95
    failure_loss: float = 0.1
    failure_floor: float = 0.1
    wrong_factor: float = 0.5
    idle_factor: float = 0.9
    idle_step: float = 0.0
    idle_days: float = 30.0
    conflict: Conflict = "supersede"
    conflict_factor: float = 0.5
    conflict_similarity: float = 0.85
    duplicate_similarity: float = 0.95
    duplicate_gain: float = 0.0
    merge_words: MergeWords = "rule"
    archive_confidence: float = 0.3
    archive_idle_days: float = 60.0
    archive_importance: float = 0.0
    forget_importance: float = 0.0
    forget_age_days: float = math.inf
    falsified_failures: int = 3
    falsified_confidence: float = 0.2
    capacity: int = 0
    credit: CreditPolicy = "additive"
    prior_weight: float = 4.0
    counted_outcomes: float = 4.0
    bound_width: float = 1.0
    source_weights: tuple[float, ...] = (1.0, 1.0, 0.8, 0.5, 0.25)
    consolidate_episodes: int = 20
    consolidate_hours: float = 24.0
    consolidate_evidence: int = 2
    consolidate_by_hand: int = 2
    consolidate_importance: float = 0.0
    consolidate_newest: int = 200

    def __post_init__(self) -> None:
        """Refuse numbers that can't be used, naming the field."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, (int, float)) and (math.isnan(value) or value < 0):
                raise ConfigurationError(f"{entry.name} {value!r} is not 0 or more")
        for name in _SHARES:
            if getattr(self, name) > 1:
                raise ConfigurationError(f"{name} {getattr(self, name)!r} is not in 0–1")
        for name in _POSITIVE:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= _LEAST):
                raise ConfigurationError(f"{name} {value!r} is not finite and at least {_LEAST}")
        weights = self.source_weights
        if len(weights) != len(OUTCOME_SOURCES) or not all(0 <= w <= 1 for w in weights):
            raise ConfigurationError(
                f"source_weights {weights!r} needs one number in 0–1 for each of "
                f"{', '.join(OUTCOME_SOURCES)}"
            )
