"""OpenAI-style messages to steps: every tool result beside its call, nothing reads "None".

Takes dicts, and objects with `model_dump()` or with `role` and `content` attributes. Message
types of LangChain and LlamaIndex are the adapters' job.

How calls and results find each other: by id; without an id by the tool's name, else by order.
Call ids that are missing or used twice get a stable unique one. Results that answer calls of one
assistant message stand in the order of the calls, however they arrived. A call that was never
answered is followed by a `note` step, and so is a result that answers no call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from hindsight_core.content import (
    RawCall,
    RawResult,
    as_mapping,
    as_text,
    clean_text,
    read_call,
    read_content,
)
from hindsight_core.cutting import clipped
from hindsight_core.errors import TrajectoryError
from hindsight_core.failure_signs import looks_like_error
from hindsight_core.steps import Step, StepKind, ToolCall

__all__ = ["steps_from_messages"]

ROLES: Mapping[str, StepKind] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
    "error": "error",
}
UNKNOWN_TOOL = "unknown_tool"
"""Stands for the name of a tool that was called without one."""

ORPHAN_NOTE = "this result answers no recorded call"


def steps_from_messages(messages: Any) -> tuple[Step, ...]:
    """Return the steps of OpenAI-style `messages`, in order.

    Args:
        messages: Message dicts with `role` (`system`, `developer`, `user`, `assistant`, `tool`,
            `function`), `content` (text, `None`, missing or a list of blocks, also those of
            Anthropic), `tool_calls` (of OpenAI or LangChain), `function_call`, `tool_call_id`,
            `name`, `status`, `is_error`, `agent`, and `timestamp` (aware ISO text or seconds
            since 1970).

    Raises:
        TrajectoryError: If a message has no known role or is no message; says which and why.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise TrajectoryError(
            f"messages are {_shown(messages)}, not a list; pass a list of message dicts"
        )
    thread = _Thread()
    for index, message in enumerate(messages):
        _add(thread, index, _as_mapping(index, message))
    return thread.finish()


@dataclass(slots=True)
class _Thread:
    """The steps so far, and which calls are still open."""

    steps: list[Step] = field(default_factory=list)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    given: dict[str, list[str]] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)

    def open_call(self, raw: RawCall, made_up: str) -> ToolCall:
        """Give a call its unique id and remember it as open."""
        base = raw.id.strip() or made_up
        unique, count = base, 1
        while unique in self.calls:
            count += 1
            unique = f"{base}#{count}"
        call = ToolCall(unique, raw.name.strip() or UNKNOWN_TOOL, raw.arguments)
        self.calls[unique] = call
        if raw.id.strip():
            self.given.setdefault(base, []).append(unique)
        else:
            self.unnamed.add(unique)
        return call

    def find_call(self, result: RawResult) -> ToolCall | None:
        """Return the call that `result` answers, `None` if there is none."""
        same_id = self.given.get(result.id.strip(), [])
        if same_id:
            waiting = [i for i in same_id if i not in self.answered]
            return self.calls[waiting[0] if waiting else same_id[-1]]
        waiting = [i for i in self.calls if i not in self.answered]
        if result.id.strip():
            waiting = [i for i in waiting if i in self.unnamed]
        if result.name:
            named = [i for i in waiting if self.calls[i].name in (result.name, UNKNOWN_TOOL)]
            waiting = named
        return self.calls[waiting[0]] if waiting else None

    def add_result(self, result: RawResult, agent: str, at: datetime | None) -> None:
        """Append a result, paired with its call where there is one."""
        call = self.find_call(result)
        step = Step(
            kind="tool_result",
            text=result.text,
            tool_call_id=call.id if call else "",
            tool_name=call.name if call else result.name,
            is_error=result.is_error,
            agent=agent,
            at=at,
        )
        self.steps.append(step)
        if call:
            self.answered.add(call.id)
        else:
            self.steps.append(
                Step(kind="note", text=ORPHAN_NOTE, tool_name=result.name, agent=agent)
            )

    def finish(self) -> tuple[Step, ...]:
        """Return all steps, results in the order of their calls, open calls noted."""
        position = {call_id: place for place, call_id in enumerate(self.calls)}
        done: list[Step] = []
        block: list[Step] = []
        missing: list[Step] = []
        for step in self.steps:
            if step.kind in ("tool_result", "note"):
                block.append(step)
                continue
            done += _ordered(block, position) + missing
            done.append(step)
            block, missing = [], self._notes(step)
        done += _ordered(block, position) + missing
        return tuple(done)

    def _notes(self, step: Step) -> list[Step]:
        return [
            Step(
                kind="note",
                text=f"no result recorded for {call.name}",
                tool_call_id=call.id,
                tool_name=call.name,
                agent=step.agent,
            )
            for call in step.tool_calls
            if call.id not in self.answered
        ]


