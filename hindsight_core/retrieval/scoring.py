"""From candidates to a ranking in which every factor can be seen.

score = (Σ weight · factor) × Π multiplier, with the weights and multipliers of a profile.
Pure: the time is an argument, nothing is read or written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from hindsight_core.lifecycle.decay import (
    days_between,
    half_life_weight,
    ranked_confidence,
    ranked_confidences,
)
from hindsight_core.models import Memory, Retrieved
from hindsight_core.retrieval.fusion import Relevance
from hindsight_core.retrieval.profiles import Multiplier, Profile, Term
from hindsight_core.trajectory import OutcomeLabel

__all__ = ["OUTCOME_VALUES", "Candidate", "Situation", "score"]

OUTCOME_VALUES: Mapping[OutcomeLabel, float] = {
    "success": 0.5,
    "partial": 0.25,
    "unknown": 0.0,
    "incomplete": 0.0,
    "abandoned": 0.0,
    "failure": -0.5,
}
"""What the outcome of an experience is worth; what is no experience is neither helped nor
handicapped."""
OUTCOME_FROM = 0.5
"""Relevance, as a share of the best one, from which on the outcome begins to count, rising
linearly: it decides among comparably relevant runs and can't lift an irrelevant success."""
NEUTRAL_CONFIDENCE = 0.7
NEUTRAL_IMPORTANCE = 0.5

_FREQUENCY_SCALE = math.log(20)


class Candidate(NamedTuple):
    """A memory that a lane brought, with its relevance to the query.

    Attributes:
        memory: The memory.
        relevance: How relevant it is, and by what.
        similarity: Fused relevance of the lanes, 0–1.
    """

    memory: Memory
    relevance: Relevance
    similarity: float


@dataclass(frozen=True, slots=True)
class Situation:
    """What a score depends on besides the candidate.

    Attributes:
        profile: The parameters.
        now: The present moment.
        task_type: Task type of the query, `""` if it has none.
        tags: Tags of the query.
        best: Highest fused relevance among the candidates.
    """

    profile: Profile
    now: datetime
    task_type: str = ""
    tags: frozenset[str] = frozenset()
    best: float = 0.0


_Factor: TypeAlias = Callable[[Candidate, Situation], float]


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
    return ranked_confidence(candidate.memory, situation.now, situation.profile.lifecycle)


def _task_type(candidate: Candidate, situation: Situation) -> float:
    wanted = situation.task_type
    return 1.0 if wanted and wanted == candidate.memory.task_type else 0.0


def _frequency(candidate: Candidate, situation: Situation) -> float:
    return min(1.0, math.log(candidate.memory.access_count + 1) / _FREQUENCY_SCALE)


def _outcome(candidate: Candidate, situation: Situation) -> float:
    """Return best · rise(relevance / best) · value, −0.5 to 0.5 times the best relevance."""
    if candidate.memory.category != "experience" or situation.best <= 0:
        return 0.0
    share = candidate.similarity / situation.best
    rise = max(0.0, (share - OUTCOME_FROM) / (1.0 - OUTCOME_FROM))
    return situation.best * rise * OUTCOME_VALUES[candidate.memory.outcome]


def _match(candidate: Candidate, situation: Situation) -> float:
    """Return relevance · mean of task type match and share of the tags, of those given."""
    given = bool(situation.task_type) + bool(situation.tags)
    if not given:
        return 0.0
    both = _task_type(candidate, situation) + _tags(candidate, situation)
    return candidate.similarity * both / given


_TERMS: Mapping[Term, _Factor] = {
    "similarity": lambda candidate, _: candidate.similarity,
    "vector": lambda candidate, _: candidate.relevance.vector,
    "keyword": lambda candidate, _: candidate.relevance.keyword,
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


_MULTIPLIERS: Mapping[Multiplier, _Factor] = {
    "age": _age,
    "tag_boost": _tag_boost,
    "semantic_confidence": _semantic_confidence,
}


def _meanings(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    return [candidate.relevance.meaning for candidate in candidates]


def _words(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    return [candidate.relevance.words for candidate in candidates]


def _neighbors(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    return [candidate.relevance.neighbor for candidate in candidates]


def _matches(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    if not (situation.task_type or situation.tags):
        return [0.0] * len(candidates)
    return [_match(candidate, situation) for candidate in candidates]


def _trusts(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    """Return relevance · (confidence now − 0.7)."""
    memories = (candidate.memory for candidate in candidates)
    confidences = ranked_confidences(memories, situation.now, situation.profile.lifecycle)
    return [
        candidate.similarity * (confidence - NEUTRAL_CONFIDENCE)
        for candidate, confidence in zip(candidates, confidences, strict=True)
    ]


def _weights(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    """Return relevance · (importance − 0.5)."""
    return [
        candidate.similarity * (candidate.memory.importance - NEUTRAL_IMPORTANCE)
        for candidate in candidates
    ]


def _freshnesses(candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    """Return relevance · (recency − 1): what is new loses nothing."""
    profile, now = situation.profile, situation.now
    half_life, slow = profile.half_life_days, profile.slow
    column = []
    for memory, _, similarity in candidates:
        age = days_between(memory.event_time, now)
        recency = half_life_weight(age, half_life * slow.get(memory.category, 1.0))
        column.append(similarity * (recency - 1.0))
    return column


_COLUMNS: Mapping[Term, Callable[[Sequence[Candidate], Situation], list[float]]] = {
    "meaning": _meanings,
    "words": _words,
    "neighbor": _neighbors,
    "match": _matches,
    "trust": _trusts,
    "weight": _weights,
    "freshness": _freshnesses,
}
"""The same for all candidates at once, for what every query with the default profile asks."""


def score(candidates: Sequence[Candidate], situation: Situation) -> list[Retrieved]:
    """Rank `candidates`, best first; equal scores keep the order they came in."""
    best = max((candidate.similarity for candidate in candidates), default=0.0)
    situation = replace(situation, best=best)
    profile = situation.profile
    names = [term for term, weight in profile.add.items() if weight]
    columns = [_column(term, candidates, situation) for term in names]
    rows = zip(*columns, strict=True) if columns else [()] * len(candidates)
    multipliers = [(f"×{name}", _MULTIPLIERS[name]) for name in profile.multiply]
    scored = []
    for candidate, row in zip(candidates, rows, strict=True):
        factors: dict[str, float] = dict(zip(names, row, strict=True))
        total = sum(row)
        for name, factor in multipliers:
            value = factors[name] = factor(candidate, situation)
            total *= value
        strength = candidate.relevance.strength
        scored.append(Retrieved(candidate.memory, total, factors, strength))
    scored.sort(key=lambda result: -result.score)
    return scored


def _column(term: Term, candidates: Sequence[Candidate], situation: Situation) -> list[float]:
    """Return one weighted factor of every candidate."""
    weight, all_at_once = situation.profile.add[term], _COLUMNS.get(term)
    if all_at_once is not None:
        return [weight * value for value in all_at_once(candidates, situation)]
    factor = _TERMS[term]
    return [weight * factor(candidate, situation) for candidate in candidates]
