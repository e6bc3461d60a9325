"""Which results contradict each other although both stand.

Where the writer did not let one replace the other (another namespace, a person against an
agent, two remedies, a profile that lets statements coexist), the reader has to know. Statements
that hold under different conditions do not contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from hindsight_core.models import Memory, Retrieved, is_statement
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.opposition import DISPUTED, dispute, opposition, stance_of
from hindsight_core.retrieval.conditions import exclude_each_other
from hindsight_core.retrieval.solved import is_remedy

__all__ = ["conflicting"]

_SAME_SUBJECT = 0.75
"""Stands in for the cosine of two results of one query; the words decide."""
LOOKED_AT = 10
"""Results that are compared with each other, the first ones."""
MAX_LENGTH = 400
"""Characters of a statement; longer texts are passages, which say many things."""


LEAST_OPPOSITION = 0.6
"""Least opposition of two results that are shown as contradicting each other: more than half of
what is denied, and more than a single term of it."""
ContentTerms: TypeAlias = Callable[[str], frozenset[int]]


def conflicting(
    results: Sequence[Retrieved], content_terms: ContentTerms
) -> tuple[tuple[int, int], ...]:
    """Return the places of results that contradict each other, each with the first it meets.

    A place occurs in at most one pair.

    Args:
        results: Results in order of rank.
        content_terms: Gives the terms of a text that say what it is about.
    """
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    count = min(len(results), LOOKED_AT)
    for first in range(count):
        for second in range(first + 1, count):
            if first in taken or second in taken:
                continue
            one, other = results[first], results[second]
            if _contradict(one.memory, other.memory) or _dispute(one, other, content_terms):
                pairs.append((first, second))
                taken |= {first, second}
    return tuple(pairs)


def _contradict(one: Memory, other: Memory) -> bool:
    if not (is_statement(one) and is_statement(other)) or one.id in other.supersedes:
        return False
    if other.id in one.supersedes:
        return False
    if one.content.split() == other.content.split():
        # The same remedy under conditions that exclude each other.
        return bool(one.applies_when) and one.applies_when == other.not_when
    if exclude_each_other(one, other):
        return False
    if one.category == "rule" and other.category == "rule" and _two_remedies(one, other):
        return True
    if max(len(one.content), len(other.content)) > MAX_LENGTH:
        return False
    new, old = sorted((one, other), key=lambda memory: memory.event_time, reverse=True)
    return relation(new.content, old.content, _SAME_SUBJECT) == "replaces"


def _dispute(one: Retrieved, other: Retrieved, content_terms: ContentTerms) -> bool:
    """Whether one statement denies what the other claims, and both are what was asked for."""
    first, second = one.memory, other.memory
    if not (is_statement(first) and is_statement(second)):
        return False
    if max(len(first.content), len(second.content)) > MAX_LENGTH or _linked(first, second):
        return False
    if exclude_each_other(first, second):
        return False
    about = min(one.relevance, other.relevance)
    if dispute(about, 1.0) < DISPUTED:
        return False
    found = opposition(
        stance_of(first.content, content_terms), stance_of(second.content, content_terms)
    )
    return found >= LEAST_OPPOSITION and dispute(about, found) >= DISPUTED


def _linked(one: Memory, other: Memory) -> bool:
    """Whether one replaced the other, or both are steps of one run, which answer each other."""
    if one.id in other.supersedes or other.id in one.supersedes:
        return True
    return bool({e.run_id for e in one.evidence} & {e.run_id for e in other.evidence})


def _two_remedies(one: Memory, other: Memory) -> bool:
    """Whether two rules advise differently for one and the same condition.

    A warning advises nothing, so it does not disagree with what mends the failure.
    """
    if not (is_remedy(one) and is_remedy(other)):
        return False
    if not one.applies_when or one.applies_when != other.applies_when:
        return False
    return one.context.parameters != other.context.parameters