def _ordered(block: list[Step], position: Mapping[str, int]) -> list[Step]:
    """Sort paired results by their calls; a result without one keeps to the front, noted."""
    return sorted(block, key=lambda step: position.get(step.tool_call_id, -1))


def _add(thread: _Thread, index: int, message: Mapping[str, Any]) -> None:
    kind = _kind(index, message)
    content = read_content(message.get("content", message.get("blocks")))
    agent, at = _agent(message), _moment(message)
    if kind == "tool_result":
        thread.add_result(_result(message, content.text), agent, at)
        return
    for result in content.results:
        thread.add_result(result, agent, at)
    if content.results and not content.text:
        return
    text = content.text or as_text(message.get("refusal"))
    calls: tuple[ToolCall, ...] = ()
    if kind == "assistant":
        raw = _raw_calls(index, message, content.calls)
        calls = tuple(
            thread.open_call(call, f"call_{index}_{place}") for place, call in enumerate(raw)
        )
    thread.steps.append(Step(kind=kind, text=text, tool_calls=calls, agent=agent, at=at))


def _result(message: Mapping[str, Any], text: str) -> RawResult:
    many = message.get("tool_call_ids")
    first = many[0] if isinstance(many, list | tuple) and many else None
    failed = (
        message.get("is_error") is True
        or str(message.get("status") or "").lower() in ("error", "failed")
        or looks_like_error(text)
    )
    given = as_text(message.get("tool_call_id") or first)
    return RawResult(given, as_text(message.get("name")).strip(), text, failed)


def _raw_calls(
    index: int, message: Mapping[str, Any], blocks: tuple[RawCall, ...]
) -> list[RawCall]:
    """Return the calls of an assistant message; one told as block and as call counts once."""
    listed = message.get("tool_calls") or []
    if isinstance(listed, Mapping) or not isinstance(listed, list | tuple):
        raise TrajectoryError(
            f"message {index} has tool_calls {_shown(listed)}, not a list; pass a list of calls"
        )
    calls = [read_call(_as_mapping(index, call)) for call in listed]
    if message.get("function_call"):
        calls.append(read_call(_as_mapping(index, message["function_call"])))
    known = {call.id for call in calls if call.id}
    return [call for call in blocks if not call.id or call.id not in known] + calls


def _kind(index: int, message: Mapping[str, Any]) -> StepKind:
    role = message.get("role")
    role = role.value if isinstance(role, Enum) else role
    kind = ROLES.get(role.strip().lower()) if isinstance(role, str) else None
    if kind is None:
        raise TrajectoryError(
            f"message {index} has the role {_shown(role)}; "
            "use system, developer, user, assistant, tool or function"
        )
    return kind


def _agent(message: Mapping[str, Any]) -> str:
    agent = message.get("agent")
    metadata = message.get("metadata")
    if not agent and isinstance(metadata, Mapping):
        agent = metadata.get("agent")
    return clean_text(agent) if isinstance(agent, str) else ""


def _moment(message: Mapping[str, Any]) -> datetime | None:
    """Return the time of a message where it is given beyond doubt, in UTC."""
    value = next((message[k] for k in ("timestamp", "created_at") if message.get(k)), None)
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC) if math.isfinite(value) else None
    except (ValueError, OverflowError, OSError):
        return None
    return value if isinstance(value, datetime) and value.tzinfo is not None else None


def _as_mapping(index: int, message: Any) -> Mapping[str, Any]:
    """Return a message or call as a mapping, whatever way it is told."""
    found = as_mapping(message)
    if found is None:
        raise TrajectoryError(
            f"message {index} is {_shown(message)}; pass dicts with role and content"
        )
    return found


def _shown(value: Any) -> str:
    """Return a short repr for a message to people."""
    return clipped(clean_text(repr(value)), 80)
