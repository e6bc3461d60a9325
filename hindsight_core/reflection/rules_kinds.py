"""What can be told of a value that must not be repeated: its kind, or the keys that changed.

An id names one thing of one run and a nested value is too long for a sentence; what the next run
can use is `gift_card_…` instead of `credit_card_…`, or that the headers need `Authorization`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["changed_keys", "kind_of_id"]

MOST_KEYS = 3
"""Keys that a sentence names."""

_KIND = re.compile(r"([A-Za-z]{3,20}(?:[_-][A-Za-z]{3,20}){0,2})[_-]\d{3,20}")
_PERSON = re.compile(
    r"user|customer|client|member|patient|person|people|owner|author|employee|account|contact"
    r"|guest|passenger|student|recipient|sender",
    re.IGNORECASE,
)
_KEY = re.compile(r"[^\W\d][\w .-]{0,39}")


def kind_of_id(name: str, value: Any) -> str:
    """Return the kind of an id with its number left out, such as `gift_card_…`.

    Args:
        name: The argument; what names people tells no kind, for their ids are made of names.
        value: Its value.

    Returns:
        The kind, `""` if the value tells none.
    """
    if not isinstance(value, str) or _PERSON.search(name):
        return ""
    found = _KIND.fullmatch(value.strip())
    return f"{found[1]}_…" if found else ""


def changed_keys(old: Any, new: Any) -> tuple[tuple[str, ...], bool]:
    """Return the keys that make `new` differ from `old`, and whether they are new in it.

    Args:
        old: The former value, `None` if there was none.
        new: A mapping, or a list of mappings as long as `old`.

    Returns:
        Keys in the order of `new`, none if there are more than `MOST_KEYS` or if a key isn't
        fit for a sentence; and whether they were missing in `old`.
    """
    pairs = _pairs(old, new)
    added = dict.fromkeys(key for a, b in pairs for key in b if key not in a)
    other = dict.fromkeys(key for a, b in pairs for key in b if key in a and a[key] != b[key])
    keys = tuple(added or other)
    fit = len(keys) <= MOST_KEYS and all(
        isinstance(key, str) and _KEY.fullmatch(key) for key in keys
    )
    return (keys, bool(added)) if fit else ((), False)


def _pairs(old: Any, new: Any) -> list[tuple[Mapping[Any, Any], Mapping[Any, Any]]]:
    if isinstance(new, Mapping):
        return [(old if isinstance(old, Mapping) else {}, new)]
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return []
    pairs = list(zip(old, new, strict=True))
    if not all(isinstance(a, Mapping) and isinstance(b, Mapping) for a, b in pairs):
        return []
    return pairs
