"""Memories as JSON, and points as the engines keep them: one rule for all back ends.

Two forms:

- The *payload form* of a memory is a JSON object with its fields under their own names: times
  in ISO 8601 and UTC, the namespace as its key. Exports, `Change.before` and redo logs use it.
- The *stored form* of a point is a flat payload: the fields that filters and orders look at,
  and the payload form itself as one JSON text under `body`, its history as another under
  `history`. Text, because the engines read doubles back a unit in the last place off and
  refuse deep nesting only after they have stored it.

No stored field is a boolean, which filters of the embedded engine never match.
"""

from __future__ import annotations

import base64
import json
import math
import sys
import uuid
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from functools import lru_cache
from typing import Any

from hindsight_core.errors import ConfigurationError, StoreCorruptError
from hindsight_core.models import Change, Context, Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import Point, Record, SparseVector
from hindsight_core.store.jsonsafe import clean_text, iso, json_safe
from hindsight_core.store.words import words_of

__all__ = [
    "changes_from_payload",
    "changes_to_payload",
    "clean_text",
    "json_safe",
    "memory_from_payload",
    "memory_from_stored",
    "memory_to_payload",
    "point_from_json",
    "point_id",
    "point_to_json",
    "ranked",
    "record_from_stored",
    "stored_payload",
]

_POINT_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "hindsight-memory/point")
_TIMES = ("event_time", "created_at", "updated_at", "last_accessed_at", "valid_until")
_TEXT_LISTS = ("tags", "supersedes")
_DEFAULTS: dict[str, Any] = {
    f.name: f.default if f.default is not MISSING else {}
    for f in fields(Memory)
    if f.default is not MISSING or f.default_factory is not MISSING
}
_PLAIN = tuple(
    f.name
    for f in fields(Memory)
    if f.name not in {"namespace", "context", "evidence", "metadata", *_TIMES, *_TEXT_LISTS}
)
_PAYLOAD_DEFAULTS: dict[str, Any] = {
    **_DEFAULTS,
    "tags": [],
    "supersedes": [],
    "evidence": [],
    "context": {"tools_used": [], "parameters": {}, "input_sample": "", "output_sample": ""},
}


def point_id(namespace: Namespace, memory_id: str) -> str:
    """Return the UUID under which a memory is stored, the same for the same two arguments.

    Raises:
        ConfigurationError: If the id is blank or no UTF-8 can hold it.
    """
    if not isinstance(memory_id, str) or not memory_id.strip():
        raise ConfigurationError(f"memory id {memory_id!r} is blank; pass the id of a memory")
    if clean_text(memory_id) != memory_id:
        raise ConfigurationError(f"memory id {memory_id!r} has a lone surrogate; use another id")
    return _uuid_of(f"{namespace.key}\n{memory_id}")


@lru_cache(maxsize=1024)
def _uuid_of(name: str) -> str:
    # A write asks for each of its points three times.
    return str(uuid.uuid5(_POINT_NAMES, name))


def memory_to_payload(memory: Memory) -> dict[str, Any]:
    """Return the payload form of `memory`, with every field.

    Raises:
        ConfigurationError: If its metadata or parameters hold something JSON can't.
    """
    payload: dict[str, Any] = {name: _scalar(getattr(memory, name), name) for name in _PLAIN}
    for name in _TIMES:
        moment = getattr(memory, name)
        payload[name] = None if moment is None else iso(moment)
    for name in _TEXT_LISTS:
        payload[name] = [clean_text(item) for item in getattr(memory, name)]
    payload["namespace"] = memory.namespace.key
    payload["evidence"] = [
        {"run_id": clean_text(e.run_id), "steps": [int(step) for step in e.steps]}
        for e in memory.evidence
    ]
    payload["context"] = {
        "tools_used": [clean_text(tool) for tool in memory.context.tools_used],
        "parameters": json_safe(memory.context.parameters, name="context.parameters"),
        "input_sample": clean_text(memory.context.input_sample),
        "output_sample": clean_text(memory.context.output_sample),
    }
    payload["metadata"] = json_safe(memory.metadata, name="metadata")
    return payload


