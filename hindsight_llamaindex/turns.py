"""One recall for each thing a user says, however often the memory is read.

An agent reads its memory at the start, after each round of tools and at the end, with and
without the question. What the user said last, and where it stands in the conversation, is one
turn; the brief of a turn is kept until the next one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_llamaindex.messages import call_ids, text_of

__all__ = ["Turn", "Turns", "turn_of"]

MAX_CONVERSATIONS = 1_000
"""Conversations whose last brief is kept; past it, the one unused for longest goes."""

_ANSWER_ROLES = (MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user wants now.

    Attributes:
        text: What was said.
        position: Where it stands among the messages, or will stand once it is put.
        is_stored: Whether it stands there already.
        is_answered: Whether the agent has answered it; then nothing new is recalled for it.
        answer_before: The agent's last answer before it, `""` if there is none.
    """

    text: str = ""
    position: int = -1
    is_stored: bool = False
    is_answered: bool = False
    answer_before: str = ""


def turn_of(
    messages: Sequence[ChatMessage], asked: Any = None, *, repeats_question: bool = False
) -> Turn:
    """Return the turn that a conversation is at.

    Args:
        messages: The conversation as stored, oldest first.
        asked: What is being asked, where the reader says so: text, a message or `None`. It is
            the same turn as the last message of the user if that says the same and has not
            been answered yet.
        repeats_question: Whether the last message may be the question once more, as `Memory`
            puts it behind the conversation for its blocks.
    """
    text = text_of(asked) if isinstance(asked, str | ChatMessage) else ""
    last = _last_user(messages, len(messages))
    is_answered = last >= 0 and _has_answer(messages, last + 1, len(messages))
    if text.strip() and (last < 0 or is_answered or text_of(messages[last]) != text):
        return Turn(text, len(messages), False, False, _answer_before(messages, len(messages)))
    if last < 0:
        return Turn()
    said = text_of(messages[last])
    earlier = _last_user(messages, last) if repeats_question else -1
    if (
        earlier >= 0
        and not _has_answer(messages, earlier + 1, last)
        and text_of(messages[earlier]) == said
    ):
        last = earlier
    return Turn(said, last, True, is_answered, _answer_before(messages, last))


class Turns:
    """The brief of the present turn of each conversation; safe to use from threads and loops.

    A copy starts empty: what is kept here can be recalled again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[tuple[Any, ...], str, Future[Brief]]] = OrderedDict()

    def __deepcopy__(self, memo: Any) -> Turns:
        return Turns()

    def __copy__(self) -> Turns:
        return Turns()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()

    def recall(
        self, hindsight: Hindsight, key: str, turn: Turn, run_id: str, token_budget: int | None
    ) -> Brief:
        """Return the brief for a turn, recalled if this is the first time that it is asked for."""
        future, is_mine = self._claim(hindsight, key, turn, run_id)
        if not is_mine:
            if future.done():
                return future.result()
            # Whoever is at it may need this very thread's event loop, so it is not waited for.
            return _brief(hindsight, turn, run_id, token_budget)
        brief = Brief()
        try:
            brief = _brief(hindsight, turn, run_id, token_budget)
        finally:
            future.set_result(brief)
        return brief

    async def arecall(
        self, hindsight: Hindsight, key: str, turn: Turn, run_id: str, token_budget: int | None
    ) -> Brief:
        """Async twin of `recall`."""
        future, is_mine = self._claim(hindsight, key, turn, run_id)
        if not is_mine:
            # Most often it is there: an agent reads its memory before each call of its model.
            if future.done():
                return future.result()
            return await asyncio.shield(asyncio.wrap_future(future))
        brief = Brief()
        try:
            brief = await _abrief(hindsight, turn, run_id, token_budget)
        finally:
            future.set_result(brief)
        return brief

    def forget(self, key: str) -> None:
        """Forget the turn of a conversation."""
        with self._lock:
            self._kept.pop(key, None)

    def _claim(
        self, hindsight: Hindsight, key: str, turn: Turn, run_id: str
    ) -> tuple[Future[Brief], bool]:
        """Return where a turn's brief will be, and whether the caller has to put it there."""
        wanted = (hindsight.namespace, turn.position, turn.text)
        with self._lock:
            kept = self._kept.get(key)
            if kept and kept[0] == wanted and (not run_id or kept[1] == run_id):
                self._kept.move_to_end(key)
                return kept[2], False
            future: Future[Brief] = Future()
            if turn.is_answered or not turn.text.strip():
                future.set_result(Brief())
                return future, False
            self._kept[key] = (wanted, run_id, future)
            self._kept.move_to_end(key)
            while len(self._kept) > MAX_CONVERSATIONS:
                self._kept.popitem(last=False)
            return future, True


def _options(run_id: str, token_budget: int | None) -> Any:
    return {"run_id": run_id, "token_budget": token_budget}


def _brief(hindsight: Hindsight, turn: Turn, run_id: str, token_budget: int | None) -> Brief:
    try:
        return hindsight.brief(turn.text, **_options(run_id, token_budget))
    except Exception as error:  # noqa: BLE001 - memory never breaks the agent
        return _without(hindsight, error, run_id)


async def _abrief(hindsight: Hindsight, turn: Turn, run_id: str, token_budget: int | None) -> Brief:
    try:
        return await hindsight.abrief(turn.text, **_options(run_id, token_budget))
    except Exception as error:  # noqa: BLE001 - memory never breaks the agent
        return _without(hindsight, error, run_id)


def _without(hindsight: Hindsight, error: Exception, run_id: str) -> Brief:
    """Go on without memory, unless that is not wanted."""
    if hindsight.settings.strict:
        raise error
    hindsight.note_failure("recall", error, run_id)
    return Brief(available=False)


def _last_user(messages: Sequence[ChatMessage], end: int) -> int:
    for place in range(end - 1, -1, -1):
        if messages[place].role is MessageRole.USER:
            return place
    return -1


def _is_answer(message: ChatMessage) -> bool:
    return message.role in _ANSWER_ROLES and not call_ids(message)


def _has_answer(messages: Sequence[ChatMessage], start: int, end: int) -> bool:
    return any(_is_answer(messages[place]) for place in range(start, end))


def _answer_before(messages: Sequence[ChatMessage], end: int) -> str:
    for place in range(end - 1, -1, -1):
        if _is_answer(messages[place]):
            said = text_of(messages[place])
            if said.strip():
                return said
    return ""
