"""The last answer of each conversation, so that what the user says next has something to be about.

A correction is a message of its own run: "No, in metric units." Without the answer before it,
nobody can tell what was wrong. Memories of this package show that answer themselves; for others
it is kept here.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from hindsight_llamaindex.identity import Caller

__all__ = ["LastAnswers"]

MAX_TALKS = 1_000
"""Conversations whose last answer is kept; past it, the oldest is let go."""


class LastAnswers:
    """Last answers by user, and by session or by the memory object in use."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Any, tuple[Callable[[], Any], str]] = OrderedDict()

    def keep(self, caller: Caller, talk: Any, answer: str) -> None:
        """Keep an answer.

        Args:
            caller: Whose conversation it is.
            talk: The session's id, or the memory object, `None` if neither is known.
            answer: What was answered.
        """
        if talk is None or not answer:
            return
        key = _key(caller, talk)
        self._answers[key] = (_holder(talk), answer)
        self._answers.move_to_end(key)
        while len(self._answers) > MAX_TALKS:
            self._answers.popitem(last=False)

    def last(self, caller: Caller, talk: Any) -> str:
        """Return the last answer of a conversation, `""` if none is known."""
        if talk is None:
            return ""
        holder, answer = self._answers.get(_key(caller, talk), (None, ""))
        # Another object may have come to stand where the memory was.
        return answer if holder is not None and holder() is not None else ""


def _key(caller: Caller, talk: Any) -> tuple[str, Any]:
    return (str(caller.user_id), talk if isinstance(talk, str) else id(talk))


def _holder(talk: Any) -> Callable[[], Any]:
    if isinstance(talk, str):
        return lambda: talk
    try:
        return weakref.ref(talk)
    except TypeError:
        return lambda: None
