"""The short-term window: the newest messages that fit, calls and results kept together.

Whole turns go first, oldest before newer ones. Of the newest turn, which always keeps what the
user said, the oldest calls with their results go next. What providers refuse is repaired in the
copy that is sent: a result without its call is left out, and so is a call without a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

from hindsight_llamaindex.messages import call_ids, copied, result_id

__all__ = ["window"]

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
    groups = _groups(messages[opening:])
    newest = _newest(groups, limit - fixed, weigh) if fixed <= limit else []
    # What is sent although it is larger than the room leaves none for instructions.
    if fixed + sum(weigh(message) for message in newest) > limit:
        return _newest(groups, limit, weigh)
    return instructions + newest


def _newest(
    groups: list[list[ChatMessage]], room: int, weigh: Callable[[ChatMessage], int]
) -> list[ChatMessage]:
    """Return the newest turns that fit; only of the last turn is a part enough."""
    kept: list[list[ChatMessage]] = []
    end = len(groups)
    for start in range(len(groups) - 1, -1, -1):
        if start and groups[start][0].role is not MessageRole.USER:
            continue
        turn = groups[start:end]
        size = sum(weigh(message) for group in turn for message in group)
        if size > room:
            if not kept:
                kept = _part(turn, room, weigh)
            break
        kept = turn + kept
        room -= size
        end = start
    return [message for group in kept for message in group]


def _part(
    turn: list[list[ChatMessage]], room: int, weigh: Callable[[ChatMessage], int]
) -> list[list[ChatMessage]]:
    """Return what fits of one turn: what the user said, then the newest groups."""
    head = turn[:1] if turn[0][0].role is MessageRole.USER else []
    room -= sum(weigh(message) for group in head for message in group)
    kept: list[list[ChatMessage]] = []
    for group in reversed(turn[len(head) :]):
        size = sum(weigh(message) for message in group)
        if size > room:
            break
        kept.insert(0, group)
        room -= size
    return head + kept or turn[-1:]


def _groups(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return messages in groups that go together: each call with its results."""
    groups: list[list[ChatMessage]] = []
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


def _paired(message: ChatMessage, results: Sequence[ChatMessage]) -> list[ChatMessage]:
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
