"""The ports of reflection: what turns a run into lessons, and the model it may ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from hindsight_core.models import Lesson, Memory
from hindsight_core.reflection.remarks import Remark
from hindsight_core.trajectory import Trajectory

__all__ = ["ModelReply", "Prompt", "Reflected", "ReflectionModel", "Reflector"]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a reflection model is asked.

    Attributes:
        system: Instructions.
        user: The run and what is already known.
        schema: JSON schema of the answer, for models that can be held to one.
        max_output_tokens: Cap on the answer.
    """

    system: str
    user: str
    schema: dict[str, Any]
    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a reflection model answered.

    Attributes:
        content: Text, or an already parsed object from a structured-output model.
        finish_reason: For example `stop` or `length`, `""` where not told.
        tokens_in: Tokens read, `None` where not told.
        tokens_out: Tokens written, `None` where not told.
        model: Name of the model, `""` where not told.
    """

    content: str | dict[str, Any] | list[Any] | None
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""


class ReflectionModel(Protocol):
    """A language model as reflection needs it: one prompt, one reply."""

    def complete(self, prompt: Prompt) -> ModelReply:
        """Answer `prompt`.

        Raises:
            ModelCallError: With the status and `retry_after` where they are known.
        """


@dataclass(frozen=True, slots=True)
class Reflected:
    """What reflecting on one run gave.

    Attributes:
        lessons: Proposals in order of importance; empty is a valid answer.
        reason: Why there are none.
        notes: What was skipped, repaired or truncated, for people.
        raw_reply: The model's reply, kept with the run.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
        remarks: What the agent said about memories of its brief, beside what is found in its
            words by rule.
    """

    lessons: tuple[Lesson, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    raw_reply: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    remarks: tuple[Remark, ...] = ()


class Reflector(Protocol):
    """Turns a finished run into lessons; keeps no state between runs."""

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        """Reflect on `trajectory`.

        Args:
            trajectory: The run, redacted, with recalled blocks stripped.
            known: Memories about similar things, offered by id for superseding.
            now: The present moment.

        Raises:
            ReflectionError: If it can't be done; `raw_reply` holds what the model said.
        """
