"""What a command reads besides its options: standard input, or a file."""

from __future__ import annotations

import sys
from pathlib import Path

from hindsight_core.errors import ConfigurationError

__all__ = ["has_person", "read_input"]


def read_input(source: str, what: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Args:
        source: The file, or `-`.
        what: What is read, for messages.

    Raises:
        ConfigurationError: If it can't be read, or is no text in UTF-8.
    """
    where = "standard input" if source == "-" else repr(source)
    try:
        text = _stdin() if source == "-" else Path(source).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{what} in {where} is no text in UTF-8: {error.reason} at byte {error.start}"
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"{what} in {where} can't be read: {error.strerror or error}; check the path, "
            "or give - for standard input"
        ) from error
    damaged = next((at for at, char in enumerate(text) if _is_damage(char)), None)
    if damaged is not None:
        raise ConfigurationError(
            f"{what} in {where} is no text in UTF-8: {text[damaged]!r} at character {damaged}"
        )
    return text


def has_person() -> bool:
    """Whether somebody can be asked: standard input is there and is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def _stdin() -> str:
    if sys.stdin is None:
        raise OSError("it is closed")
    return sys.stdin.read()


def _is_damage(char: str) -> bool:
    """Whether `char` stands for a byte that was no text, or is a zero byte."""
    return char == "\0" or "\ud800" <= char <= "\udfff"
