"""Runs told as messages, and as the trace of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindsight_core.content import as_text, read_arguments
from hindsight_core.failure_signs import looks_like_error
from hindsight_core.messages import steps_from_messages
from hindsight_core.runs.readers.base import (
    PENDING_ID,
    Source,
    read_metadata,
    read_moment,
    read_outcome,
    require,
    short,
)
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Trajectory

__all__ = ["read_messages", "read_trace"]


def read_messages(value: Any, source: Source) -> Trajectory:
    """Read `{"messages": [...], "run_id"?, "outcome"?, ...}` or a bare list of messages."""
    run = value if isinstance(value, Mapping) else {"messages": value}
    return _trajectory(run, steps_from_messages(run.get("messages")), source)


def read_trace(value: Any, source: Source) -> Trajectory:
    """Read `{"session_id"?, "trace": [{"step", "action", "input", "output"}], ...}`.

    Each entry is one call of the tool `action` with `input`, answered by `output`. An entry
    that has an `error` failed. An entry without an output gets a note.
    """
    entries = value.get("trace") if isinstance(value, Mapping) else None
    require(isinstance(entries, list), f"{short(value)} has no list of steps under 'trace'")
    task = as_text(value.get("task"))
    steps = [Step("user", task)] if task else []
    for index, entry in enumerate(entries or []):
        require(isinstance(entry, Mapping), f"trace step {index} is {short(entry)}, not an object")
        steps += _entry_steps(index, entry)
    return _trajectory(value, tuple(steps), source)


def _entry_steps(index: int, entry: Mapping[str, Any]) -> list[Step]:
    action = as_text(entry.get("action")).strip() or "unknown_tool"
    told = entry.get("input")
    arguments = read_arguments(told)
    if "_raw" in arguments and len(arguments) == 1:
        arguments = {"input": as_text(told)}
    call = ToolCall(f"call_{index}", action, arguments)
    asked = Step("assistant", as_text(entry.get("thought")), tool_calls=(call,))
    error = entry.get("error")
    if error:
        text = as_text(entry.get("output")) or as_text(error)
        return [asked, Step("tool_result", text, (), call.id, action, is_error=True)]
    if "output" not in entry:
        text = f"no result recorded for {action}"
        return [asked, Step("note", text, tool_call_id=call.id, tool_name=action)]
    text = as_text(entry["output"])
    return [asked, Step("tool_result", text, (), call.id, action, is_error=looks_like_error(text))]


def _trajectory(run: Mapping[str, Any], steps: tuple[Step, ...], source: Source) -> Trajectory:
    require(bool(steps), "the run has no steps")
    given = run.get("run_id", run.get("id"))
    return Trajectory(
        run_id=as_text(given).strip() or PENDING_ID,
        steps=steps,
        outcome=read_outcome(run),
        task=as_text(run.get("task")),
        task_type=as_text(run.get("task_type")),
        session_id=as_text(run.get("session_id", run.get("thread_id"))),
        started_at=read_moment(run.get("started_at"), "started_at", source),
        ended_at=read_moment(run.get("ended_at"), "ended_at", source),
        metadata=read_metadata(run.get("metadata")),
    )
