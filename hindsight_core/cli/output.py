"""What the command line prints: tables or JSON on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hindsight_core.namespaces import Namespace

__all__ = ["Output", "as_json", "counted", "make_table", "plain", "printable"]

UNFOLDED = 100_000
"""Columns where there is no terminal: what other programs read is folded nowhere."""


def as_json(value: Any) -> Any:
    """Return `value` in JSON's own types: fields by name, times in ISO 8601, paths as text."""
    if is_dataclass(value) and not isinstance(value, type):
        if isinstance(value, Namespace):
            return list(value.parts)
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(item) for item in value]
    return str(value) if isinstance(value, PurePath) else repr(value)


def printable(text: str) -> str:
    """Return `text` without control characters, which could drive the terminal."""
    return "".join(
        " " if char in "\t\r" else char
        for char in text
        if char in "\n\t\r" or unicodedata.category(char) not in {"Cc", "Cs"}
    )


def plain(text: str, style: str = "") -> Text:
    """Return `text` as it stands: no markup, no highlighting, no control characters."""
    return Text(printable(text), style=style)


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number with its noun: `1 run`, `2 runs`."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def make_table(*, columns: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """Return an empty table; the columns in `numbers` stay on one line."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=column in set(numbers), overflow="fold")
    return table


class Output:
    """Where a command prints to.

    Attributes:
        wants_json: Whether results are printed as JSON.
        console: Standard output, for people.
        messages: Standard error, for progress and messages.
    """

    def __init__(self, *, wants_json: bool) -> None:
        self.wants_json = wants_json
        self.console = _console(stderr=False)
        self.messages = _console(stderr=True)

    def show(self, payload: Any, render: Callable[[], Iterable[RenderableType]]) -> None:
        """Print a result: `payload` as JSON, or what `render` returns."""
        if self.wants_json:
            self._write_json(payload, sys.stdout)
            return
        for piece in render():
            self.say(piece)

    def say(self, piece: RenderableType) -> None:
        """Print a piece for people on stdout."""
        _print(self.console, piece)

    def note(self, text: str) -> None:
        """Print a message for people on stderr."""
        _print(self.messages, plain(text))

    def fail(self, error: BaseException) -> None:
        """Print an error in a line or two, or as JSON, on stderr."""
        if self.wants_json:
            payload = {"error": {"type": type(error).__name__, "message": str(error)}}
            self._write_json(payload, sys.stderr)
        else:
            _print(self.messages, plain(f"hindsight: {' '.join(str(error).split())}"))

    @staticmethod
    def _write_json(payload: Any, stream: Any) -> None:
        if stream is None:  # the caller has closed it, as `>&-` does
            return
        encoding = str(getattr(stream, "encoding", "") or "").lower().replace("-", "")
        text = json.dumps(as_json(payload), ensure_ascii=encoding != "utf8", indent=2)
        stream.write(text + "\n")
        stream.flush()


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = UNFOLDED
    return console


def _print(console: Console, piece: RenderableType) -> None:
    """Print `piece`; where there is no terminal without the blanks that fill a table's rows."""
    if console.is_terminal:
        console.print(piece)
        return
    with console.capture() as captured:
        console.print(piece)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    console.file.write("".join(line + "\n" for line in lines))
    console.file.flush()
