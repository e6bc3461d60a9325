"""Finding a text in one run's log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from hindsight_core.runs.journal_types import LogHit
from hindsight_core.steps import Step
from hindsight_core.trajectory import Trajectory

__all__ = ["find_in_run"]

AROUND = 60
"""Characters of an excerpt on each side of what was found."""


def find_in_run(trajectory: Trajectory, wanted: str, submitted_at: datetime) -> LogHit | None:
    """Return the first place in a run that holds `wanted`, `None` if there is none.

    Args:
        trajectory: The run.
        wanted: What to look for, case-folded.
        submitted_at: Passed on to the hit.
    """
    for position, text in _texts(trajectory):
        folded = text.casefold()
        at = folded.find(wanted)
        if at >= 0:
            # Case folding can change lengths; then the folded text is shown, which has the place.
            shown = text if len(text) == len(folded) else folded
            return LogHit(
                run_id=trajectory.run_id,
                step=position,
                excerpt=_excerpt(shown, at, len(wanted)),
                submitted_at=submitted_at,
            )
    return None


def _texts(trajectory: Trajectory) -> Iterator[tuple[int, str]]:
    for position, step in enumerate(trajectory.steps):
        yield position, _text(step)
    yield -1, trajectory.task


def _text(step: Step) -> str:
    calls = [
        f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}"
        for call in step.tool_calls
    ]
    return "\n".join([step.text, *calls, step.tool_name])


def _excerpt(text: str, at: int, length: int) -> str:
    start, end = max(0, at - AROUND), at + length + AROUND
    piece = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{piece}{'…' if end < len(text) else ''}"
