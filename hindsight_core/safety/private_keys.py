"""Private-key blocks: whole, cut off at either end, with line ends escaped or turned to spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["find_private_keys"]

_MARK = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BREAK = r"(?:\\{1,8}[rn]|[\r\n]|[ \t])"
_BODY = re.compile(
    rf"(?:{_BREAK}{{1,8}}[\w-]{{1,30}}: [^\r\n\\]{{0,120}})*"
    rf"(?:{_BREAK}{{0,8}}[A-Za-z0-9+/=]{{20,}})*"
    rf"(?:{_BREAK}{{1,8}}[A-Za-z0-9+/]{{1,76}}={{1,2}}(?![A-Za-z0-9+/=]))?"
    rf"(?:{_BREAK}{{1,8}}[A-Za-z0-9+/=]{{1,76}}(?:{_BREAK}{{0,8}}\Z))?"
)
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{16,}")
_LINE_BREAK = re.compile(r"(?:\\{1,8}[rn]|[\r\n \t]){1,8}\Z")
_LINE = re.compile(r"(?:(?<=\\[rn])|(?<![A-Za-z0-9+/=\\]))[A-Za-z0-9+/=]{1,5000}\Z")
MAX_BLOCK = 40_000
"""Characters between the two ends of one key; what lies further apart does not belong together."""


def find_private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of private keys in `text` as start and end, in order.

    A block without its end goes on as long as lines look like a key; an end without a beginning
    reaches back over such lines. Marks that are only spoken of, without a key between, stay.
    """
    begin: re.Match[str] | None = None
    done = 0
    for mark in _MARK.finditer(text):
        if mark.group(1) == "BEGIN":
            if begin:
                yield from _cut_end(text, begin, mark.start())
                done = begin.end()
            begin = mark
            continue
        if begin and mark.start() - begin.end() <= MAX_BLOCK:
            if _KEY_LINE.search(text, begin.end(), mark.start()):
                yield begin.start(), mark.end()
        else:
            if begin:
                yield from _cut_end(text, begin, mark.start())
            start = _reach_back(text, mark.start(), begin.end() if begin else done)
            if start < mark.start():
                yield start, mark.end()
        begin, done = None, mark.end()
    if begin:
        yield from _cut_end(text, begin, len(text))


def _cut_end(text: str, begin: re.Match[str], limit: int) -> Iterator[tuple[int, int]]:
    body = _BODY.match(text, begin.end(), min(limit, begin.end() + MAX_BLOCK))
    end = body.end() if body else begin.end()
    if _KEY_LINE.search(text, begin.end(), end):
        yield begin.start(), end


def _reach_back(text: str, end: int, floor: int) -> int:
    """Return where the key lines before `end` begin, `end` if there are none."""
    floor = max(floor, end - MAX_BLOCK)
    start, shortest = end, 1
    while True:
        gap = _LINE_BREAK.search(text, max(floor, start - 80), start)
        line = _LINE.search(text, max(floor, gap.start() - 5_000), gap.start()) if gap else None
        if not line or line.end() - line.start() < shortest:
            return start if _KEY_LINE.search(text, start, end) else end
        start, shortest = line.start(), 32
