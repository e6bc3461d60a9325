"""What happened: a finished run, as a frozen list of steps with an outcome.

`hindsight_core.runs.readers` builds these from messages and files; adapters build them from
what the frameworks' hooks report. Everything downstream reads only these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from hindsight_core.clock import as_utc
from hindsight_core.errors import TrajectoryError
from hindsight_core.messages import steps_from_messages
from hindsight_core.steps import Step

__all__ = [
    "OUTCOME_LABELS",
    "OUTCOME_SOURCES",
    "Outcome",
    "OutcomeLabel",
    "OutcomeSource",
    "Trajectory",
]

OutcomeLabel: TypeAlias = Literal[
    "success", "failure", "partial", "incomplete", "abandoned", "unknown"
]
OutcomeSource: TypeAlias = Literal["validator", "user", "exception", "llm_judge", "rule"]

OUTCOME_LABELS: tuple[OutcomeLabel, ...] = (
    "success",
    "failure",
    "partial",
    "incomplete",
    "abandoned",
    "unknown",
)
OUTCOME_SOURCES: tuple[OutcomeSource, ...] = (
    "validator",
    "user",
    "exception",
    "llm_judge",
    "rule",
)
"""Sources of an outcome label in falling order of trust."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and who says so.

    Attributes:
        label: How it ended. A run that merely stopped is `unknown`, not `success`.
        source: Who says so, `rule` where nobody did.
        reason: One line for people, for example the error or the validator's words.
    """

    label: OutcomeLabel = "unknown"
    source: OutcomeSource = "rule"
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse labels and sources that are not in the lists."""
        if self.label not in OUTCOME_LABELS:
            raise TrajectoryError(
                f"outcome {self.label!r} is not known; use one of {', '.join(OUTCOME_LABELS)}"
            )
        if self.source not in OUTCOME_SOURCES:
            raise TrajectoryError(
                f"outcome source {self.source!r} is not known; "
                f"use one of {', '.join(OUTCOME_SOURCES)}"
            )

    @property
    def trust(self) -> int:
        """Rank of the source, 0 for a rule up to 4 for a validator."""
        return len(OUTCOME_SOURCES) - 1 - OUTCOME_SOURCES.index(self.source)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One finished run.

    Attributes:
        run_id: Unique within its namespace; reflection is idempotent by it.
        steps: What happened, in order.
        outcome: How it ended.
        task: What was asked, by default the first thing a person said.
        task_type: A declared task type, or `""` to let reflection choose.
        session_id: The conversation or thread it belongs to, `""` if none.
        started_at: Start of the run, aware UTC, where known.
        ended_at: End of the run, aware UTC, where known.
        metadata: JSON-safe notes of the caller, kept in the journal only.
    """

    run_id: str
    steps: tuple[Step, ...]
    outcome: Outcome = Outcome()
    task: str = ""
    task_type: str = ""
    session_id: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the id, bring times to UTC and fill in the task."""
        if not isinstance(self.run_id, str) or not self.run_id.strip():
            raise TrajectoryError(f"run id {self.run_id!r} is blank; give the run an id")
        for name in ("started_at", "ended_at"):
            moment = getattr(self, name)
            if moment is not None:
                object.__setattr__(self, name, as_utc(moment, name=name))
        if not self.task:
            first = next(
                (s.text for s in self.steps if s.kind == "user" and not s.agent and s.text), ""
            )
            object.__setattr__(self, "task", first)

    def with_steps(self, steps: tuple[Step, ...]) -> Trajectory:
        """Return this run with other steps and everything else as it is."""
        return replace(self, steps=steps)

    def with_outcome(self, outcome: Outcome) -> Trajectory:
        """Return this run with another outcome and everything else as it is."""
        return replace(self, outcome=outcome)

    @property
    def tools_used(self) -> tuple[str, ...]:
        """Names of the tools that were called, each once, in order of first use."""
        names = [call.name for step in self.steps for call in step.tool_calls]
        names += [step.tool_name for step in self.steps if step.tool_name]
        return tuple(dict.fromkeys(names))

    @classmethod
    def from_messages(
        cls,
        messages: Any,
        *,
        run_id: str,
        outcome: OutcomeLabel = "unknown",
        outcome_source: OutcomeSource = "rule",
        outcome_reason: str = "",
        task: str = "",
        task_type: str = "",
        session_id: str = "",
        started_at: datetime | None = None,
        ended_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        """Build a run from OpenAI-style message dicts.

        Args:
            messages: Dicts with `role` and optionally `content` (text, content blocks or
                `None`), `tool_calls`, `tool_call_id`, `name`.
            run_id: Unique within its namespace.
            outcome: How the run ended.
            outcome_source: Who says so.
            outcome_reason: One line for people.
            task: What was asked; by default the first user message.
            task_type: A declared task type.
            session_id: The conversation it belongs to.
            started_at: Start, aware.
            ended_at: End, aware.
            metadata: JSON-safe notes, kept in the journal only.

        Raises:
            TrajectoryError: If a message has no known role or a shape that can't be read.
        """
        return cls(
            run_id=run_id,
            steps=steps_from_messages(messages),
            outcome=Outcome(outcome, outcome_source, outcome_reason),
            task=task,
            task_type=task_type,
            session_id=session_id,
            started_at=started_at,
            ended_at=ended_at,
            metadata=dict(metadata or {}),
        )
