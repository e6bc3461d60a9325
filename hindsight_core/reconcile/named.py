"""Which of the memories that a lesson itself names it may replace; pure.

A model that reflects says what its lesson replaces, and may be wrong about it: it sees a list
of what is known and names what is merely near. So what it names is asked for less than what is
found by wording alone, but not for nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_core.models import Memory
from hindsight_core.reconcile.compare import overlap_of, relation
from hindsight_core.reconcile.subjects import names_another
from hindsight_core.reconcile.wording import Wording, read_wording
from hindsight_core.safety.trust import outranks

__all__ = ["MAX_RETIRED", "Neighbor", "believed", "is_named_rightly", "may_overrule"]

MAX_RETIRED = 3
"""Most memories that one new statement replaces. A statement that by its wording seems to
contradict more than that is more likely to be misread, and a lesson that names more is not
believed in what it names."""

NAMED_COSINE = 0.6
"""Least cosine to what a lesson names, if they share a word. Of pairs about one thing, most have
more; of pairs that only share their subject, few."""
NAMED_CHANGE_COSINE = 0.53
"""The same for a lesson that says that something changed."""
NAMED_WORD_COSINE = 0.4
"""The same if they share more than the subject they begin with as well."""
NAMED_OVERLAP = 0.3
"""Least share of character pairs in common, for Chinese."""
_STEM = 5
"""Characters by which words are the same."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A known memory that may be about the same thing.

    Attributes:
        memory: The memory.
        cosine: Its similarity to the new one.
    """

    memory: Memory
    cosine: float


def believed(new: Memory, named: Sequence[Neighbor]) -> tuple[list[Memory], list[str]]:
    """Return what of `named` the memory `new` replaces, and for the rest why it does not."""
    told: list[str] = []
    if len(named) > MAX_RETIRED:
        told = [f"{len(named)} memories are not replaced, one lesson named all of them"]
        return [], told
    taken: list[Memory] = []
    for one in named:
        if not may_overrule(new, one.memory):
            told.append(f"{one.memory.id} is not replaced: it is more trusted or newer")
        elif not is_named_rightly(new.content, one.memory.content, one.cosine):
            told.append(f"{one.memory.id} is not replaced: it is about something else")
        else:
            taken.append(one.memory)
    return taken, told


def may_overrule(new: Memory, known: Memory) -> bool:
    """Whether the source and the time of `new` let it replace `known`.

    A source that is trusted less replaces nothing, and only a person what a person said.
    Nothing replaces what holds since later.
    """
    if outranks(known, new):
        return False
    if known.source == "user_feedback" and new.source != "user_feedback":
        return False
    return known.event_time <= new.event_time


def is_named_rightly(new: str, known: str, cosine: float) -> bool:
    """Whether `known` is about what `new` is about, where `new` says that it replaces it.

    Args:
        new: The newer statement.
        known: The older one, which it names.
        cosine: Similarity of their embeddings; for Chinese the words decide.
    """
    if relation(new, known, cosine) != "unrelated":
        return True
    if names_another(new, known):
        return False
    first, second = read_wording(new), read_wording(known)
    if first.cjk and second.cjk:
        return overlap_of(first, second) >= NAMED_OVERLAP
    one, other = _stems(first), _stems(second)
    shared = set(one) & set(other)
    if not shared:
        return False
    needed = NAMED_CHANGE_COSINE if first.marks_change else NAMED_COSINE
    if first.marks_change and shared - set(_subject(one, other)):
        needed = NAMED_WORD_COSINE
    return cosine >= needed


def _stems(wording: Wording) -> list[str]:
    """Return the words that say what a statement is about, cut short, in order."""
    about = wording.words | wording.values
    return [token[:_STEM] for token in wording.tokens if token in about]


def _subject(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the words that both statements begin with."""
    pairs = zip(one, other, strict=False)
    return [a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)]
