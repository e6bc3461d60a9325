"""What is read out of one sentence, before it becomes a lesson."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

__all__ = ["Found", "Repair", "StatementKind"]

StatementKind: TypeAlias = Literal["preference", "fact"]


@dataclass(frozen=True, slots=True)
class Found:
    """One statement of a person about themselves or about how to work for them.

    Attributes:
        kind: A lasting preference, or a fact.
        content: The statement as a memory says it.
        valid_until: The first moment at which it no longer holds, `None` if it doesn't say.
        event_time: When it happened or began, `None` if it doesn't say.
        names: Whether it names somebody or something.
    """

    kind: StatementKind
    content: str
    valid_until: datetime | None = None
    event_time: datetime | None = None
    names: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """What a sentence says about the agent's last answer.

    Attributes:
        wrong: It says that the answer was wrong.
        right: It says what is right.
        hints: It could say what is right, if another sentence says that the answer was wrong.
    """

    wrong: bool = False
    right: bool = False
    hints: bool = False
