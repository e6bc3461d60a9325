"""A call that must not take longer than it is worth."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hindsight_core.errors import ModelCallError

__all__ = ["within"]

R = TypeVar("R")


def within(seconds: float, what: str, call: Callable[[], R]) -> R:
    """Return what `call` gives, or give up on it.

    It runs in a thread of its own, which nothing waits for once the time is up: a model that
    hangs holds up neither the answer nor the end of the process.

    Args:
        seconds: Most seconds to wait.
        what: What is being done, for the message.
        call: Does it.

    Raises:
        ModelCallError: If it took longer.
    """
    outcome: _Outcome[R] = _Outcome()
    threading.Thread(
        target=outcome.fill, args=(call,), name="hindsight-timebox", daemon=True
    ).start()
    if not outcome.done.wait(seconds):
        raise ModelCallError(
            f"{what} took more than {seconds:g} s and was given up", retryable=True
        )
    if outcome.error is not None:
        raise outcome.error
    return outcome.values[0]


class _Outcome(Generic[R]):
    """What became of a call."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.values: list[R] = []
        self.error: BaseException | None = None

    def fill(self, call: Callable[[], R]) -> None:
        """Run `call` and keep what comes of it."""
        try:
            self.values.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.error = error
        self.done.set()
