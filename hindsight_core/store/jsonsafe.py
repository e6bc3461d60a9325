"""The one rule by which any value becomes JSON, the same for every back end.

| value | becomes |
| --- | --- |
| `None`, `bool`, finite `float`, `int` of 64 bits | itself |
| NaN and infinities | the text `"NaN"`, `"Infinity"`, `"-Infinity"` |
| a longer `int`, `Decimal`, `Fraction`, `UUID`, a path | its text |
| `str` | itself, each lone surrogate replaced by U+FFFD; NUL stays |
| `Enum` | the text of its value |
| `datetime` | ISO 8601, in UTC when it has a time zone; `date` and `time` likewise |
| `timedelta` | seconds |
| `bytes` and the like | `"base64:"` and the base64 text |
| mapping | object; keys become text, two keys of the same text are refused |
| list, tuple | array |
| set, frozenset | array, sorted by the JSON text of its items |
| numpy scalar or array | the Python number or nested list |
| dataclass, pydantic model | object of its fields |
| anything else | refused by name |

The rule is idempotent: what it returns, it returns unchanged.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping, Set
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

from hindsight_core.errors import ConfigurationError

__all__ = ["MAX_DEPTH", "clean_text", "iso", "json_safe"]

MAX_DEPTH = 32
"""Levels of nesting that are kept; the engines can't read back much deeper values."""

_INT64 = range(-(2**63), 2**63)


def clean_text(text: str) -> str:
    """Return `text` with lone surrogates, which no UTF-8 can hold, replaced by U+FFFD."""
    if text.isascii():
        return str(text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def iso(moment: datetime) -> str:
    """Return `moment` as ISO 8601, in UTC when it has a time zone.

    A moment whose UTC form would fall outside the years 1 to 9999 keeps its own offset.
    """
    if moment.tzinfo is None or moment.tzinfo is UTC:
        return moment.isoformat()
    try:
        return moment.astimezone(UTC).isoformat()
    except OverflowError:
        return moment.isoformat()


def json_safe(value: Any, *, name: str) -> Any:
    """Return `value` as JSON can hold it, by the rule in this module's description.

    Args:
        value: Any value.
        name: How an error calls it, for example `"metadata"`.

    Raises:
        ConfigurationError: If something in it has no JSON form; the message says where.
    """
    return _convert(value, name, 0)


def _convert(value: Any, name: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ConfigurationError(
            f"{name} is nested more than {MAX_DEPTH} levels deep or contains itself; flatten it"
        )
    kind = type(value)
    if kind is str:  # nearly everything is
        return clean_text(value)
    if kind is int and value in _INT64:
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return clean_text(str(value.value))
    scalar = _number_or_text(value)
    if scalar is not None:
        return scalar
    if isinstance(value, Mapping):
        return _object(value, name, depth)
    if isinstance(value, (list, tuple)):
        return [_convert(item, f"{name}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, Set):
        items = [_convert(item, f"{name} item", depth + 1) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    return _convert(_unwrapped(value, name), name, depth + 1)


def _number_or_text(value: Any) -> str | int | float | None:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return int(value) if int(value) in _INT64 else _long_text(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _infinite_text(value)
    if isinstance(value, (Decimal, Fraction, UUID, PurePath)):
        return clean_text(str(value))
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "base64:" + base64.b64encode(value).decode("ascii")
    return None


def _long_text(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # past the interpreter's limit on decimal digits
        return hex(number)


def _infinite_text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "Infinity" if number > 0 else "-Infinity"


def _object(value: Mapping[Any, Any], name: str, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        text = _key(key, name)
        if text in result:
            raise ConfigurationError(
                f"{name} has two keys that both become {text!r} in JSON; rename one"
            )
        result[text] = _convert(item, f"{name}.{text}", depth + 1)
    return result


def _key(key: Any, name: str) -> str:
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, Enum):
        return clean_text(str(key.value))
    scalar = _number_or_text(key)
    if scalar is None:
        raise ConfigurationError(
            f"{name} has a key of type {type(key).__name__}, which JSON can't hold; "
            "use text as the key"
        )
    return str(scalar)


def _unwrapped(value: Any, name: str) -> Any:
    """Return what stands for a numpy, pydantic or dataclass value."""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy" and callable(getattr(value, "tolist", None)):
        return value.tolist()
    if callable(getattr(kind, "model_dump", None)):
        return value.model_dump()
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise ConfigurationError(
        f"{name} is of type {kind.__name__}, which JSON can't hold; "
        "convert it to text, numbers, lists or mappings first"
    )
