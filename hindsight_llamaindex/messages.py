"""LlamaIndex messages: to message dicts, what of them is sent, and without a brief.

What leaves the memory is always a copy. The framework edits messages in place (an agent's
state prompt, for example), and none of that may reach the chat store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ContentBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from hindsight_core.content import as_text, clean_value, read_arguments, read_call
from hindsight_core.safety.marks import MARK, strip_marked

__all__ = [
    "call_ids",
    "calls_of",
    "copied",
    "result_id",
    "text_of",
    "to_dict",
    "weight",
    "without_brief",
]

MESSAGE_TOKENS = 4
"""Tokens that the wrapping of one message is taken to cost."""

MEDIA_TOKENS = 256
"""Tokens of an image, a recording or a document, as LlamaIndex itself estimates them."""

_QUIET_KEYS = frozenset({"tool_calls", "tool_call_id", "images", "session_id"})
"""Keys of `additional_kwargs` that are counted elsewhere, or not sent as text."""


def text_of(message: ChatMessage | str | None) -> str:
    """Return the text of a message, `""` where it has none."""
    if message is None or isinstance(message, str):
        return message or ""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))


def calls_of(message: ChatMessage) -> list[Mapping[str, Any]]:
    """Return the tool calls of a message as dicts with `id`, `name` and `arguments`."""
    blocks = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if blocks:
        return [
            {"id": b.tool_call_id or "", "name": b.tool_name, "arguments": b.tool_kwargs}
            for b in blocks
        ]
    listed = message.additional_kwargs.get("tool_calls")
    if not isinstance(listed, list | tuple):
        return []
    calls: list[Mapping[str, Any]] = []
    for call in listed:
        plain = call if isinstance(call, Mapping) else _dumped(call)
        if plain is not None:
            raw = read_call(plain)
            calls.append({"id": raw.id, "name": raw.name, "arguments": raw.arguments})
    return calls


def call_ids(message: ChatMessage) -> list[str]:
    """Return the ids of a message's tool calls, `""` for a call without one."""
    return [str(call["id"]) for call in calls_of(message)]


def result_id(message: ChatMessage) -> str:
    """Return the id of the call that a tool message answers, `""` if it names none."""
    return as_text(message.additional_kwargs.get("tool_call_id"))


def to_dict(message: ChatMessage, *, agent: str = "") -> dict[str, Any]:
    """Return a message as a dict for `hindsight_core.messages.steps_from_messages`."""
    found: dict[str, Any] = {"role": message.role.value, "content": text_of(message)}
    if message.role is MessageRole.CHATBOT:
        found["role"] = "assistant"
    calls = calls_of(message)
    if calls and found["role"] == "assistant":
        found["tool_calls"] = calls
    if message.role in (MessageRole.TOOL, MessageRole.FUNCTION):
        found["tool_call_id"] = result_id(message)
        found["name"] = as_text(message.additional_kwargs.get("name"))
    if agent:
        found["agent"] = agent
    return found


def weight(message: ChatMessage, count_tokens: Callable[[str], int]) -> int:
    """Return the tokens of a message as it is sent: text, thinking, calls, media, wrapping."""
    parts: list[str] = []
    media = 0
    for block in message.blocks:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ThinkingBlock):
            parts.append(block.content or "")
        elif not isinstance(block, ToolCallBlock):
            media += MEDIA_TOKENS
    parts += [_call_text(call) for call in calls_of(message)]
    rest = {k: v for k, v in message.additional_kwargs.items() if k not in _QUIET_KEYS}
    if rest:
        parts.append(as_text(clean_value(rest)))
    return count_tokens("\n".join(parts)) + media + MESSAGE_TOKENS


def copied(message: ChatMessage, blocks: Sequence[ContentBlock] | None = None) -> ChatMessage:
    """Return a copy whose blocks can be edited without touching the original."""
    kept = message.blocks if blocks is None else blocks
    return message.model_copy(
        update={
            "blocks": [block.model_copy() for block in kept],
            "additional_kwargs": dict(message.additional_kwargs),
        }
    )


def without_brief(message: ChatMessage) -> ChatMessage | None:
    """Return `message` without recalled blocks, `None` if it was nothing else."""
    if not any(isinstance(b, TextBlock) and MARK in b.text.lower() for b in message.blocks):
        return message
    kept: list[ContentBlock] = []
    for block in message.blocks:
        if not isinstance(block, TextBlock):
            kept.append(block)
            continue
        text = strip_marked(block.text)
        if text == block.text:
            kept.append(block)
        elif text.strip():
            kept.append(TextBlock(text=text))
    return copied(message, kept) if kept else None


def _call_text(call: Mapping[str, Any]) -> str:
    arguments = read_arguments(call["arguments"])
    return f"{call['id']} {call['name']} {json.dumps(arguments, ensure_ascii=False)}"


def _dumped(call: Any) -> Mapping[str, Any] | None:
    dump = getattr(call, "model_dump", None)
    found = dump() if callable(dump) else None
    return found if isinstance(found, Mapping) else None
