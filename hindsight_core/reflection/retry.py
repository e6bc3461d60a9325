"""Calls that are tried again: how often, how long to wait, and when not to."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hindsight_core.errors import ModelCallError

__all__ = ["Deadline", "Retries", "is_context_overflow"]

R = TypeVar("R")

_FIRST_WAIT = 1.0
_LONGEST_WAIT = 30.0
_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|too many (?:input )?tokens"
    r"|prompt is too long|input is too long|reduce the length|exceeds? the (?:model|max)\w* "
    r"?(?:context|token|input)|上下文.{0,6}(?:超|长)",
    re.IGNORECASE,
)
_OVERFLOW_STATUSES = frozenset({None, 400, 413, 422, 500})


def is_context_overflow(error: ModelCallError) -> bool:
    """Return whether a model refused a prompt because it is too long for its context."""
    if error.status == 413:
        return True
    return error.status in _OVERFLOW_STATUSES and bool(_OVERFLOW.search(str(error)))


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which nothing more is begun.

    Attributes:
        at: The moment, by `monotonic`.
        monotonic: A clock in seconds that never goes back.
    """

    at: float
    monotonic: Callable[[], float]

    @property
    def left(self) -> float:
        """Seconds that are left, 0 or more."""
        return max(self.at - self.monotonic(), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """Tries a call again after failures that may pass.

    A server's own `Retry-After` is followed to the second; without one the waits double from
    1 s to at most 30 s, each with up to a quarter of random extra, so that several workers
    don't come back together. A wait that would pass the deadline is not begun.

    Attributes:
        max_retries: Further attempts after the first.
        sleep: Waits for some seconds.
        jitter: Gives a random number in 0–1.
    """

    max_retries: int
    sleep: Callable[[float], None]
    jitter: Callable[[], float] = field(default=random.random)

    def call(self, attempt: Callable[[], R], deadline: Deadline) -> R:
        """Return what `attempt` gives.

        Raises:
            ModelCallError: The last one, when it can't pass, when attempts are used up, or when
                the next wait would pass the deadline; the message says which.
        """
        number = 0
        while True:
            try:
                return attempt()
            except ModelCallError as error:
                if not error.retryable or is_context_overflow(error):
                    raise
                self._wait(number, error, deadline)
                number += 1

    def _wait(self, number: int, error: ModelCallError, deadline: Deadline) -> None:
        if number == self.max_retries:
            raise _given_up(error, f"after {number + 1} attempts") from error
        wait = error.retry_after
        if wait is None:
            wait = min(_FIRST_WAIT * 2**number, _LONGEST_WAIT) * (1 + self.jitter() / 4)
        if wait >= deadline.left:
            raise _given_up(
                error,
                f"since the next attempt is {wait:.0f} s away and {deadline.left:.0f} s are left",
            ) from error
        self.sleep(wait)


def _given_up(error: ModelCallError, why: str) -> ModelCallError:
    return ModelCallError(
        f"{error} (given up {why})",
        status=error.status,
        retry_after=error.retry_after,
        retryable=error.retryable,
    )
