"""Reflection without a model: what the steps of a run show plainly enough for rules to see.

Precision goes before recall. A lesson that is not there can be learned next time; a wrong one
misleads every run that recalls it.

Confidence: what a person said about themselves starts at 0.9 (`USER_STATED`), an experience
with a validator's verdict at 0.8 (`VALIDATOR_BACKED`); everything else is left to the profile.
Importance: the sum of the signals that a lesson carries (`signals`), but at least a floor by
what it is about, since the described signals know no failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hindsight_core.errors import ConfigurationError
from hindsight_core.language import language_of_run
from hindsight_core.models import Category, Lesson, Memory
from hindsight_core.reflection.base import Reflected
from hindsight_core.reflection.rewordings import fold_rewordings
from hindsight_core.reflection.rules_calls import attempts_of
from hindsight_core.reflection.rules_experience import experience_of, is_small_talk, is_trivial
from hindsight_core.reflection.rules_failures import findings_of
from hindsight_core.reflection.rules_lessons import RunFacts, lessons_of_findings
from hindsight_core.reflection.rules_tasks import task_type_of
from hindsight_core.reflection.rules_text import normalized, plain
from hindsight_core.reflection.signals import Signals, importance_of
from hindsight_core.reflection.statements import Statement, StatementCategory, statements_of
from hindsight_core.settings import DEFAULT_TASK_TYPES
from hindsight_core.trajectory import Trajectory

__all__ = ["MAX_LESSONS", "USER_STATED", "RuleReflector"]

MAX_LESSONS = 8
"""Lessons of one run, the experience included."""

TASK_DESCRIPTION_LENGTH = 1_000
"""Characters of the task that retrieval sees."""

USER_STATED = 0.9
"""Confidence of what a person said about themselves."""

FLOORS: dict[StatementCategory, float] = {"preference": 0.6, "correction": 0.6, "fact": 0.5}
"""Least importance of what a person said, by category; 0.6 is the threshold of `signals`."""


class RuleReflector:
    """Turns a finished run into lessons by rules alone; a `Reflector`.

    It keeps no state, asks nothing over a network and gives the same lessons for the same run.

    ```python
    reflector = RuleReflector()
    reflected = reflector.reflect(trajectory, known=(), now=datetime.now(timezone.utc))
    ```

    Args:
        task_types: The declared task types; the first takes whatever does not fit.
        max_lessons: Most lessons of one run, at least 1. The experience always stays.

    Raises:
        ConfigurationError: If there are no task types or `max_lessons` is below 1.
    """

    def __init__(
        self,
        task_types: Sequence[str] = DEFAULT_TASK_TYPES,
        *,
        max_lessons: int = MAX_LESSONS,
    ) -> None:
        if not task_types:
            raise ConfigurationError("task_types is empty; declare at least one task type")
        if max_lessons < 1:
            raise ConfigurationError(f"max_lessons {max_lessons!r} is below 1")
        self._task_types = tuple(task_types)
        self._max_lessons = max_lessons

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        """Return what `trajectory` teaches, most important first.

        Args:
            trajectory: The run, redacted, with recalled blocks stripped.
            known: Memories about similar things; what they name is not new.
            now: The present moment, for runs that don't say when they ended.
        """
        steps = trajectory.steps
        attempts = attempts_of(steps)
        words = [s.text for s in steps if s.kind == "user" and not s.agent]
        if is_trivial(trajectory, attempts):
            return Reflected(reason="the run holds no task, only small talk or nothing at all")
        said = statements_of(steps, trajectory.ended_at or trajectory.started_at or now)
        facts = self._facts(trajectory, words)
        stated = [_stated(one, facts, known) for one in said.found]
        experience = experience_of(
            trajectory, attempts, facts, _importance_of_run(said.found, facts, known)
        )
        learned = [*stated, *lessons_of_findings(findings_of(attempts), facts)]
        return self._ranked(experience, learned, said.notes)

    def _facts(self, trajectory: Trajectory, words: Sequence[str]) -> RunFacts:
        task = trajectory.task
        if is_small_talk(task):
            task = next((text for text in words if not is_small_talk(text)), task)
        return RunFacts(
            language=language_of_run(trajectory),
            task=plain(task, TASK_DESCRIPTION_LENGTH),
            task_type=task_type_of(
                "\n".join([task[:2_000], *(text[:500] for text in words[:10])]),
                trajectory.tools_used,
                self._task_types,
                trajectory.task_type,
            ),
            outcome=trajectory.outcome.label,
        )

    def _ranked(
        self, experience: Lesson, learned: Sequence[Lesson], notes: Sequence[str]
    ) -> Reflected:
        ranked = sorted(_folded(learned), key=lambda lesson: -lesson.importance)
        kept = [experience, *ranked[: self._max_lessons - 1]]
        left_out = len(ranked) + 1 - len(kept)
        if left_out:
            notes = (*notes, f"{left_out} less important lessons were left out")
        return Reflected(
            lessons=tuple(sorted(kept, key=lambda lesson: -lesson.importance)), notes=tuple(notes)
        )


def _folded(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Fold what a person said twice in other words, and rules that are the same to the letter."""
    rules = {normalized(lesson.content): lesson for lesson in lessons if lesson.category == "rule"}
    said: dict[Category, list[Lesson]] = {}
    for lesson in lessons:
        if lesson.category != "rule":
            said.setdefault(lesson.category, []).append(lesson)
    return [one for group in said.values() for one in fold_rewordings(group)[0]] + [*rules.values()]


def _importance_of_run(
    statements: Sequence[Statement], facts: RunFacts, known: Sequence[Memory]
) -> float:
    categories = {statement.category for statement in statements}
    return importance_of(
        Signals(
            preference="preference" in categories,
            success=facts.outcome == "success",
            new_entity=any(_is_new(statement, known) for statement in statements),
            correction="correction" in categories,
        )
    )


def _stated(statement: Statement, facts: RunFacts, known: Sequence[Memory]) -> Lesson:
    signals = Signals(
        preference=statement.category == "preference",
        new_entity=_is_new(statement, known),
        correction=statement.category == "correction",
    )
    return Lesson(
        content=statement.content,
        kind="semantic",
        category=statement.category,
        task_type=facts.task_type,
        task_description=facts.task,
        outcome=facts.outcome,
        confidence=USER_STATED,
        importance=max(FLOORS[statement.category], importance_of(signals)),
        source="user_feedback",
        steps=statement.steps,
        event_time=statement.event_time,
        valid_until=statement.valid_until,
    )


def _is_new(statement: Statement, known: Sequence[Memory]) -> bool:
    """Whether a statement names something, and memory does not say it already."""
    said = normalized(statement.content)
    return statement.names and all(normalized(memory.content) != said for memory in known)
