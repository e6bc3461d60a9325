"""Whose word counts for more; pure.

A statement has a source. What a validator found or a person said stands above what an agent or
a rule inferred, and that above what came in from elsewhere. A higher source can replace a lower
one and goes before it where both speak of the same thing; a lower one never does either,
however new it is and however often it says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_core.models import Memory, Source

__all__ = ["TRUST", "backed_by", "is_foreign", "is_proven", "outranks"]

TRUST: Mapping[Source, int] = {
    "validator": 2,
    "user_feedback": 2,
    "rule": 1,
    "agent_inference": 1,
    "import": 0,
}
"""Rank of each source: proven or said by a person, inferred, brought in from elsewhere."""
_PROVEN = frozenset(source for source, rank in TRUST.items() if rank == max(TRUST.values()))


def outranks(one: Memory, other: Memory) -> bool:
    """Whether the source of `one` is trusted more than that of `other`."""
    return TRUST[one.source] > TRUST[other.source]


def is_proven(memory: Memory) -> bool:
    """Whether a validator found it or a person said it; nothing is trusted more."""
    return memory.source in _PROVEN


def is_foreign(memory: Memory) -> bool:
    """Whether nobody here stands behind a memory: it was brought in from elsewhere."""
    return TRUST[memory.source] == 0


def backed_by(known: Memory, new: Memory) -> Source:
    """Return the source of `known` once `new` has said the same: the more trusted of both."""
    return new.source if outranks(new, known) else known.source
