"""Scoring and lifecycle parameters, as data.

Five profiles reproduce numbers that systems of this kind have been described with; the
sixth, `balanced`, is the measured default (`python -m benchmarks all`). A profile says which
factors of `hindsight_core.retrieval.scoring` are added with which weight, which multiply the
sum, how wide each candidate lane is, and what happens to confidence afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from hindsight_core.errors import ConfigurationError
from hindsight_core.lifecycle.parameters import Conflict, Lifecycle
from hindsight_core.models import Category

__all__ = [
    "PROFILES",
    "Conflict",
    "Lanes",
    "Lifecycle",
    "Multiplier",
    "Profile",
    "Term",
    "profile_named",
]

Term: TypeAlias = Literal[
    "similarity",
    "vector",
    "keyword",
    "task_type",
    "tags",
    "confidence",
    "importance",
    "faded_importance",
    "recency",
    "frequency",
    "access",
    "meaning",
    "words",
    "neighbor",
    "outcome",
    "match",
    "trust",
    "weight",
    "freshness",
]
"""Factors that are added.

The first ten are in 0–1 before their weights, `access` in 0–0.1. `meaning`, `words` and
`neighbor` are the parts that `similarity` is the sum of. The last five are relative to
relevance and may be negative, so that they decide among memories that are about equally
relevant and can't lift an irrelevant one."""

Multiplier: TypeAlias = Literal["age", "tag_boost", "semantic_confidence"]
"""Factors that multiply the sum."""

