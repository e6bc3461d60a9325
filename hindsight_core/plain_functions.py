"""Functions that a caller gives and that are called as they are: plain ones, not async ones."""

from __future__ import annotations

import inspect
from typing import Any

from hindsight_core.errors import ConfigurationError, ModelReplyError

__all__ = ["check_plain", "no_awaitable"]


def check_plain(name: str, given: Any) -> None:
    """Refuse an async function, or an object whose call or `rate` is one.

    Args:
        name: The option it was given as.
        given: What was given; anything that can't be called is let through.

    Raises:
        ConfigurationError: If it would give a coroutine.
    """
    called = getattr(given, "__call__", None)  # noqa: B004 - what an object does when called
    for function in (given, called, getattr(given, "rate", None)):
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigurationError(
                f"{name} {given!r} is async; give a plain function, which is called in a thread "
                "of its own, for example one that calls asyncio.run(…)"
            )


def no_awaitable(answer: Any, who: str) -> Any:
    """Return what a function gave, unless it would have to be awaited.

    Args:
        answer: What it gave.
        who: What the message calls the function.

    Raises:
        ModelReplyError: If it is a coroutine, which is closed, or awaitable otherwise.
    """
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()  # nobody will await it, and it would warn of that
    raise ModelReplyError(
        f"{who} gave a {type(answer).__name__}, which nobody awaits; give a plain function"
    )
