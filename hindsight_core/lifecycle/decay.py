"""Fading, computed when a memory is read; nothing sweeps the store to age it.

Ages clamp at 0, so that a clock set back or a time from the future never makes a factor
leave 0–1.
"""

from __future__ import annotations

import math
from datetime import datetime

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory

__all__ = [
    "bound_confidence", "counted_outcomes", "days_between", "faded_confidence",
    "half_life_weight", "idle_days", "ranked_confidence",
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


def _faded(confidence: float, memory: Memory, now: datetime, lifecycle: Lifecycle) -> float:
    used = memory.last_accessed_at or memory.created_at
    periods = days_between(used, now) / lifecycle.idle_days
    kept = math.pow(lifecycle.idle_factor, periods)
    return max(0.0, confidence * kept - lifecycle.idle_step * periods)