def _scalar(value: Any, name: str) -> Any:
    """Return a text or number as JSON can hold it; nearly all are that already."""
    kind = type(value)
    if (kind is str and value.isascii()) or (kind is float and math.isfinite(value)):
        return value
    return json_safe(value, name=name)


def memory_from_payload(payload: Mapping[str, Any]) -> Memory:
    """Return the memory whose payload form this is; absent fields take their defaults.

    Raises:
        ConfigurationError: If a field is missing or can't be read, as in an edited export.
    """
    try:
        values = _values(payload)
        return Memory(**values)
    except (ConfigurationError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(
            f"memory {payload.get('id')!r} can't be read from its payload: {_said(error)}"
        ) from error


def changes_to_payload(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return a history as JSON, oldest first."""
    return [
        {
            "version": change.version,
            "at": iso(change.at),
            "reason": clean_text(change.reason),
            "run_id": clean_text(change.run_id),
            "before": json_safe(change.before, name="change.before"),
        }
        for change in changes
    ]


def changes_from_payload(payload: Iterable[Mapping[str, Any]]) -> tuple[Change, ...]:
    """Return the history whose JSON this is.

    Raises:
        ConfigurationError: If a field is missing or can't be read.
    """
    try:
        return tuple(
            Change(
                version=int(item["version"]),
                at=datetime.fromisoformat(item["at"]),
                reason=item["reason"],
                run_id=item["run_id"],
                before=dict(item["before"]),
            )
            for item in payload
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"a history can't be read: {_said(error)}") from error


def point_to_json(point: Point) -> dict[str, Any]:
    """Return `point` as JSON; the dense vector as base64 of little-endian 32-bit floats."""
    return {
        "memory": memory_to_payload(point.memory),
        "changes": changes_to_payload(point.changes),
        "dense": base64.b64encode(_floats(point.dense)).decode("ascii"),
        "sparse": {
            "indices": list(point.sparse.indices),
            "values": list(point.sparse.values),
        },
    }


def point_from_json(value: Mapping[str, Any]) -> Point:
    """Return the point whose JSON this is.

    Raises:
        ConfigurationError: If a field is missing or can't be read.
    """
    try:
        dense = array("f")
        dense.frombytes(base64.b64decode(value["dense"], validate=True))
        sparse = SparseVector(
            tuple(int(i) for i in value["sparse"]["indices"]),
            tuple(float(v) for v in value["sparse"]["values"]),
        )
        memory, changes = value["memory"], value["changes"]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"a point can't be read: {_said(error)}") from error
    if sys.byteorder == "big":
        dense.byteswap()
    return Point(memory_from_payload(memory), tuple(dense), sparse, changes_from_payload(changes))


def ranked(number: float) -> float:
    """Return `number` to the nine decimals that filters and orders see."""
    return round(float(number), 9)


def stored_payload(memory: Memory, changes: Iterable[Change]) -> dict[str, Any]:
    """Return the stored form of a memory and its history, without its vectors.

    Raises:
        ConfigurationError: If it holds something JSON can't.
    """
    payload = memory_to_payload(memory)
    stored: dict[str, Any] = {
        name: payload[name]
        for name in (
            "namespace",
            "id",
            "status",
            "kind",
            "category",
            "task_type",
            "domain",
            "source",
            "outcome",
            "tags",
            "version",
            "event_time",
            "created_at",
            "last_accessed_at",
            "valid_until",
        )
    }
    stored["confidence"] = ranked(memory.confidence)
    stored["importance"] = ranked(memory.importance)
    stored["run_ids"] = sorted({item["run_id"] for item in payload["evidence"]})
    stored["words"] = " ".join(sorted(words_of(payload["content"])))
    stored["body"] = _compact(
        {
            k: v
            for k, v in payload.items()
            if k not in _PAYLOAD_DEFAULTS or v != _PAYLOAD_DEFAULTS[k]
        }
    )
    history = changes_to_payload(changes)
    if history:
        stored["history"] = _compact(history)
    return stored


def memory_from_stored(stored: Mapping[str, Any] | None) -> Memory:
    """Return the memory of a stored form.

    Its fields were validated when they were written, so they are set without validating them
    again: a search builds a hundred memories in the time this saves.

    Raises:
        StoreCorruptError: If the stored form is not one, or is damaged.
    """
    try:
        body: dict[str, Any] = _decode((stored or {})["body"])[0]
        memory = object.__new__(Memory)
        for name, set_field, default in _PLAIN_SLOTS:
            set_field(memory, body.get(name, default) if default is not MISSING else body[name])
        for name, set_field, read in _OTHER_SLOTS:
            set_field(memory, read(body.get(name)))
        if not (memory.event_time and memory.created_at and memory.updated_at):
            raise ValueError("a time is missing")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorruptError(
            f"a stored memory can't be read ({_said(error)}); nothing was changed. "
            "Restore the store from a backup"
        ) from error
    return memory


def record_from_stored(stored: Mapping[str, Any] | None) -> Record:
    """Return the memory of a stored form with its history.

    Raises:
        StoreCorruptError: If the stored form is damaged.
    """
    memory = memory_from_stored(stored)
    history = (stored or {}).get("history")
    if not history:
        return Record(memory)
    try:
        return Record(memory, changes_from_payload(json.loads(history)))
    except (TypeError, ValueError) as error:
        raise StoreCorruptError(
            f"the history of memory {memory.id!r} can't be read ({_said(error)}); "
            "nothing was changed. Restore the store from a backup"
        ) from error


def _values(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Memory`, only those that are given."""
    values: dict[str, Any] = {name: payload[name] for name in _PLAIN if name in payload}
    for name, _, read in _OTHER_SLOTS:
        if payload.get(name) is not None:
            values[name] = read(payload[name])
    return values


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _texts(items: list[str] | None) -> tuple[str, ...]:
    return tuple(items) if items else ()


def _evidence(items: list[dict[str, Any]] | None) -> tuple[Evidence, ...]:
    return tuple([Evidence(e["run_id"], tuple(e["steps"])) for e in items]) if items else ()


def _context(value: dict[str, Any] | None) -> Context:
    if not value:
        return _NO_CONTEXT
    return Context(
        tools_used=tuple(value.get("tools_used", ())),
        parameters=dict(value.get("parameters", {})),
        input_sample=value.get("input_sample", ""),
        output_sample=value.get("output_sample", ""),
    )


def _mapping(value: dict[str, Any] | None) -> dict[str, Any]:
    return dict(value) if value else {}


@lru_cache(maxsize=1024)
def _namespace(key: str) -> Namespace:
    return Namespace.from_key(key)


def _floats(vector: Iterable[float]) -> bytes:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _slot(name: str) -> Callable[[Memory, Any], None]:
    setter: Callable[[Memory, Any], None] = vars(Memory)[name].__set__
    return setter


_decode = json.JSONDecoder().raw_decode
_NO_CONTEXT = Context()
_PLAIN_SLOTS = tuple((name, _slot(name), _DEFAULTS.get(name, MISSING)) for name in _PLAIN)
_READERS: dict[str, Callable[[Any], Any]] = {
    "namespace": _namespace,
    **dict.fromkeys(_TIMES, _moment),
    **dict.fromkeys(_TEXT_LISTS, _texts),
    "evidence": _evidence,
    "context": _context,
    "metadata": _mapping,
}
_OTHER_SLOTS = tuple((name, _slot(name), read) for name, read in _READERS.items())


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _said(error: BaseException) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
