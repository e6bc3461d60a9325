"""Short pieces of long texts: cuts that say how much is gone, and no encoded data."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

__all__ = ["Passage", "error_lines", "excerpt", "passage_of", "replace_blobs", "telling_line"]

_DATA_URI = re.compile(
    r"data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.+-]{1,60}){0,4},[A-Za-z0-9+/=_%-]{32,}+"
)
_WRAPPED_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{60,100}+\r?\n){3,}+[A-Za-z0-9+/]*+={0,2}"
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{200,}+={0,2}")
_ERROR_WORD = re.compile(
    r"error|exception|traceback|fail(?:ed|ure)|fatal|panic|denied|refused|timed out|timeout"
    r"|not found|错误|异常|失败|超时|拒绝"
)
_HEAD, _TAIL = 7_000, 4_000
_LINE_LENGTH = 240
_LINES_AT_EACH_END = 3


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in a form that is cheap to cut again and again.

    Attributes:
        text: Some kilobytes at most: head, lines that name errors, tail.
        size: Characters of the text it stands for.
    """

    text: str
    size: int


def passage_of(text: str) -> Passage:
    """Return `text` without encoded data, its middle brought down to the lines on errors."""
    clean = replace_blobs(text.strip())
    if len(clean) <= _HEAD + _TAIL:
        return Passage(clean, len(clean))
    lines = "\n".join(error_lines(clean[_HEAD:-_TAIL]))
    return Passage(f"{clean[:_HEAD]}\n{lines}\n{clean[-_TAIL:]}", len(clean))


def replace_blobs(text: str) -> str:
    """Return `text` with data URIs and long runs of encoded data as notes of their size.

    Runs of 200 or more characters of the Base64 alphabets count, and wrapped blocks of them,
    also inside plain text.
    """
    if len(text) < 64:
        return text
    text = _DATA_URI.sub(_data_note, text)
    text = _BASE64.sub(_blob_note, text)
    return _WRAPPED_BASE64.sub(_blob_note, text)


def excerpt(passage: Passage, limit: int) -> str:
    """Return about `limit` characters of a passage, at most twice that: its head and its tail.

    A cut is marked with the size of the whole; lines that name errors inside the cut part are
    kept, the first and the last few of them.
    """
    text = passage.text
    if passage.size <= limit:
        return text
    head = text[: limit * 3 // 5].rstrip()
    tail = text[len(text) - limit // 5 :].lstrip()
    middle = error_lines(text[len(head) : len(text) - len(tail)])
    note = f" …[{passage.size:,} characters, cut]… "
    kept: list[str] = []
    room = limit
    for line in middle:
        short = line[: min(_LINE_LENGTH, max(room, 0))]
        if len(short) < min(len(line), 40):
            break
        kept.append(short)
        room -= len(short)
    return head + note + "".join(f"{line} … " for line in kept) + tail


def error_lines(text: str) -> list[str]:
    """Return the lines of `text` that name an error: the first and last three distinct ones."""
    first: dict[str, str] = {}
    last: deque[tuple[str, str]] = deque(maxlen=_LINES_AT_EACH_END)
    position = 0
    lowered = _lowered(text)
    while found := _ERROR_WORD.search(lowered, position):
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _LINE_LENGTH // 2)
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + _LINE_LENGTH)].strip()
        key = re.sub(r"\d+", "0", line)
        if len(first) < _LINES_AT_EACH_END:
            first.setdefault(key, line)
        elif key not in first and all(key != other for other, _ in last):
            last.append((key, line))
        position = max(end, found.end())
    return [*first.values(), *(line for _, line in last)]


def telling_line(text: str) -> str:
    """Return the line of an error's text that says what went wrong.

    The last line of a traceback; else the first line with a word for an error; else the first.
    """
    stripped = text.strip()
    if "Traceback (most recent call last)" in stripped[:20_000]:
        return stripped[stripped.rfind("\n") + 1 :].strip()
    named = error_lines(stripped)
    return named[0] if named else stripped.partition("\n")[0].strip()


def _lowered(text: str) -> str:
    """Return `text` in lower case, letter by letter so that positions stay the same."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter if len(letter.lower()) > 1 else letter.lower() for letter in text)


def _data_note(match: re.Match[str]) -> str:
    kind = match[0][5:].partition(";")[0].partition(",")[0]
    return f"[{kind} data, {_size(len(match[0]))}]"


def _blob_note(match: re.Match[str]) -> str:
    return f"[encoded data, {_size(len(match[0]))}]"


def _size(length: int) -> str:
    return f"{length / 1000:,.0f} KB" if length >= 1_000 else f"{length} characters"
