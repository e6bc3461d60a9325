"""What fits into a session's window: the newest steps, calls and results kept together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hindsight_core.runs.codec import json_safe
from hindsight_core.steps import Step

__all__ = ["CUT_MARK", "Held", "fit", "hold"]

CUT_MARK = " […]"
"""Ends a text that was cut."""


@dataclass(frozen=True, slots=True)
class Held:
    """One step with its size.

    Attributes:
        step: The step.
        tokens: Its tokens, with the names and arguments of its calls.
    """

    step: Step
    tokens: int


def hold(step: Step, limit: int, count_tokens: Callable[[str], int]) -> Held:
    """Return `step` with its size, cut to `limit` tokens where cutting its text achieves that."""
    tokens = count_tokens(_weighed(step))
    text = step.text
    while tokens > limit and text:
        # A few rounds at most: each keeps the share that should fit, and never more than half.
        text = text[: min(len(text) * limit // (tokens + 1), len(text) // 2)]
        step = replace(step, text=text + CUT_MARK)
        tokens = count_tokens(_weighed(step))
    return Held(step, tokens)


def fit(steps: Sequence[Held], limit: int) -> tuple[Held, ...]:
    """Return the newest of `steps` that fit into `limit` tokens together.

    The oldest goes first, a call with all its results; results without their call go too. A
    single call whose results do not fit keeps the newest of them.
    """
    groups = list(_groups(steps).values())
    total = sum(held.tokens for group in groups for held in group)
    while groups and total > limit:
        # Of the newest call, its older results go before the call itself does.
        group = groups[0]
        gone = group[1:2] if len(groups) == 1 and len(group) > 1 else groups.pop(0)
        total -= sum(held.tokens for held in gone)
        if gone is not group:
            del group[1]
    left = {id(held) for group in groups for held in group}
    return tuple(held for held in steps if id(held) in left)


def _groups(steps: Sequence[Held]) -> dict[int, list[Held]]:
    """Group each call with its results, by the position of the first of them."""
    groups: dict[int, list[Held]] = {}
    callers: dict[str, int] = {}
    for position, held in enumerate(steps):
        step = held.step
        if step.kind == "tool_result":
            caller = callers.get(step.tool_call_id)
            if caller is not None:
                groups[caller].append(held)
            continue
        groups[position] = [held]
        callers |= {call.id: position for call in step.tool_calls if call.id}
    return groups


def _weighed(step: Step) -> str:
    calls = [
        f"{call.name} {json.dumps(json_safe(call.arguments), ensure_ascii=False)}"
        for call in step.tool_calls
    ]
    return "\n".join([step.text, *calls, step.tool_name])
