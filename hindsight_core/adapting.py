"""What an adapter needs of an open memory beyond its verbs.

One engine serves many facades, and one adapter object serves many users: what an adapter keeps
about runs that are under way belongs to the engine, so that it is found from any view of it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from hindsight_core.hindsight import Hindsight

__all__ = ["RECALL_TAG", "before_close", "kept_with", "note_quietly", "time_of"]

T = TypeVar("T")

RECALL_TAG = "hindsight:recall"
"""Marks a recall by a framework's own means, so that its results are not learned again."""


def kept_with(hindsight: Hindsight, kind: type[T], make: Callable[[], T]) -> T:
    """Return the one object of type `kind` that is kept with this engine.

    Args:
        hindsight: Any view of the engine.
        kind: Its type, by which it is found.
        make: Makes it when there is none yet.
    """
    return hindsight._scope.health.attach(kind, make)


def before_close(hindsight: Hindsight, call: Callable[[], None]) -> None:
    """Have `call` called, once, before the engine is closed."""
    hindsight._scope.health.before_close.append(call)


def time_of(hindsight: Hindsight) -> datetime:
    """Return the present moment by the memory's own clock."""
    return hindsight._scope.engine.clock()


def note_quietly(hindsight: Hindsight, what: str, error: BaseException, run_id: str = "") -> None:
    """Count and log a failure beside a run, or raise it where the settings are strict.

    Raises:
        BaseException: `error`, with `Settings(strict=True)`.
    """
    hindsight._scope.health.note(what, error, run_id)
    if hindsight.settings.strict:
        raise error
