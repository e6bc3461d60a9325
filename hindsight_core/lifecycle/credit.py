"""What outcomes and feedback do to the confidence in a memory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hindsight_core.models import Change, Memory
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.trajectory import OUTCOME_SOURCES, Outcome

__all__ = ["ROLLED_BACK", "credit_reason", "credited", "earlier_credit", "judged", "recredited"]

ROLLED_BACK = "rolled back"
"""How the reason of every change begins that takes back what a run did."""

_REASON = re.compile(r"^(success|failure) of (\S.*), says (\w+)$")


def credited(memory: Memory, outcome: Outcome, lifecycle: Lifecycle) -> Memory:
    """Return `memory` after a run that had it in its brief ended with `outcome`.

    Success adds `success_gain` up to `success_cap`, failure takes `failure_loss` down to
    `failure_floor`; a confidence that is already past the bound stays where it is. Other
    outcomes say nothing about a memory and leave it alone.
    """
    if outcome.label == "success":
        raised = min(lifecycle.success_cap, memory.confidence + lifecycle.success_gain)
        return replace(
            memory,
            confidence=max(memory.confidence, raised),
            success_count=memory.success_count + 1,
        )
    if outcome.label == "failure":
        lowered = max(lifecycle.failure_floor, memory.confidence - lifecycle.failure_loss)
        return replace(
            memory,
            confidence=min(memory.confidence, lowered),
            failure_count=memory.failure_count + 1,
        )
    return memory


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


def judged(memory: Memory, *, helpful: bool, lifecycle: Lifecycle) -> Memory:
    """Return `memory` after a person said that it is right or wrong.

    "Wrong" multiplies the confidence by `wrong_factor` at once; "right" is worth as much as
    a success.
    """
    if helpful:
        return credited(memory, Outcome("success", "user"), lifecycle)
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
    if outcome.label == "success":
        return replace(
            memory,
            confidence=max(0.0, memory.confidence - lifecycle.success_gain),
            success_count=max(0, memory.success_count - 1),
        )
    return replace(
        memory,
        confidence=min(1.0, memory.confidence + lifecycle.failure_loss),
        failure_count=max(0, memory.failure_count - 1),
    )
