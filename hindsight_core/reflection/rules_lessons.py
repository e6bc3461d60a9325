"""What the calls of a run showed, as lessons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_core.language import Language
from hindsight_core.models import Context, Lesson
from hindsight_core.reflection.rules_calls import Attempt
from hindsight_core.reflection.rules_changes import ArgumentChange, echoes_payload
from hindsight_core.reflection.rules_errors import is_telling
from hindsight_core.reflection.rules_failures import Finding, FindingKind
from hindsight_core.reflection.rules_text import json_safe, plain, short_value
from hindsight_core.reflection.rules_wording import Wording, wording_of
from hindsight_core.reflection.signals import Signals, importance_of
from hindsight_core.trajectory import OutcomeLabel

__all__ = ["RunFacts", "lessons_of_findings"]

MOST_OPEN = 2
"""Open failures of one run that are worth a lesson; the latest ones."""

CUT_OFF: frozenset[OutcomeLabel] = frozenset({"abandoned", "incomplete"})
"""Outcomes of runs that were cut off before a failure could be mended."""

MOST_STEPS = 12
"""Steps that are named as evidence."""

NAME_LENGTH = 80
SAMPLE_LENGTH = 200

FLOORS: dict[FindingKind, float] = {
    "mended": 0.5,
    "prepared": 0.5,
    "open": 0.5,
    "loop": 0.4,
    "unstable": 0.4,
}
"""Least importance of a lesson by what it is about; signals can raise it.

The described signals know no failures; without a floor a fix found in a failed run would count
for nothing.
"""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What lessons of one run share.

    Attributes:
        language: Language of the run.
        task: The task as the user put it.
        task_type: A declared task type.
        outcome: How the run ended.
    """

    language: Language
    task: str
    task_type: str
    outcome: OutcomeLabel


def lessons_of_findings(findings: Sequence[Finding], facts: RunFacts) -> tuple[Lesson, ...]:
    """Return the lessons of `findings`, leaving out failures that did not matter in the end."""
    findings = [f for f in findings if f.kind == "loop" or is_telling(f.error)]
    open_ones = [f for f in findings if f.kind == "open" and _open_matters(f, facts)]
    kept = [f for f in findings if f.kind != "open"] + open_ones[-MOST_OPEN:]
    return tuple(_lesson(finding, facts) for finding in kept)


def _open_matters(finding: Finding, facts: RunFacts) -> bool:
    last = finding.failures[-1]
    if facts.outcome == "success" or echoes_payload(last.error, last.arguments):
        return False
    return facts.outcome not in CUT_OFF or len(finding.failures) > 1


def _lesson(finding: Finding, facts: RunFacts) -> Lesson:
    wording = wording_of(facts.language)
    last = finding.fix if finding.kind == "mended" and finding.fix else finding.failures[-1]
    taught = [*finding.failures, *([finding.fix] if finding.fix else [])]
    success = facts.outcome == "success" and finding.kind in {"mended", "prepared"}
    solved = finding.kind in {"mended", "prepared", "unstable"}
    return Lesson(
        content=_content(finding, facts, wording),
        kind="semantic",
        category="rule",
        task_type=facts.task_type,
        task_description=facts.task,
        applies_when=_condition(finding, wording),
        context=Context(
            tools_used=(plain(finding.tool, NAME_LENGTH),),
            parameters=json_safe(last.arguments),
            input_sample=_arguments(finding.failures[-1], wording),
            output_sample=plain(finding.error, SAMPLE_LENGTH),
        ),
        outcome=facts.outcome if solved else "failure",
        importance=max(FLOORS[finding.kind], importance_of(Signals(success=success))),
        source="rule",
        tags=(finding.kind,) if solved else (finding.kind, "warning"),
        steps=_evidence(taught),
    )


def _evidence(taught: Sequence[Attempt]) -> tuple[int, ...]:
    """Return the steps of the calls; of many the first and the last."""
    steps = sorted({step for attempt in taught for step in attempt.steps})
    return tuple(steps if len(steps) <= MOST_STEPS else [*steps[: MOST_STEPS - 2], *steps[-2:]])


def _condition(finding: Finding, wording: Wording) -> str:
    tool = plain(finding.tool, NAME_LENGTH)
    if not finding.error:
        return wording.say("loop_when", tool=tool)
    return wording.say("mended_when", tool=tool, error=wording.quote(finding.error))


def _content(finding: Finding, facts: RunFacts, wording: Wording) -> str:
    tool = plain(finding.tool, NAME_LENGTH)
    error = wording.quote(finding.error)
    count = len(finding.failures)
    if finding.kind == "mended":
        # A run that failed in the end did not work, though it got further.
        name = "got_past" if facts.outcome == "failure" else "mended"
        return wording.say(name, tool=tool, error=error, changes=_changes(finding, wording))
    if finding.kind == "prepared":
        fix = plain(finding.fix.tool if finding.fix else "", NAME_LENGTH)
        return wording.say("prepared", tool=tool, error=error, fix=fix)
    if finding.kind == "unstable":
        times = wording.say("once") if count == 1 else wording.say("count", count=count)
        return wording.say("unstable", tool=tool, error=error, count=times)
    if finding.kind == "loop":
        name = "loop_error" if finding.error else "loop"
        arguments = _arguments(finding.failures[-1], wording)
        return wording.say(name, tool=tool, error=error, count=count, arguments=arguments)
    name = "open" if count == 1 else "open_times"
    return wording.say(name, tool=tool, error=error, count=count)


def _changes(finding: Finding, wording: Wording) -> str:
    assert finding.difference is not None
    return wording.listed(
        [_change(change, finding, wording) for change in finding.difference.changes]
    )


def _change(change: ArgumentChange, finding: Finding, wording: Wording) -> str:
    name = plain(change.name, NAME_LENGTH)
    if change.removed:
        return wording.say("remove", name=name)
    if change.keys:
        keys = wording.listed([plain(key, NAME_LENGTH) for key in change.keys])
        return wording.say("add_keys" if change.keys_added else "change_keys", name=name, keys=keys)
    if change.added:
        return wording.say("add" if change.new else "add_only", name=name, new=change.new)
    if not change.new:
        return wording.say("change", name=name)
    if change.is_kind:
        if change.old == change.new:
            return wording.say("another", name=name, kind=change.new)
        return wording.say("set", name=name, new=change.new, old=change.old)
    tried = [short_value(f.arguments.get(change.name)) for f in finding.failures]
    old = [value for value in dict.fromkeys(tried) if value and value != change.new]
    return wording.say("set", name=name, new=change.new, old=wording.listed(old))


def _arguments(attempt: Attempt, wording: Wording) -> str:
    shown = ", ".join(
        f"{name}={value}" for name, value in json_safe(attempt.arguments, keys=4, limit=60).items()
    )
    return plain(shown, SAMPLE_LENGTH) or wording.say("no_arguments")
