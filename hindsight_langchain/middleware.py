"""The middleware for `create_agent`: recalls once per user turn, injects, records, reflects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.types import Command

from hindsight_core.adapting import note_quietly
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_langchain.endings import Validator
from hindsight_langchain.episodes import Claim, Episode
from hindsight_langchain.identity import Identity, NamespaceRule, config_values
from hindsight_langchain.placement import (
    Part,
    Phase,
    Policy,
    phases_of,
    place,
    policy_named,
    query_of,
)
from hindsight_langchain.recorder import recorder_of
from hindsight_langchain.tools import hindsight_tools
from hindsight_langchain.watch import current_run, watch

__all__ = ["HindsightMiddleware"]


@dataclass(frozen=True, slots=True)
class _Recall:
    """One block to be recalled for a model call."""

    part: Part
    key: tuple[UUID | None, int]
    view: Hindsight
    query: str
    options: Mapping[str, Any]


class HindsightMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent its memory: a brief in each model call, and lessons from each run.

    The brief goes into the request and never into the state. It is recalled once for each
    user turn. Every run is recorded however it ends, the step limit included, and once,
    whether or not a `HindsightCallbackHandler` is attached as well.

    ```python
    agent = create_agent(model, tools, middleware=[HindsightMiddleware(hindsight)])
    agent.invoke(inputs, config={"metadata": {"user_id": "alice"}})
    ```

    Args:
        hindsight: The memory.
        namespace: As for `HindsightCallbackHandler`; keys of `configurable` count as well.
        policy: What goes where and when: `system` (default), `section`, `user`, `layered`,
            `by_phase`, or a `Policy` of your own.
        validator: Judges a finished run, as for `HindsightCallbackHandler`.
        task_type: Task type of the runs, `""` to let reflection choose.
    """

    def __init__(
        self,
        hindsight: Hindsight,
        *,
        namespace: NamespaceRule = None,
        policy: Policy | str = "system",
        validator: Validator | None = None,
        task_type: str = "",
    ) -> None:
        super().__init__()
        self._claim = Claim(hindsight, Identity(namespace), validator, task_type)
        self._policy = policy_named(policy)
        self.tools = (
            hindsight_tools(hindsight, namespace=namespace, only=("retrieve", "feedback"))
            if self._policy.offers_tools
            else []
        )
        self._recorder = recorder_of(hindsight)
        watch(hindsight)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | AIMessage:
        """Put the brief into a model call."""
        episode, briefs, wanted = self._plan(request)
        for recall in wanted:
            try:
                brief = recall.view.brief(recall.query, **recall.options)
            except Exception as error:  # noqa: BLE001 - memory never breaks the agent
                self._note(error, episode)
                brief = Brief(available=False)
            briefs.append((recall.part, self._keep(episode, recall, brief)))
        return handler(self._with(request, briefs, episode))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage:
        """Async twin of `wrap_model_call`."""
        episode, briefs, wanted = self._plan(request)
        for recall in wanted:
            try:
                brief = await recall.view.abrief(recall.query, **recall.options)
            except Exception as error:  # noqa: BLE001 - memory never breaks the agent
                self._note(error, episode)
                brief = Brief(available=False)
            briefs.append((recall.part, self._keep(episode, recall, brief)))
        return await handler(self._with(request, briefs, episode))

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Take part in the run, so that a tool that runs first after a pause is recorded."""
        self._take_part()
        return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Async twin of `wrap_tool_call`."""
        self._take_part()
        return await handler(request)

    def _take_part(self) -> Episode | None:
        try:
            run_id = current_run()
            episode = self._recorder.claim(run_id, self._claim) if run_id else None
            if episode is not None and not episode.configured:
                episode.values = {**_config_values(), **episode.values}
                episode.configured = True
        except Exception as error:  # noqa: BLE001 - memory never breaks the agent
            self._note(error, None)
            return None
        return episode

    def _plan(
        self, request: ModelRequest[Any]
    ) -> tuple[Episode | None, list[tuple[Part, Brief]], list[_Recall]]:
        """Return the run, its briefs that belong into this call, and what has to be recalled."""
        episode = self._take_part()
        briefs = episode.briefs if episode else {}
        try:
            due = self._due(request)
            known = [(part, briefs[key]) for part, key in due if key in briefs]
            missing = [(part, key) for part, key in due if key not in briefs]
            return episode, known, self._wanted(request, episode, missing)
        except Exception as error:  # noqa: BLE001 - memory never breaks the agent
            self._note(error, episode)
            return episode, [], []

    def _wanted(
        self,
        request: ModelRequest[Any],
        episode: Episode | None,
        missing: list[tuple[Part, tuple[UUID | None, int]]],
    ) -> list[_Recall]:
        if not missing:
            return []
        values = {**_config_values(), **(episode.values if episode else {})}
        view = self._claim.identity.view(self._claim.hindsight, values)
        query = query_of(request.messages)
        options = {
            "run_id": episode.run_id if episode else "",
            "context_window": _context_window(request.model),
        }
        return [
            _Recall(part, key, view, query, {**options, **part.options}) for part, key in missing
        ]

    def _due(self, request: ModelRequest[Any]) -> list[tuple[Part, tuple[UUID | None, int]]]:
        """Return the parts that belong into this call, with the key of their brief."""
        parts = self._policy.parts
        phases: frozenset[Phase] = frozenset({"start"})  # every call is in this one
        if any(part.phase != "start" for part in parts):
            phases = phases_of(request.messages, has_tools=bool(request.tools))
        info = self._recorder.info(current_run())
        scope = info.scope if info else None
        return [
            (part, (scope, number)) for number, part in enumerate(parts) if part.phase in phases
        ]

    def _keep(self, episode: Episode | None, recall: _Recall, brief: Brief) -> Brief:
        if episode is not None:
            episode.briefs[recall.key] = brief
        return brief

    def _with(
        self,
        request: ModelRequest[Any],
        briefs: list[tuple[Part, Brief]],
        episode: Episode | None,
    ) -> ModelRequest[Any]:
        """Return the request with the briefs in it."""
        order = {id(part): number for number, part in enumerate(self._policy.parts)}
        blocks = [
            (part.placement, brief.text)
            for part, brief in sorted(briefs, key=lambda pair: order[id(pair[0])])
            if brief
        ]
        if not blocks:
            return request
        try:
            given = request.system_message
            messages: list[Any] = request.messages
            told = episode.told if episode else None
            if told is not None and told[0] is given and told[1] == blocks:
                system: Any = told[2]  # as in the call before
            else:
                system, messages = place(given, messages, blocks)
                if episode is not None and all(where == "system" for where, _ in blocks):
                    episode.told = (given, blocks, system)
            changed: Any = {"system_message": system, "messages": messages}
            return request.override(**changed)
        except Exception as error:  # noqa: BLE001 - memory never breaks the agent
            self._note(error, episode)
            return request

    def _note(self, error: Exception, episode: Episode | None) -> None:
        run_id = episode.run_id if episode else ""
        note_quietly(self._claim.hindsight, "recall", error, run_id)


def _config_values() -> dict[str, Any]:
    return config_values(var_child_runnable_config.get())


def _context_window(model: Any) -> int | None:
    """Return the tokens that a model reads, where it says so."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return window if isinstance(window, int) and window > 0 else None
