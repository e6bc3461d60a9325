r"""Trajectories as bytes and back, exactly.

A trajectory becomes compact JSON in UTF-8, then zlib. Lone surrogates, NUL and texts of any
size come back as they were: the JSON is written without `\u` escapes and encoded with
`surrogatepass`, because escapes would merge two neighboring surrogates into one character.

Tool arguments and metadata are meant to be JSON-safe. What is not is brought into that form
by one rule rather than losing the run: mappings become objects with text keys, sequences and
sets become arrays, times become ISO 8601 text, bytes become text with backslash escapes,
everything else becomes its `str()`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from typing import Any

from hindsight_core.errors import TrajectoryError
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Outcome, Trajectory

__all__ = [
    "decode_trajectory",
    "encode_trajectory",
    "json_safe",
    "step_from_document",
    "step_to_document",
]

COMPRESSION_LEVEL = 3
"""zlib level: a 5 MB log is packed in well under 100 ms and is hardly larger than at 9."""

SMALL = 32_768
"""Bytes up to which a window of 8 kB is enough."""

_TEXT_FIELDS = ("text", "tool_call_id", "tool_name", "agent")


def encode_trajectory(trajectory: Trajectory) -> bytes:
    """Return `trajectory` as compressed JSON.

    Raises:
        TrajectoryError: If its arguments or metadata are nested too deeply or in a circle, or
            hold an integer too long to be written down.
    """
    try:
        text = json.dumps(
            _trajectory_to_document(trajectory), ensure_ascii=False, separators=(",", ":")
        )
    except (RecursionError, ValueError) as error:
        raise TrajectoryError(
            f"run {trajectory.run_id!r} can't be written down ({error}); "
            "flatten its tool arguments or metadata"
        ) from error
    return _packed(text.encode("utf-8", "surrogatepass"))


def _packed(data: bytes) -> bytes:
    # Setting up zlib's full window takes longer than packing a usual run with a small one.
    window, memory = (zlib.MAX_WBITS, 8) if len(data) > SMALL else (13, 6)
    packer = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, window, memory)
    return packer.compress(data) + packer.flush()


def decode_trajectory(data: bytes) -> Trajectory:
    """Return the trajectory that `encode_trajectory` made `data` from.

    Raises:
        TrajectoryError: If `data` is damaged.
    """
    try:
        document = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
        return _trajectory_from_document(document)
    except (
        zlib.error,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise TrajectoryError(f"the recorded log of a run is damaged: {error}") from error


def step_to_document(step: Step) -> dict[str, Any]:
    """Return `step` as a JSON-safe object that leaves out what is empty."""
    document: dict[str, Any] = {"kind": step.kind}
    for name in _TEXT_FIELDS:
        value = getattr(step, name)
        if value:
            document[name] = value
    if step.tool_calls:
        document["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": json_safe(call.arguments)}
            for call in step.tool_calls
        ]
    if step.is_error:
        document["is_error"] = True
    if step.at is not None:
        document["at"] = step.at.isoformat()
    return document


def step_from_document(document: Mapping[str, Any]) -> Step:
    """Return the step that `step_to_document` made `document` from.

    Raises:
        LookupError: If a key is missing.
        TypeError: If a value has another type than it should.
        ValueError: If a time can't be read.
    """
    return Step(
        kind=document["kind"],
        tool_calls=tuple(
            ToolCall(call["id"], call["name"], call["arguments"])
            for call in document.get("tool_calls", ())
        ),
        is_error=document.get("is_error", False),
        at=_time(document.get("at")),
        **{name: document.get(name, "") for name in _TEXT_FIELDS},
    )


def json_safe(value: Any) -> Any:
    """Return `value` in JSON's own types, unchanged where it already is.

    Raises:
        RecursionError: If it is nested too deeply or in a circle.
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {_key(key): json_safe(item) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, AbstractSet):
        return sorted((json_safe(item) for item in value), key=repr)
    if isinstance(value, Sequence):
        return [json_safe(item) for item in value]
    return str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(json_safe(key))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _trajectory_to_document(trajectory: Trajectory) -> dict[str, Any]:
    outcome = trajectory.outcome
    return {
        "run_id": trajectory.run_id,
        "steps": [step_to_document(step) for step in trajectory.steps],
        "outcome": [outcome.label, outcome.source, outcome.reason],
        "task": trajectory.task,
        "task_type": trajectory.task_type,
        "session_id": trajectory.session_id,
        "started_at": trajectory.started_at and trajectory.started_at.isoformat(),
        "ended_at": trajectory.ended_at and trajectory.ended_at.isoformat(),
        "metadata": json_safe(trajectory.metadata),
    }


def _trajectory_from_document(document: Mapping[str, Any]) -> Trajectory:
    return Trajectory(
        run_id=document["run_id"],
        steps=tuple(step_from_document(step) for step in document["steps"]),
        outcome=Outcome(*document["outcome"]),
        task=document["task"],
        task_type=document["task_type"],
        session_id=document["session_id"],
        started_at=_time(document["started_at"]),
        ended_at=_time(document["ended_at"]),
        metadata=document["metadata"],
    )
