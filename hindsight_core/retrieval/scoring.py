"""From candidates to a ranking in which every factor can be seen.

score = (Σ weight · factor) × Π multiplier, with the weights and multipliers of a profile.
Pure: the time is an argument, nothing is read or written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.lifecycle.decay import days_between, faded_confidence, half_life_weight
from hindsight_core.models import Memory, Retrieved
from hindsight_core.retrieval.profiles import Multiplier, Profile, Term
from hindsight_core.trajectory import OutcomeLabel

__all__ = ["OUTCOME_VALUES", "Candidate", "Situation", "score"]

OUTCOME_VALUES: Mapping[OutcomeLabel, float] = {
    "success": 1.0,
    "partial": 0.6,
    "unknown": 0.5,
    "incomplete": 0.3,
    "abandoned": 0.3,
    "failure": 0.0,
}
"""What the `outcome` factor is worth; memories that are no experiences count as `unknown`."""

_FREQUENCY_SCALE = math.log(20)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a lane brought, with its relevance to the query.

    Attributes:
        memory: The memory.
        similarity: Fused relevance of the lanes, 0–1, relative to this query's candidates.
        vector: Cosine, clamped to 0–1.
        keyword: BM25 divided by the best of this query, 0–1.
        relevance: Absolute relevance, 0–1, comparable between queries.
    """

    memory: Memory
    similarity: float
    vector: float
    keyword: float
    relevance: float


@dataclass(frozen=True, slots=True)
class Situation:
    """What a score depends on besides the candidate.

    Attributes:
        profile: The parameters.
        now: The present moment.
        task_type: Task type of the query, `""` if it has none.
        tags: Tags of the query.
    """

    profile: Profile
    now: datetime
    task_type: str = ""
    tags: frozenset[str] = frozenset()


def _recency(candidate: Candidate, situation: Situation) -> float:
    memory, profile = candidate.memory, situation.profile
    half_life = profile.half_life_days * profile.slow.get(memory.category, 1.0)
    return half_life_weight(days_between(memory.event_time, situation.now), half_life)


def _tags(candidate: Candidate, situation: Situation) -> float:
    if not situation.tags:
        return 0.0
    return len(situation.tags.intersection(candidate.memory.tags)) / len(situation.tags)


def _faded_importance(candidate: Candidate, situation: Situation) -> float:
    memory = candidate.memory
    used = memory.last_accessed_at or memory.created_at
    hours = days_between(used, situation.now) * 24.0
    return memory.importance * math.exp(-situation.profile.fade_per_hour * hours)


def _confidence(candidate: Candidate, situation: Situation) -> float:
    return faded_confidence(candidate.memory, situation.now, situation.profile.lifecycle)


def _task_type(candidate: Candidate, situation: Situation) -> float:
    wanted = situation.task_type
    return 1.0 if wanted and wanted == candidate.memory.task_type else 0.0


def _frequency(candidate: Candidate, situation: Situation) -> float:
    return min(1.0, math.log(candidate.memory.access_count + 1) / _FREQUENCY_SCALE)


def _outcome(candidate: Candidate, situation: Situation) -> float:
    memory = candidate.memory
    return OUTCOME_VALUES[memory.outcome if memory.category == "experience" else "unknown"]


_TERMS: Mapping[Term, Callable[[Candidate, Situation], float]] = {
    "similarity": lambda candidate, _: candidate.similarity,
    "vector": lambda candidate, _: candidate.vector,
    "keyword": lambda candidate, _: candidate.keyword,
    "task_type": _task_type,
    "tags": _tags,
    "confidence": _confidence,
    "importance": lambda candidate, _: candidate.memory.importance,
    "faded_importance": _faded_importance,
    "recency": _recency,
    "frequency": _frequency,
    "access": lambda candidate, _: min(candidate.memory.access_count / 10.0, 0.1),
    "outcome": _outcome,
}


def _age(candidate: Candidate, situation: Situation) -> float:
    profile = situation.profile
    days = days_between(candidate.memory.event_time, situation.now)
    return max(profile.age_floor, 1.0 - days / profile.age_span_days)


def _tag_boost(candidate: Candidate, situation: Situation) -> float:
    return situation.profile.tag_boost if _tags(candidate, situation) > 0 else 1.0


def _semantic_confidence(candidate: Candidate, situation: Situation) -> float:
    if candidate.memory.kind != "semantic":
        return 1.0
    return _confidence(candidate, situation)


_MULTIPLIERS: Mapping[Multiplier, Callable[[Candidate, Situation], float]] = {
    "age": _age,
    "tag_boost": _tag_boost,
    "semantic_confidence": _semantic_confidence,
}


def score(candidates: Sequence[Candidate], situation: Situation) -> list[Retrieved]:
    """Rank `candidates`, best first; equal scores keep the order they came in."""
    scored = [_score_one(candidate, situation) for candidate in candidates]
    scored.sort(key=lambda result: -result.score)
    return scored


def _score_one(candidate: Candidate, situation: Situation) -> Retrieved:
    profile = situation.profile
    factors: dict[str, float] = {
        term: weight * _TERMS[term](candidate, situation)
        for term, weight in profile.add.items()
        if weight
    }
    total = sum(factors.values())
    for name in profile.multiply:
        value = _MULTIPLIERS[name](candidate, situation)
        factors[f"×{name}"] = value
        total *= value
    return Retrieved(candidate.memory, total, factors, candidate.relevance)
