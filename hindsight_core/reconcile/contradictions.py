"""The five ends of a contradiction: replace, weaken, merge, coexist, unresolved.

Which one is a number of the profile; conditions come first: what holds in different
circumstances does not contradict each other, and what holds only sometimes narrows what was
said to hold always. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.models import Memory
from hindsight_core.retrieval.profiles import Lifecycle

__all__ = ["CONTRADICTS", "WAS", "Retirement", "Settled", "differ_in_condition", "settle"]

CONTRADICTS = "contradicts"
"""Metadata of a memory that contradicts others where nobody has said which is right."""

WAS = "was"
"""Metadata of a merged memory: what was said before."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """A known memory that a new one replaces, weakens or narrows.

    Attributes:
        before: As it was.
        after: As it is to be.
        reason: Why, for the history.
    """

    before: Memory
    after: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """How a contradiction ends.

    Attributes:
        memory: The new memory, with links and marks.
        changes: What becomes of the known ones.
    """

    memory: Memory
    changes: tuple[Retirement, ...] = ()


def differ_in_condition(new: Memory, known: Memory) -> bool:
    """Whether both say when they hold, and say it differently."""
    one, other = _condition(new), _condition(known)
    return bool(one and other) and one != other


def settle(new: Memory, known: Sequence[Memory], lifecycle: Lifecycle, now: datetime) -> Settled:
    """Return how the contradiction between `new` and `known` ends.

    Args:
        new: The newer statement.
        known: The older ones that it contradicts.
        lifecycle: Names the end, and by how much a weakened statement is weakened.
        now: The present moment.
    """
    narrowed = [memory for memory in known if new.applies_when and not _condition(memory)]
    others = [memory for memory in known if memory not in narrowed]
    changes = [_narrowed(memory, new, now) for memory in narrowed]
    end = lifecycle.conflict
    if not others or end == "coexist":
        return Settled(new, tuple(changes))
    if end == "unresolved":
        marked = {**new.metadata, CONTRADICTS: [memory.id for memory in others]}
        return Settled(replace(new, metadata=marked), tuple(changes))
    if end == "down_weight":
        changes += [_weakened(memory, new, lifecycle, now) for memory in others]
        return Settled(new, tuple(changes))
    changes += [_replaced(memory, new, lifecycle, now) for memory in others]
    ids = tuple(memory.id for memory in others)
    new = replace(new, supersedes=(*new.supersedes, *ids))
    if end == "merge":
        new = replace(new, metadata={**new.metadata, WAS: [memory.content for memory in others]})
    return Settled(new, tuple(changes))


def _narrowed(memory: Memory, new: Memory, now: datetime) -> Retirement:
    after = replace(memory, not_when=new.applies_when, updated_at=now)
    return Retirement(memory, after, f"narrowed by {new.id}: {new.content[:120]}")


def _weakened(memory: Memory, new: Memory, lifecycle: Lifecycle, now: datetime) -> Retirement:
    weaker = memory.confidence * lifecycle.conflict_factor
    after = replace(memory, confidence=weaker, updated_at=now)
    return Retirement(memory, after, f"weakened by {new.id}: {new.content[:120]}")


def _replaced(memory: Memory, new: Memory, lifecycle: Lifecycle, now: datetime) -> Retirement:
    weaker = memory.confidence * lifecycle.conflict_factor
    after = replace(
        memory, confidence=weaker, status="superseded", superseded_by=new.id, updated_at=now
    )
    return Retirement(memory, after, f"replaced by {new.id}: {new.content[:120]}")


def _condition(memory: Memory) -> tuple[str, ...]:
    return tuple(text.casefold() for text in (memory.applies_when, memory.not_when) if text)
