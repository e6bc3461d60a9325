"""Steps that an agent repeats without change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_core.steps import Step

__all__ = ["Loop", "find_loops"]

_LONGEST_PERIOD = 6


@dataclass(frozen=True, slots=True)
class Loop:
    """A group of steps that comes again at once, without change.

    Attributes:
        after: Position of the last step of the first round.
        period: Steps in one round.
        count: Further rounds.
        repeated: Positions of the steps in the further rounds.
    """

    after: int
    period: int
    count: int
    repeated: range


def find_loops(steps: Sequence[Step]) -> tuple[Loop, ...]:
    """Return the loops in `steps`, each round of at most six steps.

    Two steps are equal if everything but ids and times is. A single step said twice is no loop;
    three times is.
    """
    marks = [_mark(step) for step in steps]
    loops: list[Loop] = []
    position = 0
    while position < len(marks):
        loop = _loop_at(marks, position)
        if loop is None:
            position += 1
        else:
            loops.append(loop)
            position = loop.repeated.stop
    return tuple(loops)


def _loop_at(marks: Sequence[int], start: int) -> Loop | None:
    for period in range(1, _LONGEST_PERIOD + 1):
        end = start + period
        while end < len(marks) and marks[end] == marks[end - period]:
            end += 1
        count = (end - start) // period - 1
        if count >= 2 or (count == 1 and period >= 2):
            first = start + period
            return Loop(first - 1, period, count, range(first, first + count * period))
    return None


def _mark(step: Step) -> int:
    calls = tuple(
        (call.name, json.dumps(dict(call.arguments), sort_keys=True, default=str))
        for call in step.tool_calls
    )
    return hash((step.kind, step.agent, step.text, calls, step.tool_name, step.is_error))
