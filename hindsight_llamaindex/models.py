"""LlamaIndex's models behind the ports of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms.llm import LLM

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.duck import as_embedder
from hindsight_core.reflection.base import ModelReply, Prompt, ReflectionModel
from hindsight_core.reflection.model_errors import call_error
from hindsight_llamaindex.messages import text_of

__all__ = ["embedder", "reflection_model"]


def embedder(embedding: BaseEmbedding, *, name: str = "") -> DenseEmbedder:
    """Return a LlamaIndex embedding as what `Hindsight.open(embedder=…)` takes.

    Args:
        embedding: The embedding.
        name: Name of the model as it is stored with the data, by default its own. A memory
            that was written with another model is refused.
    """
    return as_embedder(embedding, name=name)


def reflection_model(llm: LLM) -> ReflectionModel:
    """Return an LLM as what `Hindsight.open(model=…)` takes.

    It is asked in a thread of its own, outside of any run, so none of its calls is recorded.

    Args:
        llm: The LLM; a cheaper one than the agent's is the usual choice.
    """
    return _Reflecting(llm)


class _Reflecting:
    """A LlamaIndex LLM behind the core's port."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def complete(self, prompt: Prompt) -> ModelReply:
        """Answer `prompt`."""
        messages = [
            ChatMessage(role=MessageRole.SYSTEM, content=prompt.system),
            ChatMessage(role=MessageRole.USER, content=prompt.user),
        ]
        try:
            response = self._llm.chat(messages)
        except Exception as error:
            name = f"the reflection model {self._llm.metadata.model_name!r}"
            raise call_error(error, model=name, secrets=()) from error
        return _reply(response, self._llm.metadata.model_name)


def _reply(response: ChatResponse, model: str) -> ModelReply:
    raw = _plain(response.raw)
    usage = _plain(raw.get("usage")) or _plain(response.additional_kwargs)
    choices = raw.get("choices")
    first = _plain(choices[0]) if isinstance(choices, list) and choices else raw
    return ModelReply(
        content=text_of(response.message),
        finish_reason=str(first.get("finish_reason") or first.get("stop_reason") or ""),
        tokens_in=_count(usage, "prompt_tokens", "input_tokens"),
        tokens_out=_count(usage, "completion_tokens", "output_tokens"),
        model=model,
    )


def _plain(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    dump = getattr(value, "model_dump", None)
    found = dump() if callable(dump) else None
    return found if isinstance(found, Mapping) else {}


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    return next((usage[name] for name in names if isinstance(usage.get(name), int)), None)
