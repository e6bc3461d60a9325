"""Time and ids, injected wherever they are needed.

Pure code takes the time as an argument; only the facade asks a clock. All times are
aware and in UTC.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from hindsight_core.errors import ConfigurationError

__all__ = ["Clock", "IdFactory", "as_utc", "new_memory_id", "new_run_id", "system_clock"]

Clock: TypeAlias = Callable[[], datetime]
"""Returns the present moment as an aware `datetime` in UTC."""

IdFactory: TypeAlias = Callable[[], str]
"""Returns a fresh id that has never been returned before."""


def system_clock() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def new_memory_id() -> str:
    """Return a fresh memory id, `mem_` and 32 hex digits."""
    return f"mem_{uuid.uuid4().hex}"


def new_run_id() -> str:
    """Return a fresh run id, `run_` and 32 hex digits."""
    return f"run_{uuid.uuid4().hex}"


def as_utc(moment: datetime, *, name: str = "time") -> datetime:
    """Return `moment` in UTC.

    Raises:
        ConfigurationError: If `moment` is no `datetime`, or has no time zone, since guessing one
            would move it.
    """
    if not isinstance(moment, datetime):
        raise ConfigurationError(
            f"{name} {moment!r} is {type(moment).__name__}, not a datetime; "
            "pass for example datetime.now(timezone.utc)"
        )
    if moment.tzinfo is None:
        raise ConfigurationError(
            f"{name} {moment.isoformat()!r} has no time zone; "
            "pass an aware datetime, for example datetime.now(timezone.utc)"
        )
    return moment.astimezone(UTC)
