"""Text and JSON values out of files: encodings, broken lines and cut ends included."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hindsight_core.errors import TrajectoryError
from hindsight_core.runs.readers.base import short

__all__ = ["Broken", "TextFile", "Value", "json_lines", "json_values", "open_text"]


@dataclass(frozen=True, slots=True)
class Broken:
    """Stands for a piece of a file that is not JSON.

    Attributes:
        reason: Why.
    """

    reason: str


Value: TypeAlias = tuple[int, Any]
"""The line that a value starts on, counted from 1, and the value or a `Broken`."""

_DECODER = json.JSONDecoder()
_NOT_SPACE = re.compile(r"[^ \t\r\n]")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that is known to hold text.

    Attributes:
        path: The file.
        encoding: What it is read with.
        odd_lines: Lines with bytes that are not in this encoding; each becomes U+FFFD.
    """

    path: Path
    encoding: str
    odd_lines: tuple[int, ...] = ()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, counted from 1, as the file is read."""
        with self.path.open(encoding=self.encoding, errors="replace") as stream:
            yield from enumerate(stream, 1)

    def text(self) -> str:
        """Return the whole text."""
        with self.path.open(encoding=self.encoding, errors="replace") as stream:
            return stream.read()


def open_text(path: Path) -> TextFile:
    """Look at a file and find out how to read it: UTF-8, UTF-16 with its mark, or GB18030.

    A file that is UTF-8 but for some lines is read as UTF-8.

    Raises:
        TrajectoryError: If it is missing, a directory, empty, can't be opened or is no text.
    """
    try:
        if path.is_dir():
            raise TrajectoryError(f"{path} is a directory; pass one file of runs")
        with path.open("rb") as stream:
            head = stream.read(4_096)
            if not head.strip():
                raise TrajectoryError(f"{path} is empty; pass a file that holds runs")
            for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                if head.startswith(mark):
                    return TextFile(path, "utf-16")
            stream.seek(0)
            return _by_lines(path, stream)
    except FileNotFoundError as exc:
        raise TrajectoryError(f"{path} does not exist; check the path") from exc
    except OSError as exc:
        raise TrajectoryError(f"{path} can't be read: {exc.strerror or exc}") from exc


def _by_lines(path: Path, stream: Any) -> TextFile:
    """Choose between UTF-8 and GB18030 by what most lines that are not ASCII decode as."""
    utf8, odd, is_gb = 0, list[int](), True
    for number, line in enumerate(stream, 1):
        if b"\0" in line:
            raise TrajectoryError(f"{path} is not text: line {number} holds a zero byte")
        if line.isascii():
            continue
        if _decodes(line, "utf-8"):
            utf8 += 1
            continue
        odd.append(number)
        is_gb = is_gb and _decodes(line, "gb18030")
    if not odd or utf8 >= len(odd):
        return TextFile(path, "utf-8-sig", tuple(odd))
    if is_gb:
        return TextFile(path, "gb18030")
    raise TrajectoryError(
        f"{path} is neither UTF-8 nor GB18030: line {odd[0]} can't be decoded; save it as UTF-8"
    )


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def json_lines(file: TextFile) -> Iterator[Value]:
    """Yield the value of each line that is not blank; a line that is not JSON is `Broken`."""
    for number, line in file.lines():
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as exc:
                yield number, Broken(f"not JSON ({_why(exc)}): {short(line.strip())}")


def json_values(text: str, is_whole: Callable[[Any], bool]) -> Iterator[Value]:
    """Yield the values of a JSON document that spans lines, one by one.

    The elements of a list come one at a time, so that a list that was cut off gives all that
    is complete; a list whose first element `is_whole` says belongs together comes as one.

    Args:
        text: The document, or several one after the other.
        is_whole: Told the first element of a list, whether the list is one value.
    """
    cursor = _Cursor(text)
    try:
        while cursor.skip():
            if text[cursor.at] == "[" and not is_whole(cursor.first_element()):
                yield from _elements(cursor)
            else:
                yield cursor.line(), cursor.decode()
    except (ValueError, RecursionError) as exc:
        found = text[cursor.at : cursor.at + 80] or "the end"
        yield cursor.line(), Broken(f"not JSON ({_why(exc)}): {short(found)}")


def _elements(cursor: _Cursor) -> Iterator[Value]:
    cursor.at += 1
    while cursor.skip() and cursor.text[cursor.at] != "]":
        yield cursor.line(), cursor.decode()
        if cursor.skip() and cursor.text[cursor.at] == ",":
            cursor.at += 1
    if cursor.at >= len(cursor.text):
        raise ValueError("the list is cut off before its end")
    cursor.at += 1


@dataclass(slots=True)
class _Cursor:
    """A place in a JSON text."""

    text: str
    at: int = 0
    _line: int = 1
    _counted: int = 0

    def skip(self) -> bool:
        """Move past white space; tell whether there is more."""
        found = _NOT_SPACE.search(self.text, self.at)
        self.at = found.start() if found else len(self.text)
        return found is not None

    def decode(self) -> Any:
        """Read the value that starts here and move past it."""
        value, self.at = _DECODER.raw_decode(self.text, self.at)
        return value

    def first_element(self) -> Any:
        """Return the first element of the list that starts here; don't move."""
        found = _NOT_SPACE.search(self.text, self.at + 1)
        start = found.start() if found else len(self.text)
        return (
            None
            if self.text[start : start + 1] == "]"
            else _DECODER.raw_decode(self.text, start)[0]
        )

    def line(self) -> int:
        """Return the number of this line, counted from 1."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line


def _why(exc: Exception) -> str:
    if isinstance(exc, json.JSONDecodeError):
        return exc.msg
    return "nested too deep" if isinstance(exc, RecursionError) else str(exc)
