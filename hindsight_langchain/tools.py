"""Tools by which an agent uses its memory itself: store, retrieve, feedback, forget."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException

from hindsight_core.errors import HindsightError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Category
from hindsight_core.telling import tell_forgotten, tell_found, tell_judged, tell_stored
from hindsight_langchain.identity import Identity, NamespaceRule, config_values

__all__ = ["ToolVerb", "hindsight_tools"]

ToolVerb: TypeAlias = Literal["store", "retrieve", "feedback", "forget"]


def hindsight_tools(
    hindsight: Hindsight,
    *,
    namespace: NamespaceRule = None,
    only: Sequence[ToolVerb] = ("store", "retrieve", "feedback", "forget"),
) -> list[BaseTool]:
    """Return tools for an agent, each acting on the memory of the user of its run.

    What `memory_retrieve` returns is marked, so that it is not learned again. A refusal, such
    as an unknown id, goes to the model as a failed result and never ends the run.

    Args:
        hindsight: The memory.
        namespace: Whose memory: as for `HindsightCallbackHandler`; keys of `configurable`
            count as well.
        only: The verbs to offer.
    """
    verbs = _Verbs(hindsight, Identity(namespace))
    made: Mapping[ToolVerb, Callable[[], BaseTool]] = {
        "store": lambda: _tool("memory_store", verbs.store, verbs.astore),
        "retrieve": lambda: _tool("memory_retrieve", verbs.retrieve, verbs.aretrieve),
        "feedback": lambda: _tool("memory_feedback", verbs.feedback, verbs.afeedback),
        "forget": lambda: _tool("memory_forget", verbs.forget, verbs.aforget),
    }
    return [made[verb]() for verb in only]


class _Verbs:
    """The functions behind the tools; their docstrings are what the model reads."""

    def __init__(self, hindsight: Hindsight, identity: Identity) -> None:
        self._hindsight = hindsight
        self._identity = identity

    def store(self, content: str, config: RunnableConfig, category: Category = "fact") -> str:
        """Remember one fact, rule or preference for later conversations, in one sentence.

        Args:
            content: The statement, complete in itself.
            config: The run.
            category: What sort of statement it is.
        """
        return tell_stored(self._view(config).store(content, **_by_agent(category)))

    async def astore(
        self, content: str, config: RunnableConfig, category: Category = "fact"
    ) -> str:
        """Remember one statement."""
        return tell_stored(await self._view(config).astore(content, **_by_agent(category)))

    def retrieve(self, query: str, config: RunnableConfig, top_k: int = 5) -> str:
        """Search the memory of past conversations and runs; each result has an id.

        Args:
            query: What to look for.
            config: The run.
            top_k: Most results, 1 to 20.
        """
        return tell_found(self._view(config).retrieve(query, top_k=_bounded(top_k)))

    async def aretrieve(self, query: str, config: RunnableConfig, top_k: int = 5) -> str:
        """Search the memory."""
        return tell_found(await self._view(config).aretrieve(query, top_k=_bounded(top_k)))

    def feedback(
        self, memory_id: str, helpful: bool, config: RunnableConfig, reason: str = ""
    ) -> str:
        """Say whether a memory was right and useful, so that it is trusted more or less.

        Args:
            memory_id: The id that memory_retrieve or memory_store gave.
            helpful: Whether it was.
            config: The run.
            reason: Why, in one line.
        """
        view = self._view(config)
        changed = view.feedback(
            memory_id=memory_id, helpful=helpful, source="llm_judge", reason=reason
        )
        return tell_judged(memory_id, changed)

    async def afeedback(
        self, memory_id: str, helpful: bool, config: RunnableConfig, reason: str = ""
    ) -> str:
        """Say whether a memory was right and useful."""
        view = self._view(config)
        changed = await view.afeedback(
            memory_id=memory_id, helpful=helpful, source="llm_judge", reason=reason
        )
        return tell_judged(memory_id, changed)

    def forget(self, memory_id: str, config: RunnableConfig, reason: str = "") -> str:
        """Take a memory out of use, because it is wrong or the user asked for it.

        Args:
            memory_id: The id that memory_retrieve or memory_store gave.
            config: The run.
            reason: Why, in one line.
        """
        view = self._view(config)
        return tell_forgotten(memory_id, view.forget(memory_id, reason=reason or "by the agent"))

    async def aforget(self, memory_id: str, config: RunnableConfig, reason: str = "") -> str:
        """Take a memory out of use."""
        view = self._view(config)
        gone = await view.aforget(memory_id, reason=reason or "by the agent")
        return tell_forgotten(memory_id, gone)

    def _view(self, config: RunnableConfig) -> Hindsight:
        return self._identity.view(self._hindsight, config_values(config))


def _tool(name: str, func: Callable[..., str], coroutine: Callable[..., Any]) -> BaseTool:
    tool = StructuredTool.from_function(
        func=_refusing(func),
        coroutine=_arefusing(coroutine),
        name=name,
        parse_docstring=True,
    )
    tool.handle_tool_error = True
    return tool


def _refusing(func: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(func)
    def refusing(*args: Any, **kwargs: Any) -> str:
        try:
            return func(*args, **kwargs)
        except HindsightError as error:
            raise ToolException(str(error)) from error

    return refusing


def _arefusing(func: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(func)
    async def refusing(*args: Any, **kwargs: Any) -> Any:
        try:
            return await func(*args, **kwargs)
        except HindsightError as error:
            raise ToolException(str(error)) from error

    return refusing


def _by_agent(category: Category) -> Any:
    return {"category": category, "source": "agent_inference"}


def _bounded(top_k: int) -> int:
    return max(1, min(20, top_k))
