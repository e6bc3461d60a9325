"""LangChain's messages, inputs and outputs as the message dicts that the core reads.

What a run was asked and what it answered stand in many shapes: text, a message, a list of
messages, a state with `messages`, a mapping with a key of the user's own. The rules by which
they are read are here, and shared by everything that records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from hindsight_core.content import as_text
from hindsight_core.trajectory import Trajectory

__all__ = [
    "INPUT_KEYS",
    "OUTPUT_KEYS",
    "answer_of",
    "as_messages",
    "choose_text",
    "current_turn",
    "message_dict",
    "message_dicts",
    "question_of",
    "trajectory_from_messages",
]

INPUT_KEYS = ("input", "question", "query", "user_input", "human_input", "prompt", "text", "task")
"""Keys under which a mapping's question is looked for, in this order."""
OUTPUT_KEYS = ("output", "answer", "result", "response", "text", "content")
"""Keys under which a mapping's answer is looked for, in this order."""

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def message_dict(message: BaseMessage) -> dict[str, Any]:
    """Return one message as an OpenAI-style dict, with calls whose arguments were unreadable."""
    role = _ROLES.get(message.type.removesuffix("MessageChunk").lower(), "")
    found: dict[str, Any] = {"role": role or _role(message), "content": message.content}
    if isinstance(message, ToolMessage):
        found |= {
            "tool_call_id": message.tool_call_id,
            "name": message.name or "",
            "status": message.status,
        }
    elif isinstance(message, AIMessage):
        found["tool_calls"] = [
            *(
                {"id": call["id"] or "", "name": call["name"], "args": call["args"]}
                for call in message.tool_calls
            ),
            *(
                {"id": call["id"] or "", "name": call["name"] or "", "args": call["args"] or ""}
                for call in message.invalid_tool_calls
            ),
        ]
    return found


def _role(message: BaseMessage) -> str:
    given = str(getattr(message, "role", "") or message.type).lower()
    if "function" in given:
        return "function"
    known = (("user", "user"), ("human", "user"), ("ai", "assistant"), ("assistant", "assistant"))
    return next((role for mark, role in known if given.startswith(mark)), "system")


def message_dicts(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages as OpenAI-style dicts."""
    return [message_dict(message) for message in messages]


def trajectory_from_messages(messages: Iterable[Any], *, run_id: str, **options: Any) -> Trajectory:
    """Build a run from LangChain messages, or whatever LangChain takes for messages.

    Args:
        messages: Messages, `(role, text)` pairs, dicts or texts.
        run_id: Unique within its namespace.
        options: As in `Trajectory.from_messages`.

    Raises:
        TrajectoryError: If a message can't be read.
    """
    found = as_messages(list(messages))
    return Trajectory.from_messages(message_dicts(found), run_id=run_id, **options)


def as_messages(value: Any) -> list[BaseMessage]:
    """Return the messages that `value` is or holds, `[]` if it holds none."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, Mapping):
        return as_messages(value["messages"]) if "messages" in value else []
    if hasattr(value, "to_messages"):
        return list(value.to_messages())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if not value:
            return []
        try:
            return list(convert_to_messages(value))
        except (ValueError, TypeError, NotImplementedError, KeyError):
            return []
    fields = _fields(value)
    return as_messages(fields["messages"]) if "messages" in fields else []


def current_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what is new in an input: all after the last answer, without instructions.

    A caller without a checkpointer hands over the whole conversation every time; only its end
    is this run's. An input that ends with an answer is read from its last question on.
    """
    start = 0
    for position, message in enumerate(messages):
        if isinstance(message, AIMessage) and not message.tool_calls:
            start = position + 1
    if not any(isinstance(message, HumanMessage | ToolMessage) for message in messages[start:]):
        questions = [i for i, m in enumerate(messages) if isinstance(m, HumanMessage)]
        start = questions[-1] if questions else len(messages)
    return [m for m in messages[start:] if not isinstance(m, SystemMessage)]


def question_of(inputs: Any) -> list[dict[str, Any]]:
    """Return what a run was asked, as message dicts; `[]` if there is nothing to be read."""
    messages = as_messages(inputs)
    if messages:
        return message_dicts(current_turn(messages))
    text = inputs if isinstance(inputs, str) else choose_text(_fields(inputs), INPUT_KEYS)
    return [{"role": "user", "content": text}] if text.strip() else []


def answer_of(outputs: Any) -> str:
    """Return what a run answered, `""` if that is not text."""
    if isinstance(outputs, str):
        return outputs
    messages = as_messages(outputs)
    if messages:
        last = messages[-1]
        return last.text if isinstance(last, AIMessage) else ""
    fields = _fields(outputs)
    for key in OUTPUT_KEYS:
        if key in fields:
            return answer_of(fields[key])
    return ""


def choose_text(fields: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the text that a mapping is about: of a known key, or of all texts by name.

    Args:
        fields: The mapping.
        keys: The known keys, in order of preference.
    """
    for key in keys:
        text = _plain(fields.get(key))
        if text:
            return text
    texts = {key: _plain(value) for key, value in fields.items()}
    texts = {key: text for key, text in texts.items() if text}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n".join(f"{key}: {text}" for key, text in texts.items())


def _plain(value: Any) -> str:
    if isinstance(value, BaseMessage):
        return value.text
    return as_text(value) if isinstance(value, str) else ""


def _fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of a mapping, a dataclass or a pydantic model, `{}` of anything else."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)
    return {name: getattr(value, name, None) for name in names} if names else {}
