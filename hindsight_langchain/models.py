"""LangChain's chat models and embeddings behind the ports of the core."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.duck import as_embedder
from hindsight_core.reflection.base import ModelReply, Prompt, ReflectionModel
from hindsight_core.reflection.model_clients import INTERNAL_TAG, adapted_model
from hindsight_core.settings import ModelSettings

__all__ = ["embedder", "reflection_model"]

_REFUSED = (400, 404, 415, 422, 501)
"""Statuses with which an endpoint says that it has no structured output."""


def embedder(embeddings: Embeddings, *, name: str = "") -> DenseEmbedder:
    """Return LangChain embeddings as what `Hindsight.open(embedder=…)` takes.

    Args:
        embeddings: The embeddings.
        name: Name of the model as it is stored with the data, by default its own. A memory
            that was written with another model is refused.
    """
    return as_embedder(embeddings, name=name)


def reflection_model(
    model: BaseChatModel, *, structured: bool | None = None, settings: ModelSettings | None = None
) -> ReflectionModel:
    """Return a chat model as what `Hindsight.open(model=…)` takes.

    The answer is held to the schema where the model can be; where the endpoint turns out not
    to know it, and for all other models, text and content blocks are read. Its calls are
    marked, so that a handler attached to the model records none of them.

    Args:
        model: The chat model; a cheaper one than the agent's is the usual choice.
        structured: Whether to ask for structured output, by default where the model's class
            brings its own.
        settings: Its key is kept out of error messages.
    """
    own = type(model).with_structured_output is not BaseChatModel.with_structured_output
    asking = _Asking(model, structured=own if structured is None else structured)
    return adapted_model(asking, model=model, settings=settings or ModelSettings())


class _Asking:
    """Asks a chat model, held to the schema as long as that works."""

    def __init__(self, model: BaseChatModel, *, structured: bool) -> None:
        self._model = model
        self._structured = structured

    def __call__(self, prompt: Prompt) -> Any:
        messages: list[BaseMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        config: RunnableConfig = {"callbacks": [], "tags": [INTERNAL_TAG]}
        if self._structured:
            try:
                bound = self._model.with_structured_output(_titled(prompt.schema), include_raw=True)
                return bound.invoke(messages, config=config)
            except Exception as error:
                cut = _cut_reply(error)
                if cut is not None:
                    return cut
                if not _has_no_schema(error):
                    raise
                self._structured = False
        return self._model.invoke(messages, config=config)


def _cut_reply(error: Exception) -> ModelReply | None:
    """Return the answer inside an error that says it was cut off, `None` for any other error.

    A client that parses the answer itself raises where the model hit its limit; the lessons
    before the cut are worth reading.
    """
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    message = getattr(choices[0], "message", None) if choices else None
    content = getattr(message, "content", None)
    if not isinstance(content, str) or not content:
        return None
    usage = getattr(completion, "usage", None)
    return ModelReply(
        content=content,
        finish_reason="length",
        tokens_in=getattr(usage, "prompt_tokens", None),
        tokens_out=getattr(usage, "completion_tokens", None),
        model=str(getattr(completion, "model", "") or ""),
    )


def _titled(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the name and description that models take a function's from."""
    return {"title": "lessons", "description": "What the run teaches.", **schema}


def _has_no_schema(error: Exception) -> bool:
    if isinstance(error, NotImplementedError | TypeError | ValueError):
        return True
    return getattr(error, "status_code", None) in _REFUSED
