"""Whatever model a caller has, as a reflection model; no framework is imported for it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from hindsight_core.errors import ConfigurationError, ModelCallError, ReflectionError
from hindsight_core.reflection.base import ModelReply, Prompt, ReflectionModel
from hindsight_core.reflection.model_errors import call_error
from hindsight_core.reflection.openai_compatible import OpenAICompatibleModel
from hindsight_core.settings import ModelSettings

__all__ = ["INTERNAL_TAG", "OpenAICompatibleModel", "adapted_model", "as_reflection_model"]

INTERNAL_TAG = "hindsight:internal"
"""Marks calls that Hindsight makes itself, so that they are never recorded as a run."""


def as_reflection_model(obj: Any, *, settings: ModelSettings) -> ReflectionModel:
    """Return `obj` as a reflection model, told by what it can do.

    In this order: `invoke` (a LangChain chat model or any runnable that takes messages),
    `chat` beside `complete` or `metadata` (a LlamaIndex LLM), `complete(prompt)` (a reflection
    model, returned as it is), and a plain callable from text to text or a parsed object.

    Args:
        obj: The model.
        settings: Its key is kept out of messages.

    Raises:
        ConfigurationError: If it is none of these; the message says what is accepted.
    """
    if isinstance(obj, OpenAICompatibleModel):
        return obj
    if obj is None or isinstance(obj, (str, type)):
        raise _unusable(obj)
    if callable(getattr(obj, "invoke", None)):
        return _Adapted(_invoking(obj), obj, settings)
    if callable(getattr(obj, "chat", None)):
        return _Adapted(_chatting(obj), obj, settings)
    if callable(getattr(obj, "complete", None)):
        return cast("ReflectionModel", obj)
    if callable(obj):
        return _Adapted(lambda prompt: obj(_as_text(prompt)), obj, settings)
    raise _unusable(obj)


def adapted_model(
    ask: Callable[[Prompt], Any], *, model: Any, settings: ModelSettings
) -> ReflectionModel:
    """Return a function as a reflection model, its errors translated and its answers read.

    Args:
        ask: Answers a prompt with text, a parsed object, a message, or `raw` beside `parsed`.
        model: What it asks, by which messages call it.
        settings: Its key is kept out of messages.
    """
    return _Adapted(ask, model, settings)


class _Adapted:
    """A model of another kind behind our port."""

    def __init__(self, ask: Callable[[Prompt], Any], obj: Any, settings: ModelSettings) -> None:
        self._ask = ask
        self._name = f"the reflection model {_name_of(obj)}"
        self._secrets = (settings.api_key,)

    def complete(self, prompt: Prompt) -> ModelReply:
        """Answer `prompt`."""
        try:
            answer = self._ask(prompt)
        except ReflectionError:
            raise
        except Exception as error:
            raise call_error(error, model=self._name, secrets=self._secrets) from error
        if isinstance(answer, Awaitable):
            if inspect.iscoroutine(answer):
                answer.close()
            raise ModelCallError(
                f"{self._name} is asynchronous; pass its synchronous form, "
                "reflection runs in a thread of its own"
            )
        return answer if isinstance(answer, ModelReply) else _reply(answer)


def _invoking(model: Any) -> Callable[[Prompt], Any]:
    """Ask a runnable, without the callbacks of whatever run is under way."""
    takes_config = _accepts(model.invoke, "config")

    def ask(prompt: Prompt) -> Any:
        messages = [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
        if takes_config:
            return model.invoke(messages, config={"callbacks": [], "tags": [INTERNAL_TAG]})
        return model.invoke(messages)

    return ask


def _chatting(model: Any) -> Callable[[Prompt], Any]:
    """Ask a LlamaIndex LLM; its `complete` takes text, so no message type is needed."""
    if callable(getattr(model, "complete", None)):
        return lambda prompt: model.complete(_as_text(prompt))
    return lambda prompt: model.chat(
        [
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ]
    )


def _as_text(prompt: Prompt) -> str:
    return f"{prompt.system}\n\n{prompt.user}"


def _accepts(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == name or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _reply(answer: Any) -> ModelReply:
    """Read an answer: text, a parsed object, a message or a response."""
    if answer is None or isinstance(answer, (str, list)):
        return ModelReply(content=answer)
    if isinstance(answer, Mapping):
        return _mapping_reply(answer)
    message = getattr(answer, "message", None)
    content = _content_of(answer if message is None else message)
    if content is None and hasattr(answer, "model_dump"):
        content = answer.model_dump()
    usage = _mapping(getattr(answer, "usage_metadata", None))
    facts = {
        **_mapping(getattr(answer, "additional_kwargs", None)),
        **_mapping(getattr(answer, "response_metadata", None)),
    }
    usage = usage or _mapping(facts.get("token_usage")) or _mapping(facts.get("usage"))
    return ModelReply(
        content=content,
        finish_reason=_first_text(facts, "finish_reason", "stop_reason", "done_reason"),
        tokens_in=_first_count({**facts, **usage}, "input_tokens", "prompt_tokens"),
        tokens_out=_first_count({**facts, **usage}, "output_tokens", "completion_tokens"),
        model=_first_text(facts, "model_name", "model"),
    )


def _mapping_reply(answer: Mapping[Any, Any]) -> ModelReply:
    """Read a dict: an answer, or LangChain's `raw` beside `parsed`."""
    if {"raw", "parsed"} <= set(answer):
        raw = _reply(answer["raw"])
        if answer["parsed"] is None:
            return raw
        parsed = _reply(answer["parsed"])
        return ModelReply(
            parsed.content, raw.finish_reason, raw.tokens_in, raw.tokens_out, raw.model
        )
    return ModelReply(content=dict(answer))


def _content_of(message: Any) -> str | list[Any] | dict[str, Any] | None:
    """Return a message's content, or else the arguments of the tool it was made to call."""
    for name in ("content", "text"):
        content = getattr(message, name, None)
        if isinstance(content, (str, list, dict)) and content:
            return content
    calls = getattr(message, "tool_calls", None)
    if isinstance(calls, list) and calls and isinstance(calls[0], Mapping):
        arguments = calls[0].get("args")
        return arguments if isinstance(arguments, dict) else None
    empty = getattr(message, "content", None)
    return empty if isinstance(empty, str) else None


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return {}


def _first_text(facts: Mapping[str, Any], *names: str) -> str:
    return next((str(facts[name]) for name in names if facts.get(name)), "")


def _first_count(facts: Mapping[str, Any], *names: str) -> int | None:
    return next((facts[name] for name in names if isinstance(facts.get(name), int)), None)


def _name_of(obj: Any) -> str:
    for name in ("model_name", "model", "__name__"):
        value = getattr(obj, name, None)
        if isinstance(value, str) and value:
            return repr(value)
    return type(obj).__name__


def _unusable(obj: Any) -> ConfigurationError:
    shown = f"{obj!r}" if isinstance(obj, (str, type)) or obj is None else type(obj).__name__
    return ConfigurationError(
        f"{shown} can't be used as a reflection model; pass a LangChain chat model, a LlamaIndex "
        "LLM, an object with complete(prompt), or a function from text to text. A model by name "
        "is set by REFLECTION_MODEL and LLM_BASE_URL, or by ModelSettings"
    )
