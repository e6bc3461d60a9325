"""Where in a reply its lessons stand: which shapes are an answer, and what they hold.

Asked for is an object with a list under `lessons`. Read are also a bare list, a lone lesson,
lists by category, several objects, and all of these inside a lone key or encoded once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindsight_core.json_text import read_json
from hindsight_core.reflection.parse_fields import FIELD_NAMES, LESSON_LISTS, pick
from hindsight_core.reflection.parse_json import ELEMENT

__all__ = ["entries_of", "fits", "root_of"]

_EMPTY, _WHOLE = 1, 3
_WRAPPERS = 3


def fits(value: Any) -> int:
    """Grade a value: 3 for an answer, 2 for a lone lesson, 1 for an empty one, else 0."""
    for _ in range(_WRAPPERS):
        grade = _grade(value)
        if grade:
            return grade
        value = _unwrapped(value)
    return 0


def _grade(value: Any) -> int:
    if isinstance(value, list):
        lessons = [item for item in value if _is_lesson(item)]
        return _WHOLE if lessons else _EMPTY if not value else 0
    if not isinstance(value, dict):
        return 0
    names = {str(key).strip().casefold().replace(" ", "_") for key in value}
    if any(name in names and _is_list_of_lessons(value, name) for name in LESSON_LISTS):
        return _WHOLE
    if _is_lesson(value):
        return ELEMENT
    if not value:
        return _EMPTY
    return _WHOLE if names & {"goal", "目标", "decisions", "failures", "key_decisions"} else 0


def _is_list_of_lessons(value: dict[str, Any], name: str) -> bool:
    inner = pick(value, (name,))
    return inner is None or isinstance(inner, (list, dict)) or _encoded_list(inner) is not None


def _encoded_list(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip().startswith(("[", "{")):
        return None
    decoded = read_json(value)
    return decoded if isinstance(decoded, (list, dict)) else None


def _is_lesson(item: Any) -> bool:
    return isinstance(item, dict) and any(
        isinstance(pick(item, (name,)), str) for name in (*FIELD_NAMES["content"], "op")
    )


def _unwrapped(value: Any) -> Any:
    """Return what a lone key such as `result` holds."""
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        return _encoded_list(inner) or inner
    return None


def root_of(value: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the object that holds the lessons, and notes on what stood in its place."""
    if isinstance(value, list) and value and all(_is_root(item) for item in value):
        joined = [entry for root in value for entry in entries_of(root)]
        return {**value[-1], **dict.fromkeys(LESSON_LISTS), "lessons": joined}, []
    for _ in range(_WRAPPERS):
        if _grade(value):
            break
        value = _unwrapped(value)
    if isinstance(value, list):
        return {"lessons": value}, ["a list of lessons stood without an object around it"]
    if _grade(value) == ELEMENT:
        return {"lessons": [value]}, ["a lone lesson stood without a list around it"]
    return dict(value or {}), []


def _is_root(value: Any) -> bool:
    return isinstance(value, dict) and _grade(value) == _WHOLE


def entries_of(root: Mapping[str, Any]) -> list[Any]:
    """Return the items of every list of lessons, each with the category its list implies."""
    entries: list[Any] = []
    for name, category in LESSON_LISTS.items():
        value = pick(root, (name,))
        value = _encoded_list(value) or value
        for item in value if isinstance(value, list) else [value] if value else []:
            if category and isinstance(item, dict):
                item = {"category": category, **item}
            elif category and isinstance(item, str):
                item = {"category": category, "content": item}
            entries.append(item)
    return entries
