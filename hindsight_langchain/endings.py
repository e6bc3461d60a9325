"""How a run ended: which event means which outcome.

A run that ended is not a run that succeeded: without a validator, a finished run is `unknown`.
Exceptions of LangGraph are told by their names, so that it need not be installed.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from hindsight_core.content import clean_text, clean_value
from hindsight_core.cutting import clipped
from hindsight_core.trajectory import OUTCOME_LABELS, Outcome, Trajectory

__all__ = [
    "Ending",
    "Validator",
    "describe_call",
    "describe_error",
    "ending_of_error",
    "is_pause",
    "outcome_of",
    "says_step_limit",
    "validated",
]

Ending: TypeAlias = Literal[
    "finished", "failed", "paused", "step_limit", "abandoned", "cancelled", "lost"
]
Validator: TypeAlias = Callable[[Trajectory], Any]
"""Judges a finished run: an `Outcome`, an outcome's label, true or false, `None` for no verdict."""

LONGEST_REASON = 500
_STEP_LIMITS = frozenset(
    {"GraphRecursionError", "ModelCallLimitExceededError", "ToolCallLimitExceededError"}
)
_STEP_LIMIT_TEXT = re.compile(
    r"agent stopped due to (?:iteration limit|time limit|max iterations)"
    r"|sorry, need more steps to process this request"
    r"|(?:model|tool) call limits? (?:exceeded|reached)",
    re.IGNORECASE,
)


def is_pause(error: BaseException) -> bool:
    """Whether an exception is how a graph pauses, not a failure."""
    return _is_named(error, {"GraphBubbleUp"})


def ending_of_error(error: BaseException) -> Ending:
    """Return how a run ended that ended with an exception."""
    if isinstance(error, GeneratorExit):
        return "abandoned"
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
        return "cancelled"
    if _is_named(error, _STEP_LIMITS):
        return "step_limit"
    return "paused" if is_pause(error) else "failed"


def says_step_limit(answer: str) -> bool:
    """Whether an answer is the fixed text with which a framework stops a run at a limit."""
    return len(answer) <= 300 and _STEP_LIMIT_TEXT.search(answer) is not None


def outcome_of(ending: Ending, reason: str = "") -> Outcome:
    """Return the outcome of a run by how it ended."""
    if ending == "failed":
        return Outcome("failure", "exception", reason)
    if ending == "step_limit":
        return Outcome("incomplete", "exception", reason or "stopped at the step limit")
    if ending == "paused":
        return Outcome("incomplete", "rule", reason or "paused and not resumed")
    if ending == "abandoned":
        return Outcome("abandoned", "rule", reason or "the caller stopped reading the stream")
    if ending == "cancelled":
        return Outcome("abandoned", "exception", reason or "cancelled")
    if ending == "lost":
        return Outcome("abandoned", "rule", reason or "no end of the run was seen")
    return Outcome("unknown", "rule", reason)


def validated(verdict: Any) -> Outcome | None:
    """Return what a validator said as an outcome, `None` for no verdict.

    Raises:
        ValueError: If it said something else.
    """
    if verdict is None or isinstance(verdict, Outcome):
        return verdict
    if isinstance(verdict, bool):
        return Outcome("success" if verdict else "failure", "validator")
    for label in OUTCOME_LABELS:
        if verdict == label:
            return Outcome(label, "validator")
    raise ValueError(
        f"the validator returned {verdict!r}; return an Outcome, one of "
        f"{', '.join(OUTCOME_LABELS)}, True, False or None"
    )


def describe_error(error: BaseException) -> str:
    """Return an exception as one line, its type first."""
    said = " ".join(clean_text(str(error)).split())
    return _short(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def describe_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a tool call as one line, `name(argument=value, …)`."""
    shown = ", ".join(
        f"{key}={json.dumps(clean_value(value), ensure_ascii=False)}"
        for key, value in arguments.items()
    )
    return _short(f"{name}({shown})")


def _is_named(error: BaseException, names: set[str] | frozenset[str]) -> bool:
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _short(text: str) -> str:
    return clipped(text, LONGEST_REASON)
