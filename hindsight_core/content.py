"""What a message holds, read leniently: text, content blocks, arguments.

Shared by everything that reads messages. Two documented rules live here:

* *Clean text*: a NUL and every half of a surrogate pair without its other half become U+FFFD;
  halves that belong together are joined. All else is kept as it is.
* *Block text*: texts of blocks stand on lines of their own; pictures and other media become a
  note such as `[image]`; thinking is left out, because it is not what was said.

What tells that a tool failed is known by `hindsight_core.failure_signs`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hindsight_core.failure_signs import looks_like_error
from hindsight_core.json_text import read_json

__all__ = [
    "Content",
    "RawCall",
    "RawResult",
    "as_mapping",
    "as_text",
    "clean_text",
    "clean_value",
    "read_arguments",
    "read_call",
    "read_content",
]

MAX_DEPTH = 40
"""Levels of nesting that are kept of a value; what lies deeper becomes a note."""

HIDDEN_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "tool_call", "function_call"})
RESULT_BLOCKS = frozenset({"tool_result", "function_call_output"})
ATTRIBUTES = (
    *("role", "content", "blocks", "refusal", "name", "agent", "metadata"),
    *("tool_calls", "function_call", "tool_call_id", "tool_call_ids", "status", "is_error"),
    *("timestamp", "created_at", "id", "type", "function", "args", "arguments"),
)
"""Attributes that are read of an object that stands for a message or a call."""

NOTES = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
    "video_url": "[video]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
}


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as found, before it has an id of its own.

    Attributes:
        id: The id as given, `""` if none.
        name: The tool's name, `""` if none.
        arguments: The arguments, JSON-safe.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RawResult:
    """A tool result as found, before it is paired with its call.

    Attributes:
        id: Id of the call as given, `""` if none.
        name: The tool's name, `""` if none.
        text: What the tool returned.
        is_error: Whether it reports a failure.
    """

    id: str
    name: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Content:
    """What the content of one message holds.

    Attributes:
        text: All that is text.
        calls: Tool calls that stand as blocks.
        results: Tool results that stand as blocks.
    """

    text: str = ""
    calls: tuple[RawCall, ...] = field(default=())
    results: tuple[RawResult, ...] = field(default=())


_MAPPINGS = (dict, Mapping)
"""The plain type first: asking the abstract one takes several times as long."""


def clean_text(text: str) -> str:
    """Return `text` such that it can be encoded as UTF-8 and holds no NUL."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def clean_value(value: Any, depth: int = 0) -> Any:
    """Return `value` as JSON-safe data: texts cleaned, keys as text, no NaN, no strange type."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "[nested too deep]"
    if isinstance(value, _MAPPINGS):
        return {clean_text(str(key)): clean_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, bytes | bytearray):
        return f"[{len(value)} bytes]"
    if isinstance(value, Sequence | set | frozenset):
        return [clean_value(item, depth + 1) for item in value]
    return clean_text(str(value))


def as_text(value: Any) -> str:
    """Return any value as text: `""` for nothing, JSON for data."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean_text(value)
    return json.dumps(clean_value(value), ensure_ascii=False)


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """Return a message or a call as a mapping, `None` if it is neither.

    Takes mappings, objects with `model_dump()`, and objects with the attributes of a message
    (`role`) or of a call (`function`, or `name` and `arguments`).
    """
    if isinstance(value, _MAPPINGS):
        return value
    dump = getattr(value, "model_dump", None)
    dumped = dump() if callable(dump) and not isinstance(value, type) else None
    if isinstance(dumped, Mapping):
        return dumped
    found = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    is_told = "role" in found or "function" in found or {"name", "arguments"} <= found.keys()
    return found if is_told else None


def read_arguments(value: Any) -> Mapping[str, Any]:
    """Return tool arguments as a mapping; what is not a JSON object stands under `"_raw"`."""
    if isinstance(value, _MAPPINGS):
        cleaned: Mapping[str, Any] = clean_value(value)
        return cleaned
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    parsed = read_json(value) if isinstance(value, str) else None
    if isinstance(parsed, Mapping):
        return read_arguments(parsed)
    return {"_raw": as_text(value)}


def read_content(content: Any) -> Content:
    """Read the `content` of a message: text, `None`, one block or a list of blocks."""
    if isinstance(content, str):
        return Content(text=clean_text(content))
    if isinstance(content, Mapping) and _block_type(content):
        content = [content]
    if not _is_blocks(content):
        return Content(text=as_text(content))
    texts: list[str] = []
    calls: list[RawCall] = []
    results: list[RawResult] = []
    for block in content:
        kind = _block_type(block)
        if kind in CALL_BLOCKS:
            calls.append(read_call(block))
        elif kind in RESULT_BLOCKS:
            results.append(_read_result(block))
        else:
            texts.append(_block_text(block, kind))
    return Content("\n".join(t for t in texts if t), tuple(calls), tuple(results))


def read_call(call: Mapping[str, Any]) -> RawCall:
    """Read a tool call in the form of OpenAI, Anthropic, LangChain or LlamaIndex."""
    inner = as_mapping(call.get("function") or call.get("custom")) or call
    name = inner.get("name") or inner.get("tool_name") or call.get("name")
    keys = ("arguments", "args", "input", "kwargs", "tool_kwargs")
    value = next((inner[key] for key in keys if inner.get(key) is not None), None)
    if isinstance(value, str) and inner is call.get("custom"):
        value = {"input": value}
    given = call.get("id") or call.get("tool_id") or call.get("tool_call_id") or call.get("call_id")
    return RawCall(as_text(given), as_text(name), read_arguments(value))


def _read_result(block: Mapping[str, Any]) -> RawResult:
    text = read_content(block.get("content", block.get("output"))).text
    given = block.get("tool_use_id") or block.get("tool_call_id") or block.get("call_id")
    failed = block.get("is_error") is True or looks_like_error(text)
    return RawResult(as_text(given), as_text(block.get("name")), text, failed)


def _is_blocks(content: Any) -> bool:
    """Whether `content` is a list of blocks rather than a tool's data that is a list."""
    if not isinstance(content, list | tuple):
        return False
    return all(item is None or isinstance(item, str) or _block_type(item) for item in content)


def _block_type(block: Any) -> str:
    if not isinstance(block, Mapping):
        return ""
    kind = block.get("type") or block.get("block_type") or ("text" if "text" in block else "")
    return kind if isinstance(kind, str) else ""


def _block_text(block: Any, kind: str) -> str:
    if not isinstance(block, Mapping):
        return as_text(block)
    if kind in HIDDEN_BLOCKS:
        return ""
    if kind in NOTES:
        name = block.get("filename") or block.get("title")
        return f"{NOTES[kind][:-1]} {name}]" if isinstance(name, str) and name else NOTES[kind]
    value = block.get("refusal" if kind == "refusal" else "text")
    if isinstance(value, Mapping):
        value = value.get("value")
    return as_text(value) if isinstance(value, str) else f"[{clean_text(kind)[:40]}]"
