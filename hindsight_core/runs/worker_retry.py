"""Which failures of a run may pass, and how long to wait before the next attempt."""

from __future__ import annotations

import math

from hindsight_core.errors import (
    HindsightError,
    JournalError,
    ModelCallError,
    ModelUnavailableError,
    StoreLockedError,
    StoreUnavailableError,
)

__all__ = ["MAX_ATTEMPTS", "reason_of", "retry_delay"]

MAX_ATTEMPTS = 8
"""How often a run is begun before it is failed; with the waits below, over about 10 minutes."""

FIRST_DELAY = 5.0
"""Seconds before the second attempt; each further wait is twice as long."""

LONGEST_DELAY = 600.0
"""Seconds that a wait grows to."""

LONGEST_RETRY_AFTER = 86_400.0
"""Seconds that a server can ask to wait."""

_MAY_PASS = (StoreUnavailableError, StoreLockedError, ModelUnavailableError, JournalError)


def retry_delay(error: Exception, failures: int) -> float | None:
    """Return the seconds to wait after `failures` failures, the last of which is `error`.

    A server's `retry_after` is honored: the wait is never shorter.

    Returns:
        `None` if the failure will not pass by itself.
    """
    asked = 0.0
    if isinstance(error, ModelCallError):
        if not error.retryable:
            return None
        if error.retry_after is not None and math.isfinite(error.retry_after):
            asked = min(max(error.retry_after, 0.0), LONGEST_RETRY_AFTER)
    elif not isinstance(error, _MAY_PASS):
        return None
    if asked:
        return asked
    # The exponent is bounded so that no count of failures overflows.
    return float(min(FIRST_DELAY * 2 ** min(max(failures - 1, 0), 32), LONGEST_DELAY))


def reason_of(error: Exception) -> str:
    """Return one text that says what went wrong."""
    if isinstance(error, HindsightError):
        return str(error)
    return f"{type(error).__name__}: {error}"
