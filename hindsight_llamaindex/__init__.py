"""Hindsight for LlamaIndex: memory that agents and chat engines earn by looking back.

Everything is imported when it is first used, so that importing this costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hindsight_core.errors import MissingExtraError

if TYPE_CHECKING:
    from hindsight_llamaindex.block import HindsightMemoryBlock
    from hindsight_llamaindex.callbacks import HindsightCallbackHandler
    from hindsight_llamaindex.instrumentation import Instrumentation, instrument
    from hindsight_llamaindex.memory import HindsightMemory
    from hindsight_llamaindex.models import embedder, reflection_model
    from hindsight_llamaindex.recorder import current_run_id
    from hindsight_llamaindex.retriever import HindsightRetriever
    from hindsight_llamaindex.tools import HindsightToolSpec

__all__ = [
    "HindsightCallbackHandler",
    "HindsightMemory",
    "HindsightMemoryBlock",
    "HindsightRetriever",
    "HindsightToolSpec",
    "Instrumentation",
    "current_run_id",
    "embedder",
    "instrument",
    "reflection_model",
]

_HOMES = {
    "HindsightCallbackHandler": "callbacks",
    "HindsightMemory": "memory",
    "HindsightMemoryBlock": "block",
    "HindsightRetriever": "retriever",
    "HindsightToolSpec": "tools",
    "Instrumentation": "instrumentation",
    "current_run_id": "recorder",
    "embedder": "models",
    "instrument": "instrumentation",
    "reflection_model": "models",
}
_PACKAGES = ("llama_index", "llama_index_instrumentation", "workflows")


def __getattr__(name: str) -> Any:
    """Import what is asked for.

    Raises:
        MissingExtraError: If LlamaIndex is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise MissingExtraError(
            f"{name} needs the package {error.name}, which is not installed; "
            'run: pip install "hindsight-memory[llamaindex]"'
        ) from error
    return getattr(module, name)
