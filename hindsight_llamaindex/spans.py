"""What the spans of LlamaIndex's instrumentation say: where a run begins, and what happened.

Agents report nothing of content in events, but every step, tool call and chat is a span with
its arguments and its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, ToolCallResult
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.tools import BaseTool, ToolOutput
from workflows import Workflow
from workflows.events import StartEvent, StopEvent

from hindsight_core.content import as_text, clean_text, clean_value
from hindsight_llamaindex.messages import text_of
from hindsight_llamaindex.outcomes import said_of_error
from hindsight_llamaindex.turns import turn_of

__all__ = [
    "Node",
    "Opening",
    "RunKind",
    "answer_of",
    "is_content",
    "messages_of_result",
    "messages_of_tool",
    "method_of",
    "name_of",
    "opening_of",
    "run_kind",
]

RunKind: TypeAlias = Literal["agent", "chat", "workflow"]

_CHATS = frozenset({"chat", "achat", "stream_chat", "astream_chat"})
_TOOL_CALLS = frozenset({"call", "acall"})
_ASKED_FIELDS = ("user_msg", "query", "question", "input", "message", "msg", "task", "topic")
_ID_LENGTH = 37
"""Characters of a dash and the UUID at the end of a span's id."""


@dataclass(frozen=True, slots=True)
class Node:
    """A run, or a run inside of it.

    Attributes:
        kind: What runs.
        agent: Name of the sub-agent, `""` for the outermost run.
        depth: Runs around it.
        key: Sets its tool calls apart from those of other runs in the same episode.
    """

    kind: RunKind
    agent: str = ""
    depth: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a run begins with.

    Attributes:
        asked: What was asked, `""` where the run does not say.
        answer_before: The last answer in the history that was handed over.
        memory: The memory that was handed over, `None` if that is not known.
    """

    asked: str = ""
    answer_before: str = ""
    memory: Any = None


def method_of(span_id: str) -> str:
    """Return the name of the method or step that a span is about."""
    return span_id[:-_ID_LENGTH].rpartition(".")[2]


def run_kind(span_id: str, instance: Any) -> RunKind | None:
    """Return what runs in a span, `None` if it is not one of a run as a whole."""
    method = method_of(span_id)
    if method == "run" and isinstance(instance, Workflow):
        is_agent = isinstance(instance, BaseWorkflowAgent | AgentWorkflow)
        return "agent" if is_agent else "workflow"
    return "chat" if method in _CHATS and isinstance(instance, BaseChatEngine) else None


def name_of(instance: Any) -> str:
    """Return what to call a sub-agent."""
    name = getattr(instance, "name", None)
    return clean_text(name) if isinstance(name, str) and name else type(instance).__name__


def opening_of(kind: RunKind, instance: Any, arguments: inspect.BoundArguments) -> Opening:
    """Return what a run begins with, from its object and the arguments of its span."""
    given = arguments.arguments
    if kind == "chat":
        history = given.get("chat_history")
        return Opening(
            text_of(given.get("message")),
            turn_of(_messages(history), text_of(given.get("message"))).answer_before,
            getattr(instance, "_memory", None),
        )
    start = given.get("start_event")
    if not isinstance(start, StartEvent):
        return Opening()
    if kind == "workflow":
        return Opening(_asked_of(start))
    history = start.get("chat_history", default=None)
    user_msg = start.get("user_msg", default=None)
    asked = text_of(user_msg) if isinstance(user_msg, str | ChatMessage) else ""
    turn = turn_of(_messages(history), asked)
    return Opening(asked or turn.text, turn.answer_before, start.get("memory", default=None))


@lru_cache(256)
def is_content(kind: type[Any]) -> bool:
    """Return whether results of this type say what happened; those of most spans don't."""
    return issubclass(kind, AgentOutput | ToolCallResult | ToolOutput)


def messages_of_result(node: Node, method: str, instance: Any, result: Any) -> list[dict[str, Any]]:
    """Return what a finished span inside a run adds to its episode, as message dicts."""
    if isinstance(result, AgentOutput):
        return [_of_output(node, result)]
    if isinstance(result, ToolCallResult):
        return [_of_call_result(node, result)]
    if isinstance(result, ToolOutput) and method in _TOOL_CALLS and node.kind != "agent":
        return messages_of_tool(node, instance, result.raw_input, result)
    return []


def messages_of_tool(
    node: Node, tool: Any, arguments: Any, result: ToolOutput | BaseException
) -> list[dict[str, Any]]:
    """Return a call of a tool outside an agent's own loop, with its result or error."""
    if not isinstance(tool, BaseTool):
        return []
    name = as_text(tool.metadata.name)
    call_id = f"{node.key}call_{id(result)}"
    if isinstance(result, BaseException):
        text, is_error = said_of_error(result), True
    else:
        text, is_error = _output_text(result), result.is_error
    call = {"id": call_id, "name": name, "arguments": clean_value(arguments or {})}
    return [
        _labelled(node, {"role": "assistant", "content": None, "tool_calls": [call]}),
        _labelled(
            node,
            {
                "role": "tool",
                "tool_call_id": call_id,
                "name": name,
                "content": text,
                "is_error": is_error,
            },
        ),
    ]


def answer_of(result: Any) -> str:
    """Return the text of what a run or a chat returned."""
    if isinstance(result, StopEvent):
        result = result.result
    if isinstance(result, AgentOutput):
        return text_of(result.response)
    response = getattr(result, "response", None)
    if isinstance(response, str | ChatMessage):
        return text_of(response)
    return text_of(result) if isinstance(result, ChatMessage) else as_text(clean_value(result))


def _of_output(node: Node, output: AgentOutput) -> dict[str, Any]:
    calls = [
        {"id": node.key + call.tool_id, "name": call.tool_name, "arguments": call.tool_kwargs}
        for call in output.tool_calls
    ]
    return _labelled(
        node,
        {"role": "assistant", "content": text_of(output.response), "tool_calls": calls},
    )


def _of_call_result(node: Node, result: ToolCallResult) -> dict[str, Any]:
    return _labelled(
        node,
        {
            "role": "tool",
            "tool_call_id": node.key + result.tool_id,
            "name": result.tool_name,
            "content": _output_text(result.tool_output),
            "is_error": result.tool_output.is_error,
        },
    )


def _output_text(output: ToolOutput) -> str:
    if output.is_error and output.exception is not None:
        return said_of_error(output.exception)
    others = [f"[{b.block_type}]" for b in output.blocks if b.block_type != "text"]
    return "\n".join([*([output.content] if output.content else []), *others])


def _labelled(node: Node, message: dict[str, Any]) -> dict[str, Any]:
    return message | {"agent": node.agent} if node.agent else message


def _asked_of(start: StartEvent) -> str:
    """Return what a workflow of the user's own was asked: a field with a telling name, or all."""
    given = {key: value for key, value in start.items() if value is not None}
    for name in _ASKED_FIELDS:
        value = given.get(name, getattr(start, name, None))
        if isinstance(value, str | ChatMessage) and text_of(value).strip():
            return text_of(value)
    declared = {name: getattr(start, name) for name in type(start).model_fields}
    told = {key: value for key, value in (declared | given).items() if _is_plain(value)}
    return as_text(clean_value(told)) if told else ""


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | list | dict)


def _messages(history: Any) -> Sequence[ChatMessage]:
    """Return a history that was handed over, nothing where it is none."""
    if not isinstance(history, list | tuple):
        return ()
    return [message for message in history if isinstance(message, ChatMessage)]
