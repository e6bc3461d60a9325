"""Reflection on the parts of a run besides the whole: each sub-agent's own task.

A sub-agent's part has its own task, often of another task type, and its lessons are lost in
the whole when the run is long. Its steps are known by the agent's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.models import Lesson, Memory
from hindsight_core.reflection.base import Reflected, Reflector
from hindsight_core.trajectory import Outcome, Trajectory

__all__ = ["Part", "SubTaskReflector", "sub_tasks"]


@dataclass(frozen=True, slots=True)
class Part:
    """One sub-agent's part of a run.

    Attributes:
        run: The part as a run of its own.
        positions: For each of its steps the position in the whole run.
    """

    run: Trajectory
    positions: tuple[int, ...]


def sub_tasks(run: Trajectory) -> tuple[Part, ...]:
    """Return the parts of `run` that a sub-agent did with tools, in order of appearance.

    A part that ends with a failed tool has failed; one of a run that succeeded has succeeded;
    of the others nothing is known.
    """
    names = dict.fromkeys(step.agent for step in run.steps if step.agent)
    parts = []
    for name in names:
        positions = tuple(i for i, step in enumerate(run.steps) if step.agent == name)
        steps = tuple(run.steps[i] for i in positions)
        if not any(step.tool_calls for step in steps):
            continue
        task = next((step.text for step in steps if step.kind == "user" and step.text), name)
        # The part's own steps read as a run: what the parent asked is its task.
        own = tuple(replace(step, agent="") for step in steps if step.kind != "user")
        kept = tuple(i for i in positions if run.steps[i].kind != "user")
        part = replace(
            run, steps=own, task=task, task_type="", outcome=_outcome(run, own[-1].is_error)
        )
        parts.append(Part(part, kept))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class SubTaskReflector:
    """Reflects on a run and on each of its sub-tasks.

    Attributes:
        inner: Reflects on one run.
    """

    inner: Reflector

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        """Reflect on `trajectory`; lessons of parts come after those of the whole."""
        whole = self.inner.reflect(trajectory, known, now)
        lessons = list(whole.lessons)
        notes, tokens_in, tokens_out = list(whole.notes), whole.tokens_in, whole.tokens_out
        for part in sub_tasks(trajectory):
            found = self.inner.reflect(part.run, known, now)
            said = {lesson.content for lesson in lessons}
            lessons += [_placed(x, part) for x in found.lessons if x.content not in said]
            notes += found.notes
            tokens_in += found.tokens_in
            tokens_out += found.tokens_out
        return replace(
            whole,
            lessons=tuple(lessons),
            reason="" if lessons else whole.reason,
            notes=tuple(dict.fromkeys(notes)),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
        )


def _placed(lesson: Lesson, part: Part) -> Lesson:
    """Return a part's lesson with its steps as positions in the whole run."""
    steps = tuple(part.positions[i] for i in lesson.steps if i < len(part.positions))
    return replace(lesson, steps=steps)


def _outcome(run: Trajectory, failed: bool) -> Outcome:
    if failed:
        return Outcome("failure", "rule", "its last tool call failed")
    return run.outcome if run.outcome.label == "success" else Outcome()
