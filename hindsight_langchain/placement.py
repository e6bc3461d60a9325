"""Where in a model call memories stand, and when: parts of a policy, and pure functions.

Nothing here touches a graph's state: a policy works on the messages of one request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from hindsight_core.errors import ConfigurationError
from hindsight_core.safety.marks import strip_marked

__all__ = [
    "BY_PHASE",
    "LAYERED",
    "POLICIES",
    "SYSTEM",
    "Part",
    "Phase",
    "Placement",
    "Policy",
    "phases_of",
    "place",
    "policy_named",
    "query_of",
]

Placement: TypeAlias = Literal["system", "section", "user"]
"""`system`: end of the system message; `section`: a message of its own before the user's;
`user`: in the user's message, before its text."""

Phase: TypeAlias = Literal["start", "work", "end"]
"""`start`: from the first model call on; `work`: once a tool has answered; `end`: when the
answer may come now, because the last tools worked or there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One block of memories.

    Attributes:
        placement: Where it stands.
        phase: From when on it is there.
        options: What of memory it holds: options of `Hindsight.brief`, such as `categories`,
            `top_k`, `token_budget`, or `abstain=False` to have something always.
    """

    placement: Placement = "system"
    phase: Phase = "start"
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a model is told of memory in one call.

    Attributes:
        parts: The blocks, in order.
        offers_tools: Whether the agent gets tools to ask for more.
    """

    parts: tuple[Part, ...] = (Part(),)
    offers_tools: bool = False


SYSTEM = Policy()
"""One brief at the end of the system message."""
SECTION = Policy((Part(placement="section"),))
USER = Policy((Part(placement="user"),))
LAYERED = Policy(
    (
        Part(options={"categories": ("rule",), "top_k": 3, "token_budget": 300, "abstain": False}),
        Part(
            placement="section",
            options={
                "categories": ("experience", "preference", "correction", "fact", "entity"),
                "token_budget": 500,
            },
        ),
    ),
    offers_tools=True,
)
"""The best rules always, what resembles this turn before the user's message, tools for more."""
BY_PHASE = Policy(
    (
        Part(options={"categories": ("preference", "rule"), "token_budget": 400}),
        Part(
            placement="section",
            phase="work",
            options={"categories": ("experience", "fact", "entity"), "token_budget": 400},
        ),
        Part(
            placement="section",
            phase="end",
            options={"categories": ("correction",), "token_budget": 200},
        ),
    )
)
"""Preferences and rules at the start, similar runs during work, corrections at the end."""

POLICIES: Mapping[str, Policy] = {
    "system": SYSTEM,
    "section": SECTION,
    "user": USER,
    "layered": LAYERED,
    "by_phase": BY_PHASE,
}


def policy_named(policy: Policy | str) -> Policy:
    """Return a policy by its name, or as it is.

    Raises:
        ConfigurationError: If there is none of that name.
    """
    if isinstance(policy, Policy):
        return policy
    try:
        return POLICIES[policy]
    except KeyError:
        raise ConfigurationError(
            f"policy {policy!r} is not known; use one of {', '.join(POLICIES)}, or a Policy"
        ) from None


def query_of(messages: Sequence[BaseMessage]) -> str:
    """Return what to look for: the last thing a person said, without recalled blocks."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return strip_marked(message.text).strip()
    return ""


def phases_of(messages: Sequence[BaseMessage], *, has_tools: bool) -> frozenset[Phase]:
    """Return the phases that a model call is in.

    Args:
        messages: The conversation that is sent.
        has_tools: Whether the model can call tools.
    """
    turn: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            break
        turn.append(message)
    latest: list[ToolMessage] = []
    for message in turn:
        if not isinstance(message, ToolMessage):
            break
        latest.append(message)
    if not has_tools:
        return frozenset({"start", "work", "end"})
    if not any(isinstance(message, ToolMessage) for message in turn):
        return frozenset({"start"})
    if any(message.status == "error" for message in latest):
        return frozenset({"start", "work"})
    return frozenset({"start", "work", "end"})


def place(
    system: SystemMessage | None,
    messages: Sequence[BaseMessage],
    blocks: Sequence[tuple[Placement, str]],
) -> tuple[SystemMessage | None, list[BaseMessage]]:
    """Return the system message and the messages with `blocks` in their places.

    Args:
        system: The system message, `None` if there is none.
        messages: The conversation; it is not changed.
        blocks: For each block where it goes, and its text.
    """
    placed = list(messages)
    for placement, text in blocks:
        last = next(
            (i for i in range(len(placed) - 1, -1, -1) if isinstance(placed[i], HumanMessage)), None
        )
        if placement == "system" or last is None:
            system = _extended(system, text)
        elif placement == "section":
            placed.insert(last, HumanMessage(content=text))
        else:
            placed[last] = _prefixed(placed[last], text)
    return system, placed


def _extended(system: SystemMessage | None, text: str) -> SystemMessage:
    if system is None or not system.content:
        return SystemMessage(content=text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": text}]})


def _prefixed(message: BaseMessage, text: str) -> BaseMessage:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": f"{text}\n\n{message.content}"})
    return message.model_copy(
        update={"content": [{"type": "text", "text": text}, *message.content]}
    )
