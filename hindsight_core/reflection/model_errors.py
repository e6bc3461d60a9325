"""What goes wrong when a model is called, in our own terms.

Only text that is free of keys gets through.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from hindsight_core.clock import Clock, system_clock
from hindsight_core.cutting import clipped
from hindsight_core.errors import ModelCallError

__all__ = ["call_error", "clean_message", "is_retryable", "retry_after_seconds"]

_PASSING = frozenset({408, 409, 425, 429})
_LONGEST_MESSAGE = 300
_PASSING_NAMES = re.compile(
    r"timeout|timedout|connection|connect|ratelimit|overload|unavailable", re.I
)
_QUOTA = re.compile(r"insufficient_quota|billing|exceeded your current quota", re.I)
_SECRETS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk|pk|key|gsk|xai|AIza)[-_]?[A-Za-z0-9*_-]{16,}|Bearer\s+\S+|Basic\s+\S+"
    r"|(?<=://)[^\s/@]+@",
    re.IGNORECASE,
)


def call_error(
    error: BaseException, *, model: str, secrets: Iterable[str] = (), clock: Clock = system_clock
) -> ModelCallError:
    """Translate what a model's own client raised.

    The status is taken from `status_code` of the error or of its `response`, the time to wait
    from the response's headers, where they are there.

    Args:
        error: What was raised.
        model: How the model is called in the message.
        secrets: Texts that must not get into the message.
        clock: Tells the present moment, for a `Retry-After` given as a date.
    """
    response = getattr(error, "response", None)
    status = _status(error) or _status(response)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    said = clean_message(str(error), secrets)
    number = f" with status {status}" if status else ""
    return ModelCallError(
        f"{model} failed{number}: {type(error).__name__}: {said or 'no message'}",
        status=status,
        retry_after=retry_after_seconds(headers, clock()),
        retryable=_may_pass(error, status, said),
    )


def is_retryable(status: int, message: str = "") -> bool:
    """Return whether a call that ended with `status` may work later.

    Rate limits, time-outs, conflicts and faults of the server may; a quota that is used up and
    everything else may not.
    """
    if status == 429 and _QUOTA.search(message):
        return False
    return status in _PASSING or (status >= 500 and status not in (501, 505))


def retry_after_seconds(headers: Any, now: datetime) -> float | None:
    """Return the seconds that a server asks to wait, `None` if it does not.

    Reads `retry-after-ms`, and `retry-after` as seconds or as an HTTP date.
    """
    milliseconds = _seconds(_header(headers, "retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = _header(headers, "retry-after")
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
        return max((moment - now).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def clean_message(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the beginning of `text` on one line, without keys or credentials."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    line = " ".join(_SECRETS.sub("***", text[: 20 * _LONGEST_MESSAGE]).split())
    return clipped(line, _LONGEST_MESSAGE)


def _may_pass(error: BaseException, status: int | None, message: str) -> bool:
    if status is not None:
        return is_retryable(status, message)
    if isinstance(error, (TimeoutError, ConnectionError)):
        return True
    return bool(_PASSING_NAMES.search(type(error).__name__))


def _status(source: Any) -> int | None:
    for name in ("status_code", "status", "code"):
        value = getattr(source, name, None)
        if isinstance(value, int) and 100 <= value <= 599:
            return value
    return None


def _header(headers: Any, name: str) -> str:
    if not isinstance(headers, Mapping):
        return ""
    wanted = (value for key, value in headers.items() if str(key).lower() == name)
    return str(next(wanted, "")).strip()


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
