"""Text as lessons carry it: one line, plain, short, without blobs or markup."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hindsight_core.cutting import up_to_word

__all__ = ["bounded", "cut", "json_safe", "normalized", "plain", "short_value"]

HEAD = 6_000
"""Characters from the start of a long text that are looked at."""

TAIL = 3_000
"""Characters from its end."""

EXACT = 2**53
"""Largest whole number that JSON readers agree on."""

_BLOB = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=-]+)*;base64,[A-Za-z0-9+/=\s]{0,20000}"
    r"|[A-Za-z0-9+/_=-]{160,}"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}|[-*+•]|>+)[ \t]+", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\n]{1,200})\]\((?:[^()\s]{1,500})\)")
_STRONG = re.compile(
    r"(?<![0-9A-Za-z_*~])(\*\*|\*|~~)(?=\S)([^*~\n]{1,500}?)(?<=\S)\1(?![0-9A-Za-z_*~])"
)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[a-z0-9]+(?:[.,:/-][0-9]+)*|[\u3400-\u9fff]")


def bounded(text: str) -> str:
    """Return `text`, or its start and end with a line between where it is long."""
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n…\n{text[-TAIL:]}"


def plain(text: str, limit: int) -> str:
    """Return `text` as one plain line of at most `limit` characters.

    Markdown marks, control characters and encoded data go, words stay as they are.
    """
    head = text[: max(HEAD, 2 * limit)]
    head = head.encode("utf-8", "replace").decode("utf-8")
    head = _CONTROL.sub("", _BLOB.sub("[…]", head))
    head = _LINE_MARK.sub("", _FENCE.sub("", head))
    head = _STRONG.sub(r"\2", _LINK.sub(r"\1", head)).replace("`", "")
    return cut(_SPACE.sub(" ", head).strip(), limit)


def cut(text: str, limit: int) -> str:
    """Return `text` cut to `limit` characters, at a word's end where there is one near."""
    if len(text) <= limit:
        return text
    return up_to_word(text, limit - 1, limit * 2 // 3).rstrip(" ,;:，；：、") + "…"


def normalized(text: str) -> str:
    """Return what two statements share if they say the same: their words in order."""
    return " ".join(_WORD.findall(text.lower()))


def short_value(value: Any, limit: int = 60) -> str:
    """Return an argument's value for a sentence, `""` if it is too long or nested to be read."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number(value, limit)
    if not isinstance(value, str) or len(value) > limit or "\n" in value.strip():
        return ""
    return plain(value, limit)


def json_safe(arguments: Mapping[str, Any], *, keys: int = 12, limit: int = 120) -> dict[str, Any]:
    """Return the first `keys` arguments, long and nested values shortened to text."""
    kept: dict[str, Any] = {}
    for name in list(arguments)[:keys]:
        value = arguments[name]
        whole = value is None or (isinstance(value, int) and abs(value) <= EXACT)
        kept[plain(str(name), 60)] = value if whole else plain(_as_text(value), limit)
    return kept


def _number(value: float, limit: int) -> str:
    if isinstance(value, int) and abs(value) > EXACT:
        return ""
    text = str(value)
    return text if len(text) <= limit else ""


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
