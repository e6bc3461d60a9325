"""Fading, computed when a memory is read; nothing sweeps the store to age it.

Ages clamp at 0, so that a clock set back or a time from the future never makes a factor
leave 0–1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory

__all__ = [
    "bound_confidence", "counted_outcomes", "days_between", "faded_confidence",
    "half_life_weight", "idle_days", "ranked_confidence", "ranked_confidences",
]  # fmt: skip

_SECONDS_PER_DAY = 86_400.0


def days_between(earlier: datetime, later: datetime) -> float:
    """Return the days from `earlier` to `later`, 0 if `later` is not later."""
    return max(0.0, (later - earlier).total_seconds() / _SECONDS_PER_DAY)


def idle_days(memory: Memory, now: datetime) -> float:
    """Return the days since `memory` last went into a brief, or was stored."""
    return days_between(memory.last_accessed_at or memory.created_at, now)


def half_life_weight(age_days: float, half_life_days: float) -> float:
    """Return 2^(−age / half-life), 1 when new, 0.5 after one half-life."""
    return math.pow(0.5, age_days / half_life_days)


def counted_outcomes(memory: Memory, lifecycle: Lifecycle) -> float:
    """Return how many outcomes the confidence of the `beta` policy rests on, prior included."""
    seen = lifecycle.prior_weight + memory.success_count + memory.failure_count
    return min(seen, lifecycle.counted_outcomes)


def bound_confidence(memory: Memory, lifecycle: Lifecycle) -> float:
    """Return the confidence that memories are ranked by, not yet faded.

    With `beta` the lower bound of the Beta distribution, mean − `bound_width` · its standard
    deviation √(mean · (1 − mean) / (n + 1)), at least 0; else the confidence itself.
    """
    mean = memory.confidence
    if lifecycle.credit != "beta":
        return mean
    spread = math.sqrt(mean * (1.0 - mean) / (counted_outcomes(memory, lifecycle) + 1.0))
    return max(0.0, mean - lifecycle.bound_width * spread)


def faded_confidence(memory: Memory, now: datetime, lifecycle: Lifecycle) -> float:
    """Return the confidence in `memory` at `now`, faded by the days without use.

    confidence · idle_factor^(idle / idle_days) − idle_step · idle / idle_days, at least 0.
    """
    return _faded(memory.confidence, memory, now, lifecycle)


def ranked_confidence(memory: Memory, now: datetime, lifecycle: Lifecycle) -> float:
    """Return what `memory` is ranked by: as `faded_confidence`, of the lower bound."""
    return _faded(bound_confidence(memory, lifecycle), memory, now, lifecycle)


def ranked_confidences(
    memories: Iterable[Memory], now: datetime, lifecycle: Lifecycle
) -> list[float]:
    """Return `ranked_confidence` of each; a query asks for a hundred, so in one loop."""
    beta, most, width = (
        lifecycle.credit == "beta",
        lifecycle.counted_outcomes,
        lifecycle.bound_width,
    )
    prior, factor, step = lifecycle.prior_weight, lifecycle.idle_factor, lifecycle.idle_step
    ranked = []
    for memory in memories:
        bound = memory.confidence
        if beta:
            seen = prior + memory.success_count + memory.failure_count
            spread = math.sqrt(bound * (1.0 - bound) / ((seen if seen < most else most) + 1.0))
            bound = max(0.0, bound - width * spread)
        idle = (now - (memory.last_accessed_at or memory.created_at)).total_seconds()
        if idle > 0.0:
            periods = idle / _SECONDS_PER_DAY / lifecycle.idle_days
            bound = max(0.0, bound * math.pow(factor, periods) - step * periods)
        ranked.append(bound)
    return ranked


def _faded(confidence: float, memory: Memory, now: datetime, lifecycle: Lifecycle) -> float:
    used = memory.last_accessed_at or memory.created_at
    periods = days_between(used, now) / lifecycle.idle_days
    kept = math.pow(lifecycle.idle_factor, periods)
    return max(0.0, confidence * kept - lifecycle.idle_step * periods)
