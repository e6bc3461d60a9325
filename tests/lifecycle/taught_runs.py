"""Runs that teach exactly what a test says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Lesson, Memory
from hindsight_core.reflection.base import Reflected
from hindsight_core.settings import Settings
from hindsight_core.steps import Step
from hindsight_core.testing import FrozenClock, HashingEmbedder
from hindsight_core.trajectory import Outcome, Trajectory

UNKNOWN = Outcome()


class TaughtByTheRun:
    """A reflector whose lessons stand in the run's own metadata."""

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        return Reflected(tuple(map(_lesson, trajectory.metadata.get("lessons", ()))))


def teaching(run_id: str, *lessons: str | dict[str, Any], outcome: Outcome = UNKNOWN) -> Trajectory:
    """Return a run that teaches `lessons`, each a fact or the fields of a lesson."""
    given = [{"content": lesson} if isinstance(lesson, str) else lesson for lesson in lessons]
    return Trajectory(
        run_id=run_id,
        steps=(Step(kind="user", text=f"do {run_id}"),),
        outcome=outcome,
        metadata={"lessons": given},
    )


def open_in(path: Path, clock: FrozenClock, **options: Any) -> Hindsight:
    """Open a memory in `path` whose runs teach what they say."""
    given: dict[str, Any] = {
        "namespace": ("acme", "alice"),
        "settings": Settings(drain_seconds=2.0),
        "embedder": HashingEmbedder(),
        "clock": clock,
        "reflector": TaughtByTheRun(),
    }
    return Hindsight.open(path, **(given | options))


def contents(h: Hindsight) -> set[str]:
    """Return what is active."""
    return {memory.content for memory in h.list(limit=1_000).memories}


def _lesson(given: dict[str, Any]) -> Lesson:
    until = given.get("valid_until")
    more = {"valid_until": datetime.fromisoformat(until)} if until else {}
    return Lesson(**{**given, "tags": tuple(given.get("tags", ())), **more})
