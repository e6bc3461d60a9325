"""The short-term window: the newest messages that fit, calls and results kept together.

Whole turns go first, oldest before newer ones. Of the newest turn, which always keeps what the
user said, the oldest calls with their results go next. What providers refuse is repaired in the
copy that is sent: a result without its call is left out, and so is a call without a result.

A conversation is looked through from its end, and only as far as it is sent. Each message is
copied before it is weighed, so that what is sent is what was weighed, whoever edits the original
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

from hindsight_llamaindex.messages import call_ids, copied, result_id

__all__ = ["window"]

_Group: TypeAlias = list[ChatMessage]
"""Messages that are only sent together."""

_RESULT_ROLES = (MessageRole.TOOL, MessageRole.FUNCTION)
_SYSTEM_ROLES = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


def window(
    messages: Sequence[ChatMessage], limit: int, weigh: Callable[[ChatMessage], int]
) -> list[ChatMessage]:
    """Return copies of the newest messages that fit into `limit` tokens, in order.

    A single message that is larger than the limit is returned alone, a call with its results, so
    that the model's own refusal is seen instead of an empty history. Instructions at the very
    beginning stay as long as they fit.

    Args:
        messages: The whole conversation, oldest first.
        limit: Most tokens.
        weigh: Tokens of one message as it is sent.
    """
    opening = 0
    while opening < len(messages) and messages[opening].role in _SYSTEM_ROLES:
        opening += 1
    instructions = [copied(message) for message in messages[:opening]]
    fixed = sum(weigh(message) for message in instructions)
    rest = messages[opening:]
    newest, size = _newest(_turns(rest), limit - fixed, weigh) if fixed <= limit else ([], 0)
    # What is sent although it is larger than the room leaves none for instructions.
    if fixed + size > limit:
        return _newest(_turns(rest), limit, weigh)[0]
    return instructions + newest


def _newest(
    turns: Iterable[list[_Group]], room: int, weigh: Callable[[ChatMessage], int]
) -> tuple[_Group, int]:
    """Return the newest turns that fit and their size; only of the last is a part enough."""
    kept: list[_Group] = []
    left = room
    for turn in turns:
        sizes = [sum(weigh(message) for message in group) for group in turn]
        size = sum(sizes)
        if size > left:
            if not kept:
                kept, size = _part(turn, sizes, room)
                left -= size
            break
        kept = turn + kept
        left -= size
    return [message for group in kept for message in group], room - left


def _part(turn: list[_Group], sizes: list[int], room: int) -> tuple[list[_Group], int]:
    """Return what fits of one turn and its size: what the user said, then the newest groups."""
    head = 1 if turn[0][0].role is MessageRole.USER else 0
    size = sum(sizes[:head])
    start = len(turn)
    while start > head and size + sizes[start - 1] <= room:
        start -= 1
        size += sizes[start]
    if not head and start == len(turn):
        return turn[-1:], sizes[-1]
    return turn[:head] + turn[start:], size


def _turns(messages: Sequence[ChatMessage]) -> Iterator[list[_Group]]:
    """Yield the turns in groups, the newest first; what the user said begins each but the first."""
    end = len(messages)
    later: list[_Group] = []
    for start in range(end - 1, -1, -1):
        if start and messages[start].role is not MessageRole.USER:
            continue
        turn = _groups(messages[start:end]) + later
        end = start
        # What began it may have been left out: then the rest belongs to the turn before.
        if start and (not turn or turn[0][0].role is not MessageRole.USER):
            later = turn
            continue
        later = []
        if turn:
            yield turn


def _groups(messages: Sequence[ChatMessage]) -> list[_Group]:
    """Return messages in groups that go together: each call with its results."""
    groups: list[_Group] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role in _RESULT_ROLES:
            continue  # no call stands before it
        if not call_ids(message):
            groups.append([copied(message)])
            continue
        results = []
        while position < len(messages) and messages[position].role in _RESULT_ROLES:
            results.append(messages[position])
            position += 1
        group = _paired(message, results)
        if group:
            groups.append(group)
    return groups


def _paired(message: ChatMessage, results: Sequence[ChatMessage]) -> _Group:
    """Return a call with one result for each of its calls; calls without a result go."""
    ids = call_ids(message)
    answers: dict[int, ChatMessage] = {}
    for result in results:
        wanted = result_id(result)
        open_calls = [p for p in range(len(ids)) if p not in answers]
        place = next((p for p in open_calls if wanted and ids[p] == wanted), None)
        if place is None and not wanted:
            place = next((p for p in open_calls), None)
        if place is None and wanted:
            place = next((p for p in open_calls if not ids[p]), None)
        if place is not None:
            answers[place] = result
    asked = message if len(answers) == len(ids) else _with_calls(message, set(answers))
    if asked is None:
        return []
    return [copied(asked), *(copied(answers[place]) for place in sorted(answers))]


def _with_calls(message: ChatMessage, places: set[int]) -> ChatMessage | None:
    """Return `message` with only some of its calls, `None` if nothing is left of it."""
    blocks, place = [], -1
    for block in message.blocks:
        if isinstance(block, ToolCallBlock):
            place += 1
            if place not in places:
                continue
        blocks.append(block)
    kept = copied(message, blocks)
    listed = kept.additional_kwargs.get("tool_calls")
    if isinstance(listed, list | tuple):
        still = [call for index, call in enumerate(listed) if index in places]
        if still:
            kept.additional_kwargs["tool_calls"] = still
        else:
            del kept.additional_kwargs["tool_calls"]
    has_text = bool((kept.content or "").strip())
    return kept if places or has_text else None
