"""What all readers share: problems, labels, times, and ids that come out the same every time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from hindsight_core.content import as_text, clean_value
from hindsight_core.cutting import clipped
from hindsight_core.errors import TrajectoryError
from hindsight_core.trajectory import Outcome, Trajectory

__all__ = [
    "PENDING_ID",
    "Note",
    "ReadProblem",
    "Reader",
    "Source",
    "content_id",
    "read_metadata",
    "read_moment",
    "read_outcome",
    "require",
    "short",
    "with_content_id",
]

PENDING_ID = "pending"
"""Stands for the id of a run until its content is known."""


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Something in a file that a person should know.

    Attributes:
        file: The file.
        line: The line, counted from 1; 0 where the whole file is meant.
        reason: What is wrong, with the value.
        is_lost: Whether a run was lost by it; `False` if it was read all the same.
    """

    file: str
    line: int
    reason: str
    is_lost: bool = True

    def __str__(self) -> str:
        """Return it as one line for people."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


Note: TypeAlias = Callable[[str], None]
"""Takes the reason of a problem that loses no run."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a run comes from, as far as its reader may know.

    Attributes:
        stem: Name of the file without its suffix, used in run ids.
        note: Reports what is odd and loses no run.
    """

    stem: str
    note: Note


Reader: TypeAlias = Callable[[Any, Source], Trajectory]
"""Makes a run of one JSON value, or raises `TrajectoryError`."""


def content_id(*parts: Any) -> str:
    """Return a run id made of `parts` alone: `run_` and 32 hex digits of SHA-256."""
    text = json.dumps(clean_value(parts), ensure_ascii=False, sort_keys=True)
    return f"run_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def with_content_id(trajectory: Trajectory) -> Trajectory:
    """Give a run whose id is pending one that depends on what it holds, and on nothing else."""
    if trajectory.run_id != PENDING_ID:
        return trajectory
    steps = [asdict(step) for step in trajectory.steps]
    made = content_id(steps, asdict(trajectory.outcome), trajectory.task, trajectory.session_id)
    return replace(trajectory, run_id=made)


def read_outcome(value: Mapping[str, Any]) -> Outcome:
    """Read `outcome`, `outcome_source` and `outcome_reason` of a run.

    `outcome` is a label, a truth value (success or failure), a mapping with `label`, `source`
    and `reason`, or missing (unknown).

    Raises:
        TrajectoryError: If the label or the source is none of ours.
    """
    told = value.get("outcome")
    if isinstance(told, Mapping):
        label, source, reason = told.get("label"), told.get("source"), told.get("reason")
    else:
        label, source = told, value.get("outcome_source")
        reason = value.get("outcome_reason")
    if isinstance(label, bool):
        label = "success" if label else "failure"
    return Outcome(
        label if label is not None else "unknown",  # type: ignore[arg-type] # checked by Outcome
        source if source is not None else "rule",
        as_text(reason),
    )


def read_moment(value: Any, name: str, source: Source) -> datetime | None:
    """Read an aware ISO time; note one that can't be used instead of guessing its zone."""
    if value is None or value == "":
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (ValueError, TypeError):
        source.note(f"{name} {short(value)} is not an ISO time and was left out")
        return None
    if moment.tzinfo is None:
        source.note(f"{name} {short(value)} has no time zone and was left out")
        return None
    return moment


def read_metadata(value: Any) -> Mapping[str, Any]:
    """Return `metadata` JSON-safe, empty where it is no mapping."""
    cleaned: Mapping[str, Any] = clean_value(value) if isinstance(value, Mapping) else {}
    return cleaned


def require(condition: bool, reason: str) -> None:
    """Refuse a run whose shape does not hold.

    Raises:
        TrajectoryError: With `reason`, if the condition does not hold.
    """
    if not condition:
        raise TrajectoryError(reason)


def short(value: Any) -> str:
    """Return a short repr for people."""
    return clipped(as_text(repr(value)), 80)
