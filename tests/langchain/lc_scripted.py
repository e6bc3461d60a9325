"""A chat model that follows a script, and the tools and agents that tests run with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from hindsight_core.hindsight import Hindsight
from hindsight_core.trajectory import Trajectory

Reply = AIMessage | str | Exception | Callable[[list[BaseMessage]], Any]


class ScriptedChat(BaseChatModel):
    """Answers by a function of the messages, or with prepared replies by their number."""

    script: Any
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.seen.append(messages)
        reply = self.script
        if isinstance(reply, list):
            answered = sum(isinstance(message, AIMessage) for message in messages)
            reply = reply[min(answered, len(reply) - 1)]
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        message = AIMessage(content=reply) if isinstance(reply, str) else reply.model_copy()
        return ChatResult(generations=[ChatGeneration(message=message)])


def calls(*asked: tuple[str, dict[str, Any], str], text: str = "") -> AIMessage:
    """Return a message that asks for tools, each as name, arguments and id."""
    return AIMessage(
        content=text,
        tool_calls=[{"name": name, "args": args, "id": call_id} for name, args, call_id in asked],
    )


def ask(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


@tool
def lookup(item: str) -> str:
    """Look up the price of an item."""
    return f"{item} costs 7"


@tool
def broken(item: str) -> str:
    """Fail."""
    raise ValueError(f"no such item: {item}")


def journaled(h: Hindsight) -> list[Trajectory]:
    """Return the runs of a namespace, oldest first."""
    found = h._scope.engine.journal.runs((h.namespace,), limit=1_000)
    return [run.trajectory for run in reversed(found)]
