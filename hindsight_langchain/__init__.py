"""Hindsight for LangChain and LangGraph: record runs, learn from them, tell the next one.

Everything is imported when it is first used, so that each part needs only its own packages.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hindsight_core.errors import MissingExtraError

if TYPE_CHECKING:
    from hindsight_langchain.agent import create_hindsight_agent
    from hindsight_langchain.callbacks import HindsightCallbackHandler, recording, with_hindsight
    from hindsight_langchain.graph import assign_brief, recall_node, record_node
    from hindsight_langchain.memory import HindsightMemory
    from hindsight_langchain.messages import trajectory_from_messages
    from hindsight_langchain.middleware import HindsightMiddleware
    from hindsight_langchain.models import embedder, reflection_model
    from hindsight_langchain.placement import BY_PHASE, LAYERED, SYSTEM, Part, Policy
    from hindsight_langchain.retriever import HindsightRetriever
    from hindsight_langchain.tools import hindsight_tools

__all__ = [
    "BY_PHASE",
    "LAYERED",
    "SYSTEM",
    "HindsightCallbackHandler",
    "HindsightMemory",
    "HindsightMiddleware",
    "HindsightRetriever",
    "Part",
    "Policy",
    "assign_brief",
    "create_hindsight_agent",
    "embedder",
    "hindsight_tools",
    "recall_node",
    "record_node",
    "recording",
    "reflection_model",
    "trajectory_from_messages",
    "with_hindsight",
]

_HOMES = {
    "BY_PHASE": "placement",
    "LAYERED": "placement",
    "SYSTEM": "placement",
    "HindsightCallbackHandler": "callbacks",
    "HindsightMemory": "memory",
    "HindsightMiddleware": "middleware",
    "HindsightRetriever": "retriever",
    "Part": "placement",
    "Policy": "placement",
    "assign_brief": "graph",
    "create_hindsight_agent": "agent",
    "embedder": "models",
    "hindsight_tools": "tools",
    "recall_node": "graph",
    "recording": "callbacks",
    "record_node": "graph",
    "reflection_model": "models",
    "trajectory_from_messages": "messages",
    "with_hindsight": "callbacks",
}
_PACKAGES = ("langchain_core", "langchain", "langchain_classic", "langgraph")


def __getattr__(name: str) -> Any:
    """Import what is asked for.

    Raises:
        MissingExtraError: If a package that it needs is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _PACKAGES:
            raise
        package = missing.replace("_", "-")
        raise MissingExtraError(
            f"{name} needs the package {package}, which is not installed; "
            f'run: pip install "hindsight-memory[langchain]" (or: pip install {package})'
        ) from error
    return getattr(module, name)
