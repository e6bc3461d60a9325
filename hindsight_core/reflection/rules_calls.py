"""The calls of a run paired with their results, in the order in which they were asked for."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_core.reflection.rules_errors import error_of
from hindsight_core.steps import Step, ToolCall

__all__ = ["Attempt", "attempts_of", "is_silent"]

SILENT_TOOLS = frozenset(
    {"think", "thought", "thinking", "reflect", "plan", "sleep", "wait", "pause", "note"}
)
"""Tools that change nothing and tell nothing, so that they stand between no two calls."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call and what came of it.

    Attributes:
        order: Position among the calls of the run, from 0.
        call_step: Position of the step that asked for it, `-1` for a result without a call.
        result_step: Position of its result, `-1` where none was recorded.
        turn: How many things people had said before it.
        tool: The tool's name.
        arguments: The arguments.
        key: Equal for identical calls.
        outcome: Equal for identical results.
        error: What went wrong in one line, `""` if nothing did.
    """

    order: int
    call_step: int
    result_step: int
    turn: int
    tool: str
    arguments: Mapping[str, Any]
    key: str
    outcome: str
    error: str

    @property
    def steps(self) -> tuple[int, ...]:
        """Positions of the call and its result."""
        return tuple(p for p in (self.call_step, self.result_step) if p >= 0)

    @property
    def worked(self) -> bool:
        """Whether a result was recorded and reports no failure."""
        return self.result_step >= 0 and not self.error


def attempts_of(steps: Sequence[Step]) -> tuple[Attempt, ...]:
    """Return the calls of a run with their results.

    Results are paired by call id; one without an id goes to the oldest open call of its tool.
    """
    answers = _answers(steps)
    attempts: list[Attempt] = []
    turn = 0
    for position, step in enumerate(steps):
        if step.kind == "user" and not step.agent:
            turn += 1
        for slot, call in enumerate(step.tool_calls):
            answer = answers.get((position, slot), -1)
            attempts.append(_attempt(len(attempts), position, answer, turn, call, steps))
    return tuple(attempts)


def is_silent(tool: str) -> bool:
    """Whether a tool only thinks or waits."""
    return tool.lower() in SILENT_TOOLS


def _answers(steps: Sequence[Step]) -> dict[tuple[int, int], int]:
    """Map a call, as step and slot, to the position of its result."""
    by_id: dict[str, deque[tuple[int, int]]] = {}
    by_tool: dict[str, deque[tuple[int, int]]] = {}
    answers: dict[tuple[int, int], int] = {}
    for position, step in enumerate(steps):
        for slot, call in enumerate(step.tool_calls):
            place = (position, slot)
            by_id.setdefault(call.id, deque()).append(place)
            by_tool.setdefault(call.name, deque()).append(place)
        if step.kind != "tool_result":
            continue
        waiting = by_id.get(step.tool_call_id) if step.tool_call_id else by_tool.get(step.tool_name)
        while waiting and waiting[0] in answers:
            waiting.popleft()
        if waiting:
            answers[waiting.popleft()] = position
    return answers


def _attempt(
    order: int, call_step: int, result_step: int, turn: int, call: ToolCall, steps: Sequence[Step]
) -> Attempt:
    result = steps[result_step] if result_step >= 0 else None
    return Attempt(
        order=order,
        call_step=call_step,
        result_step=result_step,
        turn=turn,
        tool=call.name,
        arguments=call.arguments,
        key=_digest(call.name, _canonical(call.arguments)),
        outcome=_digest(result.text, str(result.is_error)) if result else "",
        error=error_of(result) if result else "",
    )


def _canonical(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return "\n".join(f"{name!r}" for name in arguments)


def _digest(*parts: str) -> str:
    joined = "\x00".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()
