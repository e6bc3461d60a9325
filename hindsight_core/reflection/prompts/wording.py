"""What a reflection prompt is made of in one language."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Phrases", "Sample"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One worked example; its names occur nowhere else, so that a copy can be told.

    Attributes:
        run: The example's run in the form in which runs are shown.
        goal: Its goal.
        decision: What was decided.
        reason: Why.
        alternative: What else was considered.
        expected: The result that was expected.
        failure: What went wrong.
        fix: How it was mended.
        lesson: What it teaches.
        condition: When that holds.
        tag: Its label.
    """

    run: str
    goal: str
    decision: str
    reason: str
    alternative: str
    expected: str
    failure: str
    fix: str
    lesson: str
    condition: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """The texts of a prompt in one language.

    Attributes:
        language: `en` or `zh`.
        system: The instructions, with places for `max_lessons`, `task_types`, `shape` and
            `examples`.
        samples: Worked examples.
        empty_run: A run that teaches nothing.
        empty_goal: The goal of that run.
        today: Line with the date and the outcome of the run.
        found: Heading of what the rules found.
        nothing_found: What stands there if they found nothing.
        known: Heading of the offered memories.
        remarks: Line for runs in which the agent speaks of its brief, with a place for `named`.
        run_mark: Mark around the run, with a place for its digest.
        run_notice: Line before the run.
        run_end: Line after it.
        complaint: What a second attempt is told, with a place for the reason.
    """

    language: str
    system: str
    samples: tuple[Sample, ...]
    empty_run: str
    empty_goal: str
    today: str
    found: str
    nothing_found: str
    known: str
    remarks: str
    run_mark: str
    run_notice: str
    run_end: str
    complaint: str
