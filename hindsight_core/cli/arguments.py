"""What may stand in an argument: each reader refuses what can't be used, and says what can."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import NoReturn

from hindsight_core.errors import ConfigurationError

__all__ = [
    "CommandParser",
    "UsageError",
    "count",
    "filled",
    "identity",
    "moment",
    "positive",
    "share",
    "version",
    "whole",
]

DIGITS = 18
"""Most digits of a number; Python refuses to read thousands of them."""


class UsageError(ConfigurationError):
    """The words after `hindsight` are not a command."""


class CommandParser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise `message` with where to read on.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{message}; `{self.prog} --help` shows how it is used")


def filled(text: str) -> str:
    """Read a text that is not blank.

    Raises:
        argparse.ArgumentTypeError: If it is, as an unset variable of a shell is.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is blank")
    return text


def identity(text: str) -> str:
    """Read the id of a memory or a run; blanks around it, as copying leaves them, don't count.

    Raises:
        argparse.ArgumentTypeError: If it is blank.
    """
    return filled(text).strip()


def moment(text: str) -> datetime:
    """Read a date or time in ISO 8601; without a zone it is taken as UTC.

    Raises:
        argparse.ArgumentTypeError: If it can't be read, or is outside of the years 1–9999.
    """
    try:
        value = datetime.fromisoformat(text)
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a date such as 2026-01-31 or 2026-01-31T12:00:00+00:00"
        ) from None


def share(text: str) -> float:
    """Read a number in 0–1.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number in 0–1")
    return value


def count(text: str) -> int:
    """Read how many results are wanted, 1–1000.

    Raises:
        argparse.ArgumentTypeError: If it is no such number.
    """
    if not _is_number(text) or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number in 1–1000")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number of 1 or more.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    if not _is_number(text) or not int(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number of 1 or more, with {DIGITS} digits at most"
        )
    return int(text)


def whole(text: str) -> int:
    """Read a whole number, which may be negative.

    Raises:
        argparse.ArgumentTypeError: If it is none.
    """
    if not _is_number(text.removeprefix("-")):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number with {DIGITS} digits at most"
        )
    return int(text)


def version(text: str) -> int | datetime:
    """Read the number of a version, or the date or time at which one held.

    Raises:
        argparse.ArgumentTypeError: If it is neither.
    """
    if text.isdecimal() and len(text) < 7:
        return int(text)
    try:
        return moment(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not the number of a version, and {error}"
        ) from None


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= DIGITS
