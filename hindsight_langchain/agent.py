"""An agent with memory in one call: middleware and handler wired together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.graph.state import CompiledStateGraph

from hindsight_core.hindsight import Hindsight
from hindsight_langchain.callbacks import with_hindsight
from hindsight_langchain.endings import Validator
from hindsight_langchain.identity import NamespaceRule
from hindsight_langchain.middleware import HindsightMiddleware
from hindsight_langchain.placement import Policy

__all__ = ["create_hindsight_agent"]


def create_hindsight_agent(
    hindsight: Hindsight,
    model: Any,
    tools: Sequence[Any] | None = None,
    *,
    namespace: NamespaceRule = None,
    policy: Policy | str = "system",
    validator: Validator | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    **options: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return LangChain's `create_agent` with memory: told before a run, learning after it.

    ```python
    agent = create_hindsight_agent(hindsight, model, tools)
    agent.invoke({"messages": [("user", "…")]}, config={"metadata": {"user_id": "alice"}})
    ```

    Args:
        hindsight: The memory.
        model: As for `create_agent`, likewise `tools`, `middleware` and all `options`.
        tools: The agent's tools.
        namespace: As for `HindsightMiddleware`, likewise `policy` and `validator`.
        policy: What of memory goes where and when.
        validator: Judges a finished run.
        middleware: Further middleware; the memory's own comes after it, nearest to the model.
        options: Anything else that `create_agent` takes.
    """
    own = HindsightMiddleware(hindsight, namespace=namespace, policy=policy, validator=validator)
    agent = create_agent(model, tools, middleware=[*middleware, own], **options)
    return with_hindsight(agent, hindsight, namespace=namespace, validator=validator)
