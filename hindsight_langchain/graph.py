"""Nodes for hand-built graphs, and a runnable for chains.

They are runnables rather than functions, so that a graph hands them the config whatever the
annotations of a module look like. A config that names no user is an error here, unless a
namespace is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnablePassthrough

from hindsight_core.clock import new_run_id
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_core.trajectory import Outcome
from hindsight_langchain.endings import Validator, validated
from hindsight_langchain.episodes import Episode
from hindsight_langchain.identity import Identity, NamespaceRule, config_values
from hindsight_langchain.messages import (
    INPUT_KEYS,
    as_messages,
    choose_text,
    trajectory_from_messages,
)
from hindsight_langchain.placement import query_of
from hindsight_langchain.recorder import recorder_of
from hindsight_langchain.watch import watch

__all__ = ["assign_brief", "recall_node", "record_node"]


def recall_node(
    hindsight: Hindsight,
    *,
    into: str = "memory",
    namespace: NamespaceRule = None,
    **options: Any,
) -> Runnable[Any, dict[str, Any]]:
    """Return a graph node that recalls for the last thing the user said.

    Its update is `{into: text}`. Give the state a key of that name; it is replaced in every
    turn, and the messages stay as they are. Put the text into the system message of the model
    call.

    Args:
        hindsight: The memory.
        into: The state's key for the text.
        namespace: As for `HindsightCallbackHandler`; without one the config must name a
            `user_id` in its `metadata` or `configurable`.
        options: Options of `Hindsight.brief`.

    Raises:
        NamespaceError: When it runs, if the config does not say whose memory it is.
    """
    brief = _briefing(hindsight, namespace, options)
    return RunnableLambda(
        lambda state, config: {into: brief.told(state, config).text},
        afunc=_into(into, brief),
        name="hindsight_recall",
    )


def assign_brief(
    hindsight: Hindsight,
    *,
    into: str = "memory",
    namespace: NamespaceRule = None,
    **options: Any,
) -> Runnable[Any, dict[str, Any]]:
    """Return a chain's step that adds the brief to its input, as `RunnablePassthrough.assign`.

    The brief is a value of the prompt, so braces in it are harmless:
    `assign_brief(h) | ChatPromptTemplate.from_messages([("system", "{memory}"), …]) | model`.

    Args:
        hindsight: The memory.
        into: The key for the text.
        namespace: As for `recall_node`.
        options: Options of `Hindsight.brief`.

    Raises:
        NamespaceError: When it runs, if the config does not say whose memory it is.
    """
    brief = _briefing(hindsight, namespace, options)
    told: Runnable[Any, str] = RunnableLambda(
        lambda value, config: brief.told(value, config).text,
        afunc=_text(brief),
        name="hindsight_brief",
    )
    return RunnablePassthrough.assign(**{into: told})


def record_node(
    hindsight: Hindsight,
    *,
    namespace: NamespaceRule = None,
    validator: Validator | None = None,
) -> Runnable[Any, dict[str, Any]]:
    """Return a graph node that records this turn's messages; its update is empty.

    A node sees only runs that reach it. Where a handler or a middleware of the same memory
    records the run, the node leaves it to them.

    Args:
        hindsight: The memory.
        namespace: As for `recall_node`.
        validator: Judges the turn, as for `HindsightCallbackHandler`.

    Raises:
        NamespaceError: When it runs, if the config does not say whose memory it is.
    """
    watch(hindsight)
    identity = Identity(namespace, required=True)

    def recorded(state: Any, config: RunnableConfig) -> dict[str, Any]:
        values = config_values(config)
        view = identity.view(hindsight, values)
        episode = _episode(hindsight, config)
        if episode is not None and episode.claim is not None:
            return {}
        messages = as_messages(state)
        questions = [i for i, m in enumerate(messages) if isinstance(m, HumanMessage)]
        run = trajectory_from_messages(
            messages[questions[-1] if questions else 0 :],
            run_id=episode.run_id if episode else new_run_id(),
            session_id=str(values.get("thread_id") or ""),
            metadata={"framework": "langchain", "ending": "finished"},
        )
        verdict: Outcome | None = validated(validator(run)) if validator else None
        view.submit(run if verdict is None else run.with_outcome(verdict))
        return {}

    return RunnableLambda(recorded, name="hindsight_record")


class _Briefing:
    """Recalls for whoever the config names."""

    def __init__(
        self, hindsight: Hindsight, identity: Identity, options: Mapping[str, Any]
    ) -> None:
        self._hindsight = hindsight
        self._identity = identity
        self._options = options

    def told(self, value: Any, config: RunnableConfig) -> Brief:
        view = self._identity.view(self._hindsight, config_values(config))
        return view.brief(_query(value), **self._for(config))

    async def atold(self, value: Any, config: RunnableConfig) -> Brief:
        view = self._identity.view(self._hindsight, config_values(config))
        return await view.abrief(_query(value), **self._for(config))

    def _for(self, config: RunnableConfig) -> Any:
        episode = _episode(self._hindsight, config)
        return {"run_id": episode.run_id if episode else "", **self._options}


def _briefing(
    hindsight: Hindsight, namespace: NamespaceRule, options: Mapping[str, Any]
) -> _Briefing:
    watch(hindsight)
    return _Briefing(hindsight, Identity(namespace, required=True), options)


def _into(key: str, brief: _Briefing) -> Any:
    async def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return {key: (await brief.atold(state, config)).text}

    return node


def _text(brief: _Briefing) -> Any:
    async def step(value: Any, config: RunnableConfig) -> str:
        return (await brief.atold(value, config)).text

    return step


def _episode(hindsight: Hindsight, config: RunnableConfig) -> Episode | None:
    """Return the outermost run around a node, if it is followed."""
    run_id = getattr(config.get("callbacks"), "parent_run_id", None)
    return recorder_of(hindsight).find(run_id)


def _query(value: Any) -> str:
    messages = as_messages(value)
    if messages:
        return query_of(messages)
    if isinstance(value, str):
        return value
    return choose_text(value, INPUT_KEYS) if isinstance(value, Mapping) else ""
