"""JSON values in what a model wrote: fenced, wrapped in prose, slightly broken or cut short.

Nothing here knows lessons; a caller passes `fits`, which tells how well a value matches what
was asked for. Repairs are made only where they are unambiguous: every text of a repaired value
must stand in the reply letter for letter.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import json_repair

from hindsight_core.reflection.parse_repairs import depth_of, is_faithful

__all__ = ["ELEMENT", "Fits", "Found", "find_json", "is_blank"]

Fits: TypeAlias = Callable[[Any], int]
"""0 for a value of another shape, more for a better match; `ELEMENT` for a lone element."""

ELEMENT = 2
"""The grade of one element without what should stand around it."""

MAX_REPAIR_LENGTH = 200_000
"""Characters of a broken reply that are repaired; longer ones are not tried."""

_MAX_SPANS = 40
_MAX_DEPTH = 100
_MAX_ENCODINGS = 3
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning)\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_THINKING_END = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.I)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_QUOTE_CLOSES = re.compile(r"\s*(?:[,:}\]]|\Z)")
_ESCAPED_QUOTE = re.compile(r"[{\[,:]\s*&(?:quot|#34|#x22);")
_OPENING = re.compile(r"[{\[]")
_JSON_BEGINS = re.compile(r"""\{\s*["'}]|\[\s*[\[{"'\]]""")
_PYTHON_BEGINS = re.compile(r"\{\s*'|\[\s*\{?\s*'")
_MARK = re.compile(r'["{}\[\]]')
_INVISIBLE = "\ufeff\u200b\u2060 \t\r\n\x00"


@dataclass(frozen=True, slots=True)
class Found:
    """A value that was found.

    Attributes:
        value: The value.
        notes: What had to be done to read it.
        truncated: Whether the reply ends inside it; whole elements are kept.
    """

    value: Any
    notes: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of text from an opening bracket on.

    Attributes:
        start: Where it begins in the text.
        end: Just past its closing bracket, or the end of the text.
        closed: Whether its brackets are closed.
        in_text: Whether it ends inside a string.
        whole: End of the last whole element, relative to `start`; 0 if there is none.
        closers: The brackets that are open there, from inside out.
    """

    start: int
    end: int
    closed: bool
    in_text: bool
    whole: int
    closers: str


def find_json(text: str, *, fits: Fits, cut: bool) -> Found | None:
    """Return the value in `text` that fits best, `None` if none does.

    Args:
        text: What the model wrote.
        fits: How well a value matches.
        cut: Whether the reply is known to have hit its output cap.
    """
    text = text.strip(_INVISIBLE)
    whole = _strict(text)
    if whole is not None and fits(whole.value):
        return whole
    text = _without_thinking(text)
    found = _closed(text, fits) or _fenced(text, fits)
    if cut or not text.rstrip("`" + _INVISIBLE).endswith(("}", "]")):
        found = found or _cut_short(text, fits)
    found = found or _repaired(text, fits) or _cut_short(text, fits)
    if found is None and _ESCAPED_QUOTE.search(text):
        inner = find_json(html.unescape(text), fits=fits, cut=cut)
        if inner is not None:
            return replace(inner, notes=("HTML-escaped quotes were undone", *inner.notes))
    return found


def is_blank(text: str) -> bool:
    """Return whether `text` says nothing once thinking is left out."""
    return not _without_thinking(text.strip(_INVISIBLE)).strip(_INVISIBLE)


def _without_thinking(text: str) -> str:
    """Drop what a reasoning model thought aloud before or between its answer."""
    first = text.find("{")
    opening = _THINKING.search(text)
    if opening is None:
        closing = _THINKING_END.match(text)
        rest = text[closing.end() :] if closing else text
        return rest if closing and _bracket_in(rest) else text
    if first >= 0 and first < opening.start() and _inside_string(text, first, opening.start()):
        return text
    return _THINKING.sub("", text)


def _bracket_in(text: str) -> bool:
    return "{" in text or "[" in text


def _inside_string(text: str, start: int, position: int) -> bool:
    span = _span_at(text, start)
    return span.start < position < span.end


def _strict(text: str) -> Found | None:
    """Read `text` as JSON, unwrapping JSON that stands inside a JSON string."""
    notes: list[str] = []
    value: Any = text
    for depth in range(_MAX_ENCODINGS + 1):
        if not isinstance(value, str):
            return Found(value, tuple(dict.fromkeys(notes)))
        if depth > 1:
            notes.append("JSON inside a JSON string was unwrapped")
        value = _loads(value, notes)
        if value is None:
            return None
    return None


def _loads(text: str, notes: list[str]) -> Any:
    def joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _join_pairs(pairs, notes)

    try:
        return json.loads(text.strip(_INVISIBLE), object_pairs_hook=joined, parse_int=_integer)
    except (ValueError, RecursionError):
        return None


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= 18 else float(text)


def _join_pairs(pairs: list[tuple[str, Any]], notes: list[str]) -> dict[str, Any]:
    """Make a dict; lists under a repeated key are joined, of other values the last stays."""
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            notes.append(f"the key {key[:40]!r} stands twice in one object")
            if isinstance(value[key], list) and isinstance(item, list):
                item = [*value[key], *item]
        value[key] = item
    return value


def _closed(text: str, fits: Fits) -> Found | None:
    """Take the best value among the complete pieces of JSON in `text`.

    Fitting pieces that follow each other directly are joined; of pieces with prose between
    them the last is the answer, since examples and drafts come first.
    """
    best: list[tuple[int, _Span, Found]] = []
    for span in _spans(text):
        found = _strict(text[span.start : span.end]) if span.closed else None
        grade = fits(found.value) if found is not None else 0
        if found is not None and grade:
            best.append((grade, span, found))
    if not best:
        return None
    top = max(grade for grade, _, _ in best)
    chosen = [(span, found) for grade, span, found in best if grade == top]
    group = [chosen[-1]]
    for span, found in reversed(chosen[:-1]):
        if text[span.end : group[0][0].start].strip(" \t\r\n,;"):
            break
        group.insert(0, (span, found))
    notes = tuple(note for _, found in group for note in found.notes)
    if len(group) == 1:
        dropped = len(chosen) - 1
        extra = (f"{dropped} earlier JSON objects were left aside",) if dropped else ()
        return Found(group[0][1].value, (*notes, *extra))
    values = [found.value for _, found in group]
    return Found(_joined(values), (*notes, f"{len(values)} JSON objects were joined"))


def _joined(values: list[Any]) -> Any:
    if all(isinstance(value, dict) for value in values):
        pairs = [pair for value in values for pair in value.items()]
        keys = [key for key, _ in pairs]
        lists = all(isinstance(value, list) for key, value in pairs if keys.count(key) > 1)
        return _join_pairs(pairs, []) if lists else values
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _fenced(text: str, fits: Fits) -> Found | None:
    """Repair what stands in a fence, the last fence that fits."""
    for match in reversed(list(_FENCE.finditer(text))):
        body = match[1].strip(_INVISIBLE)
        if match[0].endswith("```") and body.startswith(("{", "[")) and body.endswith(("}", "]")):
            found = _repair(body, fits)
            if found is not None:
                return found
    return None


def _repaired(text: str, fits: Fits) -> Found | None:
    """Repair from an opening bracket to the last closing one."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    for span in _spans(text):
        if span.start >= end:
            continue
        if span.in_text and not _PYTHON_BEGINS.match(text, span.start):
            continue
        for stop in dict.fromkeys((span.end if span.closed else end, end)):
            found = _repair(text[span.start : stop], fits)
            if found is not None:
                return found
    return None


def _cut_short(text: str, fits: Fits) -> Found | None:
    """Keep the whole elements of a piece of JSON that the reply ends in."""
    for span in _spans(text):
        if not span.closed and span.whole:
            piece = text[span.start : span.start + span.whole] + span.closers
            found = _strict(piece) or _repair(piece, fits)
            if found is not None and fits(found.value) not in (0, ELEMENT):
                note = "the reply ends inside its JSON; whole elements were kept"
                return Found(found.value, (*found.notes, note), truncated=True)
    return None


def _repair(text: str, fits: Fits) -> Found | None:
    if len(text) > MAX_REPAIR_LENGTH or depth_of(text) > _MAX_DEPTH:
        return None
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - whatever a foreign parser raises, the text is unreadable
        return None
    if not fits(value) or not is_faithful(value, text):
        return None
    return Found(value, ("slips in the JSON were repaired",))


def _spans(text: str) -> Iterator[_Span]:
    """Yield the outermost pieces of JSON, also inside an open bracket of prose."""
    position = 0
    for _ in range(_MAX_SPANS):
        match = _OPENING.search(text, position)
        if match is None:
            return
        span = _span_at(text, match.start())
        yield span
        if not span.closed and _JSON_BEGINS.match(text, match.start()):
            return
        position = span.end if span.closed else match.end()


def _span_at(text: str, start: int) -> _Span:
    """Follow brackets from `start`, passing over strings.

    A quote ends a string only before a comma, a colon, a closing bracket or the end, which is
    where it stands in sound JSON; so quotes inside a text don't end it.
    """
    stack: list[str] = []
    whole, closers = 0, ""
    position = start
    while match := _MARK.search(text, position):
        position = match.end()
        mark = match[0]
        if mark == '"':
            position = _string_end(text, position)
            if position < 0:
                return _Span(start, len(text), False, True, whole, closers)
        elif mark in "{[":
            stack.append("}" if mark == "{" else "]")
            if len(stack) > _MAX_DEPTH:
                break
        elif stack and mark == stack[-1]:
            stack.pop()
            if not stack:
                return _Span(start, position, True, False, position - start, "")
            if _is_outer(stack):
                whole, closers = position - start, "".join(reversed(stack))
        else:
            break
    return _Span(start, len(text), False, False, whole, closers)


def _is_outer(stack: list[str]) -> bool:
    """Whether what just ended is an element of the outermost list, or a field beside it."""
    return "]" not in stack[:-1]


def _string_end(text: str, position: int) -> int:
    while (quote := text.find('"', position)) >= 0:
        backslashes = 0
        while text[quote - backslashes - 1] == "\\":
            backslashes += 1
        if backslashes % 2 == 0 and _QUOTE_CLOSES.match(text, quote + 1):
            return quote + 1
        position = quote + 1
    return -1
