"""How a run ended, by what the framework says of its end.

| end | outcome |
| --- | --- |
| an answer was given | `unknown`: a run that ended is not a run that succeeded |
| the limit of iterations was reached, the time was up | `incomplete` |
| the task or the workflow was cancelled, the program was interrupted | `abandoned` |
| the reader of a stream stopped before its end | `abandoned` |
| no end was seen before recording stopped | `abandoned` |
| anything else was raised | `failure`, says the exception |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from workflows.errors import (
    WorkflowCancelledByUser,
    WorkflowRuntimeError,
    WorkflowTimeoutError,
)

from hindsight_core.content import clean_text
from hindsight_core.errors import ConfigurationError
from hindsight_core.trajectory import OUTCOME_LABELS, Outcome, OutcomeLabel, Trajectory

__all__ = [
    "ANSWERED",
    "CANCELLED",
    "LIMITED",
    "LOST",
    "UNREAD",
    "Validator",
    "outcome_of_error",
    "said_of_error",
    "verdict_of",
]

Validator: TypeAlias = Callable[[Trajectory], Outcome | OutcomeLabel | bool | None]
"""Tells how a finished run turned out, `None` for no verdict."""

ANSWERED = Outcome("unknown", "rule", "it ended with an answer that nobody judged")
CANCELLED = Outcome("abandoned", "rule", "the run was cancelled")
LIMITED = Outcome("incomplete", "rule", "the limit of iterations was reached")
LOST = Outcome("abandoned", "rule", "no end of the run was seen")
UNREAD = Outcome("abandoned", "rule", "the reader of the stream stopped before its end")

_STOPS = (
    asyncio.CancelledError,
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    WorkflowCancelledByUser,
)
_REASON_LENGTH = 500


def said_of_error(error: BaseException) -> str:
    """Return an error as one text, with its type."""
    text = clean_text(str(error)).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def outcome_of_error(error: BaseException) -> Outcome:
    """Return the outcome of a run that ended with `error`."""
    if isinstance(error, _STOPS):
        return Outcome("abandoned", "rule", f"the run was cancelled ({type(error).__name__})")
    if isinstance(error, WorkflowTimeoutError):
        return Outcome("incomplete", "rule", f"the time was up: {said_of_error(error)}")
    if isinstance(error, WorkflowRuntimeError) and "max iterations" in str(error).lower():
        return LIMITED
    return Outcome("failure", "exception", said_of_error(error)[:_REASON_LENGTH])


def verdict_of(said: Any) -> Outcome | None:
    """Return what a validator said as an outcome, `None` for no verdict.

    Raises:
        ConfigurationError: If it said something else.
    """
    if said is None or isinstance(said, Outcome):
        return said
    if isinstance(said, bool):
        return Outcome("success" if said else "failure", "validator")
    if said in OUTCOME_LABELS:
        return Outcome(said, "validator")
    raise ConfigurationError(
        f"the validator returned {said!r}; return an Outcome, one of "
        f"{', '.join(OUTCOME_LABELS)}, True, False or None"
    )
