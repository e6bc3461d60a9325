"""The text of a run for a model: its decision points, in a fraction of its tokens.

What decides a run is kept first: the task, errors, the final answer and the outcome; then what
people said, the calls around an error, other calls, results, and the rest. Detail is added in
that order until the allowance is spent, so the result never passes the budget.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_core.embedding.base import TokenCounter
from hindsight_core.reflection.excerpts import Passage, excerpt, passage_of, telling_line
from hindsight_core.reflection.loops import Loop, find_loops
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Trajectory

__all__ = ["LONG_RUN_SHARE", "SHORT_RUN_TOKENS", "compress"]

SHORT_RUN_TOKENS = 1_200
"""A run of at most so many tokens is given whole, if the budget allows."""

LONG_RUN_SHARE = 0.25
"""Share of its tokens that a longer run is brought to."""

_LIMITS = {"key": (300, 1_000, 4_000), "error": (240, 600, 2_000), "other": (100, 400, 3_000)}
_ARGUMENT_LIMITS = (80, 300, 1_500)
_SAMPLE_LENGTH = 20_000
_KEY, _ERROR, _TURN, _CALL, _RESULT, _ASIDE = range(6)


@dataclass(frozen=True, slots=True)
class _Piece:
    position: int
    priority: int
    versions: tuple[str, str, str]
    length: int


def compress(trajectory: Trajectory, *, budget_tokens: int, count_tokens: TokenCounter) -> str:
    """Return the text of a run, every step with its position in brackets.

    Runs of up to `SHORT_RUN_TOKENS` are given whole; longer ones are brought to
    `LONG_RUN_SHARE` of their tokens. Outputs are cut with a note of their size, encoded data
    is replaced by one, and loops are folded with a count. A call without a result says so, and
    what a sub-agent did is labeled with its name.

    Args:
        trajectory: The run, redacted, with recalled blocks stripped.
        budget_tokens: Most tokens of the result, by `count_tokens`.
        count_tokens: The counter; it is never given more than some kilobytes of one step.

    Returns:
        The text; `""` if not even one step fits.
    """
    pieces = _pieces(trajectory)
    allowance = _allowance(pieces, budget_tokens, count_tokens)
    for _ in range(6):
        text = _fill(pieces, allowance, count_tokens)
        tokens = count_tokens(text)
        if text and tokens <= budget_tokens:
            return text
        if not text:
            break
        allowance = int(allowance * min(budget_tokens / tokens, 1.0) * 0.95)
    return _cut_to_fit(pieces, budget_tokens, count_tokens)


def _allowance(pieces: Sequence[_Piece], budget: int, count_tokens: TokenCounter) -> int:
    sample = "\n".join(piece.versions[2] for piece in pieces)[:_SAMPLE_LENGTH]
    if not sample:
        return budget
    whole = sum(piece.length for piece in pieces) * count_tokens(sample) / len(sample)
    if whole <= SHORT_RUN_TOKENS:
        return budget
    return min(budget, max(SHORT_RUN_TOKENS, int(whole * LONG_RUN_SHARE)))


def _fill(pieces: Sequence[_Piece], allowance: int, count_tokens: TokenCounter) -> str:
    """Take pieces in order of priority, then give them more detail, while they fit."""
    chosen: dict[int, int] = {}
    costs: dict[int, int] = {}
    last = len(pieces) - 1
    order = sorted(
        range(len(pieces)), key=lambda i: (pieces[i].priority, min(i, last - i), pieces[i].position)
    )
    left = allowance - count_tokens(_left_out(len(pieces), len(pieces))) - 1
    for level in range(3):
        for index in order:
            if level and chosen.get(index) != level - 1:
                continue
            cost = count_tokens(pieces[index].versions[level]) + 1
            if cost - costs.get(index, 0) <= left:
                left -= cost - costs.get(index, 0)
                chosen[index], costs[index] = level, cost
    lines = [pieces[index].versions[chosen[index]] for index in sorted(chosen)]
    if lines and len(chosen) < len(pieces):
        lines.append(_left_out(len(pieces) - len(chosen), len(pieces)))
    return "\n".join(lines)


def _cut_to_fit(pieces: Sequence[_Piece], budget: int, count_tokens: TokenCounter) -> str:
    """Cut even the shortest form of what matters most, for budgets of a few tokens."""
    order = sorted(pieces, key=lambda piece: (piece.priority, piece.position))
    text = order[0].versions[0] if order else ""
    while text and count_tokens(text) > budget:
        text = text[: len(text) // 2]
    return text


def _left_out(count: int, total: int) -> str:
    return f"({count} of {total} entries left out for length)"


def _pieces(trajectory: Trajectory) -> tuple[_Piece, ...]:
    steps = trajectory.steps
    folded = find_loops(steps)
    final = _final_answer(steps)
    hidden = {position for loop in folded for position in loop.repeated} - {final}
    priorities = _priorities(steps, final)
    calls = _CallIndex(steps)
    pieces = [] if _says_the_task(trajectory) else [_headline("task", trajectory.task, -1)]
    loops = {loop.after: loop for loop in folded}
    for position, step in enumerate(steps):
        if position not in hidden:
            pieces.append(_step_piece(position, step, priorities[position], calls, final))
        if position in loops:
            pieces.append(_loop_piece(loops[position]))
    pieces.append(_outcome_piece(trajectory))
    return tuple(piece for piece in pieces if piece.versions[0])


def _says_the_task(trajectory: Trajectory) -> bool:
    return not trajectory.task or any(
        step.kind == "user" and not step.agent and step.text == trajectory.task
        for step in trajectory.steps
    )


def _final_answer(steps: Sequence[Step]) -> int:
    return next(
        (
            position
            for position in range(len(steps) - 1, -1, -1)
            if steps[position].kind == "assistant"
            and not steps[position].agent
            and steps[position].text.strip()
        ),
        -1,
    )


def _priorities(steps: Sequence[Step], final: int) -> list[int]:
    """Rank steps; calls that failed and calls that mended a failure count as turns."""
    ranks = [_rank(step) for step in steps]
    caller = {call.id: position for position, step in enumerate(steps) for call in step.tool_calls}
    failed: set[str] = set()
    for position, step in enumerate(steps):
        if step.kind != "tool_result":
            continue
        if step.is_error:
            failed.add(step.tool_name)
        elif step.tool_name in failed:
            failed.discard(step.tool_name)
            ranks[position] = _TURN
        else:
            continue
        if step.tool_call_id in caller:
            ranks[caller[step.tool_call_id]] = _TURN
    task = next((i for i, step in enumerate(steps) if step.kind == "user" and not step.agent), -1)
    for position in {task, final} - {-1}:
        ranks[position] = _KEY
    return ranks


def _rank(step: Step) -> int:
    if step.kind == "error" or step.is_error:
        return _ERROR
    if step.kind == "user" and not step.agent:
        return _TURN
    if step.tool_calls:
        return _CALL
    return _RESULT if step.kind in ("tool_result", "assistant") and not step.agent else _ASIDE


class _CallIndex:
    """Which calls were answered, and the letters of calls made side by side."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._answered = {step.tool_call_id for step in steps if step.kind == "tool_result"}
        self._marks = {
            call.id: f"({number}) "
            for step in steps
            if len(step.tool_calls) > 1
            for number, call in enumerate(step.tool_calls, start=1)
        }
        self._known = {call.id for step in steps for call in step.tool_calls}

    def mark(self, call_id: str) -> str:
        """Return `(2) ` for the second of several calls, `""` for a single one."""
        return self._marks.get(call_id, "")

    def render(self, call: ToolCall, limit: int) -> str:
        """Return one call with its arguments."""
        text = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
        arguments = excerpt(passage_of(text), limit)
        missing = "" if call.id in self._answered else " → no result recorded"
        return f"{self.mark(call.id)}{call.name or 'a tool'}({arguments}){missing}"

    def name_of(self, step: Step) -> str:
        """Return how the answer of `step` is introduced."""
        name = step.tool_name or "a tool"
        if step.tool_call_id in self._known:
            return f"{self.mark(step.tool_call_id)}{name}"
        return f"{name} (call not recorded)"


