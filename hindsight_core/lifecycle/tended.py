"""One thing that tending memory did, or would do in a dry run, told for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from hindsight_core.cutting import clipped
from hindsight_core.models import Memory

__all__ = ["EXCERPT_LENGTH", "Action", "Tended", "excerpt"]

Action: TypeAlias = Literal[
    "archived", "forgotten", "left", "merged", "restored", "revised", "reworded", "stored",
    "strengthened",
]  # fmt: skip
"""What was done to a memory; `left` when something was deliberately not done."""

EXCERPT_LENGTH = 160
"""Characters of a memory's content that a report quotes."""


@dataclass(frozen=True, slots=True)
class Tended:
    """What was done to one memory, and why.

    Attributes:
        memory_id: The memory.
        action: What was done.
        reason: Why, in words.
        content: The beginning of what it says, at most `EXCERPT_LENGTH` characters.
    """

    memory_id: str
    action: Action
    reason: str
    content: str = ""

    @classmethod
    def of(cls, memory: Memory, action: Action, reason: str) -> Tended:
        """Return the report of `action` on `memory`."""
        return cls(memory.id, action, reason, excerpt(memory.content))


def excerpt(text: str) -> str:
    """Return the beginning of `text` on one line."""
    line = " ".join(text.split())
    return clipped(line, EXCERPT_LENGTH, " …")