TERMS: tuple[Term, ...] = get_args(Term)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """How many candidates each lane brings.

    Attributes:
        dense: Candidates by cosine: at least `dense`, or `dense_per_k` × top_k if more.
        dense_per_k: See `dense`.
        sparse: Candidates by BM25, likewise.
        sparse_per_k: See `sparse`.
        recent: Newest by event time.
        important: Highest importance.
        tagged: Best by cosine among those that share a tag with the query.
        split_kinds: Ask the dense and the sparse lane once per kind, so that neither kind
            can crowd out the other.
    """

    dense: int = 0
    dense_per_k: int = 0
    sparse: int = 0
    sparse_per_k: int = 0
    recent: int = 0
    important: int = 0
    tagged: int = 0
    split_kinds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named set of scoring and lifecycle parameters.

    Attributes:
        name: The name.
        add: Weight of each added factor.
        multiply: Factors that multiply the sum.
        half_life_days: Age at which `recency` is one half; by event time.
        slow: Categories whose half-life is longer, and by which factor.
        fade_per_hour: λ of `faded_importance` = importance · exp(−λ · hours since access).
        tag_boost: What `tag_boost` multiplies by when a tag matches.
        age_floor: Least value of `age` = max(age_floor, 1 − days / age_span_days).
        age_span_days: See `age_floor`.
        lanes: Width of the candidate lanes.
        top_k: Results by default.
        semantic_always: Results reserved for semantic memories of high importance.
        min_relevance: Abstention: nothing is answered unless the best result is at least
            this relevant, in absolute terms, and never what is not relevant at all.
        min_score: Results that score less than this are left out.
        newer_first: Whether, among the first results, a newer memory about the same thing
            goes before the older one.
        lifecycle: What becomes of memories afterwards.
    """

    name: str
    add: Mapping[Term, float]
    multiply: tuple[Multiplier, ...] = ()
    half_life_days: float = 30.0
    slow: Mapping[Category, float] = field(default_factory=dict)
    fade_per_hour: float = 0.0
    tag_boost: float = 1.0
    age_floor: float = 0.0
    age_span_days: float = 365.0
    lanes: Lanes = Lanes(dense=30, sparse=30)
    top_k: int = 5
    semantic_always: int = 0
    min_relevance: float = 0.0
    min_score: float = 0.0
    newer_first: bool = False
    lifecycle: Lifecycle = field(default_factory=Lifecycle)

    def __post_init__(self) -> None:
        """Refuse weights that can't rank: NaN, negative, unknown or all zero."""
        for term, weight in self.add.items():
            if term not in TERMS:
                raise ConfigurationError(
                    f"profile {self.name!r} weighs {term!r}, which is no factor; "
                    f"use {', '.join(TERMS)}"
                )
            if not (math.isfinite(weight) and weight >= 0):
                raise ConfigurationError(
                    f"profile {self.name!r} gives {term!r} the weight {weight!r}; "
                    "weights are finite and 0 or more"
                )
        if not any(self.add.values()):
            raise ConfigurationError(f"profile {self.name!r} has no weight above 0")
        for name in ("half_life_days", "age_span_days", "tag_boost"):
            value = getattr(self, name)
            # Below a second the exponent of a year's age leaves the range of a float.
            if not (math.isfinite(value) and value >= 1e-5):
                raise ConfigurationError(
                    f"profile {self.name!r} has {name} {value!r}; it must be at least 0.00001"
                )
        if self.top_k < 1:
            raise ConfigurationError(f"profile {self.name!r} has top_k {self.top_k!r}, below 1")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Profile:
        """Build a profile from plain data, for example a parsed file.

        A key `base` names the profile whose values it starts from, `balanced` if left out;
        `lanes` and `lifecycle` may be mappings of the fields that differ.

        Raises:
            ConfigurationError: If a key is not known or a value can't be used.
        """
        base = profile_named(str(values.get("base", "balanced")))
        changes = {key: value for key, value in values.items() if key != "base"}
        known = {entry.name for entry in fields(cls)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ConfigurationError(f"a profile has no {', '.join(map(repr, unknown))}")
        try:
            for key in ("lanes", "lifecycle"):
                if isinstance(changes.get(key), Mapping):
                    changes[key] = replace(getattr(base, key), **changes[key])
            return replace(base, **changes)
        except TypeError as error:
            raise ConfigurationError(f"profile {values!r} can't be read: {error}") from error


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="balanced",
            add={"meaning": 1.0, "words": 1.0, "neighbor": 1.0, "outcome": 0.7,
                 "match": 0.2, "trust": 0.1, "weight": 0.05, "freshness": 0.01},
            lanes=Lanes(dense=50, sparse=50),
            min_relevance=0.5,
            newer_first=True,
            lifecycle=Lifecycle(credit="beta"),
        ),
        Profile(
            name="experience",
            add={"similarity": 0.5, "task_type": 0.2, "confidence": 0.2, "access": 1.0},
            multiply=("age",),
            age_floor=0.5,
            lanes=Lanes(dense_per_k=3, sparse_per_k=3),
        ),
        Profile(
            name="layered",
            add={"similarity": 0.4, "recency": 0.2, "tags": 0.2, "importance": 0.2},
            lanes=Lanes(dense=20, sparse=20, recent=10, important=10, tagged=10),
            lifecycle=Lifecycle(
                conflict="merge",
                merge_words="model",
                archive_idle_days=90.0,
                archive_confidence=0.0,
                forget_importance=0.3,
                forget_age_days=90.0,
            ),
        ),
        Profile(
            name="three-lane",
            add={"vector": 0.4, "keyword": 0.3, "faded_importance": 0.3},
            fade_per_hour=0.01,
            lanes=Lanes(dense=20, sparse=20, important=20),
            top_k=8,
            semantic_always=3,
            lifecycle=Lifecycle(
                initial_confidence=0.8,
                success_gain=0.0,
                failure_loss=0.0,
                conflict="down_weight",
                conflict_factor=0.7,
                archive_confidence=0.0,
                archive_importance=0.3,
                archive_idle_days=30.0,
                forget_importance=0.3,
                forget_age_days=7.0,
                consolidate_by_hand=5,
                consolidate_importance=0.6,
                consolidate_newest=50,
            ),
        ),
        Profile(
            name="reranked",
            add={"similarity": 1.0},
            multiply=("semantic_confidence",),
            lanes=Lanes(dense=20, sparse=20, split_kinds=True),
            lifecycle=Lifecycle(
                initial_confidence=0.5,
                idle_factor=1.0,
                idle_step=0.01,
                conflict="coexist",
                duplicate_gain=0.05,
                archive_confidence=0.0,
                archive_idle_days=90.0,
            ),
        ),
        Profile(
            name="assistant",
            add={"similarity": 0.6, "recency": 0.25, "frequency": 0.15},
            multiply=("tag_boost",),
            half_life_days=7.0,
            slow={"preference": 4.0},
            tag_boost=1.2,
            lanes=Lanes(dense_per_k=3, sparse_per_k=2, dense=20),
            min_score=0.3,
            lifecycle=Lifecycle(
                success_gain=0.0,
                failure_loss=0.0,
                idle_factor=1.0,
                duplicate_similarity=0.92,
                duplicate_gain=0.1,
                archive_confidence=0.0,
                archive_idle_days=math.inf,
                capacity=5_000,
            ),
        ),
    )
}  # fmt: skip
"""The profiles by name."""


def profile_named(name: str) -> Profile:
    """Return the profile called `name`.

    Raises:
        ConfigurationError: If there is none; the message lists those there are.
    """
    try:
        return PROFILES[name]
    except KeyError:
        raise ConfigurationError(
            f"profile {name!r} is not known; use one of {', '.join(PROFILES)}"
        ) from None
