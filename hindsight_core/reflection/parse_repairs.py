"""Whether a repair of broken JSON kept every text as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["depth_of", "is_faithful"]

_BRACKET = re.compile(r"[{}\[\]]")
_BETWEEN = re.compile(r"[\s\\\x00-\x1f]+")
_NO_NAME = re.compile(r"[\"{}\[\],:\n]|\s\S+\s\S+\s")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([nrtbf])|(.))", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|(?:^|(?<=[\s,{\[]))(?://|#)[^\n]*", re.DOTALL)
_EXPONENT = re.compile(r"\d[eE][+-]?\d")
_LITERALS = {None: 4, True: 4, False: 5}


def depth_of(text: str) -> int:
    """Return how deep brackets are nested, counting those inside strings too."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match[0] in "{[" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def is_faithful(value: Any, source: str) -> bool:
    """Return whether a repaired value says what its source says, no more and no less.

    Every key must be a plain name, every text must stand in the source letter for letter
    without closing a bracket that it did not open, and no letter of the source may be lost
    but those of comments.
    """
    plain = _unescaped(source)
    squeezed = _squeeze(plain)
    for key, text in _texts(value):
        if key and (len(key) > 40 or _NO_NAME.search(key)):
            return False
        if text and (_squeeze(text) not in squeezed or _closes_too_much(text)):
            return False
    letters = _letters_of(value)
    return letters == _letters(plain) or letters == _letters(_unescaped(_COMMENT.sub(" ", source)))


def _closes_too_much(text: str) -> bool:
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "{[" else -1
        if depth < 0:
            return True
    return False


def _letters(text: str) -> int:
    return sum(letter.isalpha() for letter in _EXPONENT.sub("", text))


def _letters_of(value: Any) -> int:
    """Count the letters with which a value was written; `null` and `None` have four alike."""
    letters = 0
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            letters += sum(_letters(str(key)) for key in item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str):
            letters += _letters(item)
        elif item is None or isinstance(item, bool):
            letters += _LITERALS[item]
    return letters


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the keys and texts of a nested value, without recursion."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for key, inner in item.items():
                yield str(key), ""
                pending.append(inner)
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str):
            yield "", item


def _unescaped(source: str) -> str:
    """Undo the escapes of JSON without reading it."""

    def undo(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return "" if match[2] else match[3]

    return _ESCAPE.sub(undo, source)


def _squeeze(text: str) -> str:
    """Drop white space and backslashes, so that a text can be found in its source."""
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _BETWEEN.sub("", paired)