def _step_piece(position: int, step: Step, priority: int, calls: _CallIndex, final: int) -> _Piece:
    said = passage_of(step.text)
    limits = _LIMITS[{_KEY: "key", _TURN: "key", _ERROR: "error"}.get(priority, "other")]
    label = f"[{position}] " + (f"sub-agent {step.agent}: " if step.agent else "")
    short, middle, long = (
        _say(step, said, limits[level], _ARGUMENT_LIMITS[level], calls, position == final)
        for level in range(3)
    )
    versions = (label + short, label + middle, label + long) if short else ("", "", "")
    return _Piece(position, priority, versions, max(len(versions[2]), said.size))


def _say(
    step: Step, passage: Passage, limit: int, argument_limit: int, calls: _CallIndex, is_final: bool
) -> str:
    if step.kind == "tool_result":
        return _result(step, passage, limit, calls)
    if step.kind == "error":
        return f"error: {_failure(passage, limit)}"
    said = f"{_speaker(step, is_final)}: {excerpt(passage, limit)}" if passage.size else ""
    if not step.tool_calls:
        return said
    asked = "; ".join(calls.render(call, argument_limit) for call in step.tool_calls)
    return f"{said} → calls {asked}" if said else f"calls {asked}"


def _speaker(step: Step, is_final: bool) -> str:
    if is_final:
        return "final answer"
    if step.kind == "user" and step.agent:
        return "asked by the agent above it"
    return {"system": "instructions to the agent"}.get(step.kind, step.kind)


def _result(step: Step, passage: Passage, limit: int, calls: _CallIndex) -> str:
    name = calls.name_of(step)
    if step.is_error:
        return f"{name} failed: {_failure(passage, limit)}"
    return f"{name} returned: {excerpt(passage, limit) if passage.size else 'nothing'}"


def _failure(passage: Passage, limit: int) -> str:
    """Return an error's text; where it is long, the line that names the error comes first."""
    if passage.size <= limit:
        return passage.text or "no message"
    line = excerpt(passage_of(telling_line(passage.text)), limit * 2 // 3)
    return f"{line} | {excerpt(passage, limit // 3)}"


def _headline(label: str, text: str, position: int) -> _Piece:
    passage = passage_of(text)
    short, middle, long = (f"{label}: {excerpt(passage, limit)}" for limit in _LIMITS["key"])
    return _Piece(position, _KEY, (short, middle, long), passage.size)


def _loop_piece(loop: Loop) -> _Piece:
    span = f"[{loop.repeated[0]}–{loop.repeated[-1]}]"
    what = "the step before" if loop.period == 1 else f"the {loop.period} steps before"
    text = f"{span} {what}, repeated {loop.count} more times without change"
    return _Piece(loop.repeated[0], _TURN, (text, text, text), len(text))


def _outcome_piece(trajectory: Trajectory) -> _Piece:
    outcome = trajectory.outcome
    said = f"{outcome.label} (says {outcome.source})"
    reason = f": {outcome.reason}" if outcome.reason.strip() else ""
    return _headline("outcome", said + reason, len(trajectory.steps))
