"""Which results contradict each other although both stand.

Where the writer did not let one replace the other (another namespace, a person against an
agent, two remedies, a profile that lets statements coexist), the reader has to know.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_core.models import Memory, Retrieved
from hindsight_core.reconcile.compare import relation

__all__ = ["conflicting"]

_SAME_SUBJECT = 0.75
"""Stands in for the cosine of two results of one query; the words decide."""
LOOKED_AT = 10
"""Results that are compared with each other, the first ones."""
MAX_LENGTH = 400
"""Characters of a statement; longer texts are passages, which say many things."""


def conflicting(results: Sequence[Retrieved]) -> tuple[tuple[int, int], ...]:
    """Return the places of results that contradict each other, each with the first it meets.

    A place occurs in at most one pair.

    Args:
        results: Results in order of rank.
    """
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    count = min(len(results), LOOKED_AT)
    for first in range(count):
        for second in range(first + 1, count):
            if first in taken or second in taken:
                continue
            if _contradict(results[first].memory, results[second].memory):
                pairs.append((first, second))
                taken |= {first, second}
    return tuple(pairs)


def _contradict(one: Memory, other: Memory) -> bool:
    if "experience" in (one.category, other.category) or one.id in other.supersedes:
        return False
    if other.id in one.supersedes:
        return False
    if one.content.split() == other.content.split():
        # The same remedy under conditions that exclude each other.
        return bool(one.applies_when) and one.applies_when == other.not_when
    if one.category == "rule" and other.category == "rule" and _two_remedies(one, other):
        return True
    if max(len(one.content), len(other.content)) > MAX_LENGTH:
        return False
    new, old = sorted((one, other), key=lambda memory: memory.event_time, reverse=True)
    return relation(new.content, old.content, _SAME_SUBJECT) == "replaces"


def _two_remedies(one: Memory, other: Memory) -> bool:
    """Whether two rules advise differently for one and the same condition."""
    if not one.applies_when or one.applies_when != other.applies_when:
        return False
    return one.context.parameters != other.context.parameters
