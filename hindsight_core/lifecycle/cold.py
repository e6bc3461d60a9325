"""Whether a memory should leave everyday use: expired, falsified, worthless or cold.

Pure: takes a memory, the present moment and the profile's thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from hindsight_core.lifecycle.decay import days_between, faded_confidence, idle_days
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory

__all__ = ["Leaving", "leaving", "left", "worth"]


@dataclass(frozen=True, slots=True)
class Leaving:
    """What should become of a memory, and why.

    Attributes:
        status: `forgotten`, or `archived`: out of everyday retrieval, searchable on demand.
        reason: Why, with the numbers.
    """

    status: Literal["archived", "forgotten"]
    reason: str


def leaving(memory: Memory, now: datetime, lifecycle: Lifecycle) -> Leaving | None:
    """Return what should become of an active memory, `None` if it stays.

    Expired and falsified memories are forgotten, as is what never mattered nor was recalled;
    what is merely cold is archived. Nothing is deleted; all of it can be restored.
    """
    if memory.valid_until is not None and memory.valid_until <= now:
        return Leaving("forgotten", f"expired at {memory.valid_until.isoformat()}")
    return (
        _falsified(memory, lifecycle)
        or _worthless(memory, now, lifecycle)
        or _cold(memory, now, lifecycle)
    )


def left(memory: Memory, verdict: Leaving) -> Memory:
    """Return `memory` after `verdict`."""
    return replace(memory, status=verdict.status)


def worth(memory: Memory, now: datetime, lifecycle: Lifecycle) -> float:
    """Return what a memory is worth keeping, 0–1: importance · confidence now."""
    return memory.importance * faded_confidence(memory, now, lifecycle)


def _falsified(memory: Memory, lifecycle: Lifecycle) -> Leaving | None:
    failures, successes = memory.failure_count, memory.success_count
    often = 0 < lifecycle.falsified_failures <= failures and failures > successes
    if not often or memory.confidence >= lifecycle.falsified_confidence:
        return None
    return Leaving(
        "forgotten",
        f"falsified: {failures} failures against {successes} successes, "
        f"confidence {memory.confidence:.2f} < {lifecycle.falsified_confidence:g}",
    )


def _worthless(memory: Memory, now: datetime, lifecycle: Lifecycle) -> Leaving | None:
    age = days_between(memory.created_at, now)
    if memory.access_count or memory.last_accessed_at is not None:
        return None
    if age <= lifecycle.forget_age_days or memory.importance >= lifecycle.forget_importance:
        return None
    return Leaving(
        "forgotten",
        f"importance {memory.importance:.2f} < {lifecycle.forget_importance:g}, never recalled "
        f"in {age:.0f} days",
    )


def _cold(memory: Memory, now: datetime, lifecycle: Lifecycle) -> Leaving | None:
    idle = idle_days(memory, now)
    if idle <= lifecycle.archive_idle_days:
        return None
    confidence = faded_confidence(memory, now, lifecycle)
    said = []
    if confidence < lifecycle.archive_confidence:
        said.append(f"confidence {confidence:.2f} < {lifecycle.archive_confidence:g}")
    if memory.importance < lifecycle.archive_importance:
        said.append(f"importance {memory.importance:.2f} < {lifecycle.archive_importance:g}")
    if not said and (lifecycle.archive_confidence or lifecycle.archive_importance):
        return None
    said.append(f"not used for {idle:.0f} days")
    return Leaving("archived", ", ".join(said))
