"""What outcomes and feedback do to the confidence in a memory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hindsight_core.lifecycle.decay import counted_outcomes
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Change, Memory
from hindsight_core.trajectory import OUTCOME_SOURCES, Outcome, OutcomeSource

__all__ = [
    "ROLLED_BACK", "credit_reason", "credited", "earlier_credit", "judged", "recredited",
    "source_weight",
]  # fmt: skip

ROLLED_BACK = "rolled back"
"""How the reason of every change begins that takes back what a run did."""

_REASON = re.compile(r"^(success|failure) of (\S.*), says (\w+)$")


def credited(memory: Memory, outcome: Outcome, lifecycle: Lifecycle) -> Memory:
    """Return `memory` after a run that had it in its brief ended with `outcome`.

    What an outcome counts is w, the profile's weight of its source. With the policy
    `additive`, success adds w · `success_gain` up to `success_cap`, and failure takes
    w · `failure_loss` down to `failure_floor`; a confidence that is already past the bound
    stays where it is. With `beta`, confidence is the mean of a Beta distribution whose prior
    is worth `prior_weight` outcomes: (n · confidence + w · y) / (n + w), y = 1 for success and
    0 for failure, where n is the prior and the outcomes so far, at most `counted_outcomes`.
    Other outcomes say nothing about a memory and leave it alone.
    """
    if outcome.label not in {"success", "failure"}:
        return memory
    good = outcome.label == "success"
    return replace(
        memory,
        confidence=_moved(memory, good, source_weight(outcome, lifecycle), lifecycle),
        success_count=memory.success_count + good,
        failure_count=memory.failure_count + (not good),
    )


def source_weight(outcome: Outcome, lifecycle: Lifecycle) -> float:
    """Return what `outcome` counts, 0–1, by who says so."""
    return lifecycle.source_weights[OUTCOME_SOURCES.index(outcome.source)]


def _moved(memory: Memory, good: bool, weight: float, lifecycle: Lifecycle) -> float:
    """Return the confidence after one outcome."""
    confidence = memory.confidence
    if lifecycle.credit == "beta":
        counted = counted_outcomes(memory, lifecycle)
        return (confidence * counted + weight * good) / (counted + weight)
    if good:
        raised = min(lifecycle.success_cap, confidence + weight * lifecycle.success_gain)
        return max(confidence, raised)
    lowered = max(lifecycle.failure_floor, confidence - weight * lifecycle.failure_loss)
    return min(confidence, lowered)


def recredited(
    memory: Memory, changes: Iterable[Change], outcome: Outcome, run_id: str, lifecycle: Lifecycle
) -> Memory:
    """Return `memory` credited once for `run_id`, whoever said what about it before.

    The same or a less trusted verdict about a run changes nothing. A more trusted one takes
    back what the earlier one did and then counts itself.
    """
    earlier = earlier_credit(changes, run_id)
    if earlier is None:
        return credited(memory, outcome, lifecycle)
    if outcome.label == earlier.label or outcome.trust < earlier.trust:
        return memory
    return credited(_taken_back(memory, earlier, lifecycle), outcome, lifecycle)


def judged(
    memory: Memory, *, helpful: bool, lifecycle: Lifecycle, source: OutcomeSource = "user"
) -> Memory:
    """Return `memory` after somebody said that it is right or wrong.

    A person's or a validator's "wrong" multiplies the confidence by `wrong_factor` at once;
    an agent's own is one failure, weighted by its trust. "Right" is worth as much as a success.
    """
    if helpful:
        return credited(memory, Outcome("success", source), lifecycle)
    if source not in {"user", "validator"}:
        return credited(memory, Outcome("failure", source), lifecycle)
    return replace(
        memory,
        confidence=memory.confidence * lifecycle.wrong_factor,
        failure_count=memory.failure_count + 1,
    )


def credit_reason(outcome: Outcome, run_id: str) -> str:
    """Return the reason under which a credit stands in a memory's history."""
    return f"{outcome.label} of {run_id}, says {outcome.source}"


def earlier_credit(changes: Iterable[Change], run_id: str) -> Outcome | None:
    """Return the last verdict about `run_id` that a history holds, `None` if there is none."""
    found = None
    for change in changes:
        if change.run_id == run_id and change.reason.startswith(ROLLED_BACK):
            found = None
        # Several reasons of one write are joined by semicolons.
        for reason in change.reason.split("; "):
            match = _REASON.match(reason)
            if match and match[2] == run_id and match[3] in OUTCOME_SOURCES:
                found = Outcome(match[1], match[3])  # type: ignore[arg-type]  # matched above
    return found


def _taken_back(memory: Memory, outcome: Outcome, lifecycle: Lifecycle) -> Memory:
    good = outcome.label == "success"
    weight = source_weight(outcome, lifecycle)
    without = replace(
        memory,
        success_count=max(0, memory.success_count - good),
        failure_count=max(0, memory.failure_count - (not good)),
    )
    if lifecycle.credit == "beta":
        counted = counted_outcomes(without, lifecycle)
        confidence = (memory.confidence * (counted + weight) - weight * good) / counted
    elif good:
        confidence = memory.confidence - weight * lifecycle.success_gain
    else:
        confidence = memory.confidence + weight * lifecycle.failure_loss
    return replace(without, confidence=min(1.0, max(0.0, confidence)))
