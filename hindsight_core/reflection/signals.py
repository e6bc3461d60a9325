"""How much a lesson matters, from signals that need no model to see.

The weights are those of the described system: a preference 0.4, a success 0.3, something new
0.2, a correction 0.3, at most 1. What reaches 0.6 counts as important.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["IMPORTANT", "Signals", "importance_of", "is_important"]

IMPORTANT = 0.6
"""Importance from which on something counts as important."""

PREFERENCE_WEIGHT = 0.4
SUCCESS_WEIGHT = 0.3
NEW_ENTITY_WEIGHT = 0.2
CORRECTION_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Signals:
    """What was seen in a run or in a part of it.

    Attributes:
        preference: The user stated a lasting preference.
        success: The run succeeded.
        new_entity: Something was named that is not in memory yet.
        correction: The user corrected the agent.
    """

    preference: bool = False
    success: bool = False
    new_entity: bool = False
    correction: bool = False


def importance_of(signals: Signals) -> float:
    """Return the importance in 0–1: the sum of the weights of the signals, at most 1."""
    total = (
        PREFERENCE_WEIGHT * signals.preference
        + SUCCESS_WEIGHT * signals.success
        + NEW_ENTITY_WEIGHT * signals.new_entity
        + CORRECTION_WEIGHT * signals.correction
    )
    return min(1.0, round(total, 6))


def is_important(importance: float) -> bool:
    """Whether `importance` reaches the threshold of 0.6."""
    return importance >= IMPORTANT
