"""What the calls of a run teach: fixes, open failures, unstable operations, loops.

Finds; `rules_lessons` words it. Every finding is made in one pass over the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hindsight_core.reflection.rules_calls import Attempt, is_silent
from hindsight_core.reflection.rules_changes import Difference, difference_between
from hindsight_core.reflection.rules_errors import is_transient

__all__ = ["Finding", "FindingKind", "findings_of"]

FindingKind: TypeAlias = Literal["mended", "prepared", "unstable", "loop", "open"]

LOOP_LENGTH = 3
"""Identical calls with the same result from which on they are a loop."""

LOOP_GAP = 2
"""Other calls that may stand between two turns of a loop."""

REACH = 20
"""Calls after a failure within which a success can be its fix."""

WAITING = 12
"""Failures of one tool that are kept in mind at a time."""

HANDS_ON_WORDS = frozenset(
    {
        *("bash", "shell", "terminal", "sh", "python", "execute", "exec", "run", "command"),
        *("ipython", "repl", "code", "cmd", "powershell", "edit", "write", "insert", "create"),
        *("replace", "patch", "save", "editor", "submit"),
    }
)
"""Parts of names of tools that change the world as they go: the same call then meets another."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the calls show.

    Attributes:
        kind: `mended`: worked with other arguments. `prepared`: the same call worked after
            another tool. `unstable`: the same call worked when it was simply tried again.
            `loop`: the same call with the same result over and over. `open`: never worked.
        tool: The tool.
        failures: The failed calls, oldest first; for a loop all its calls.
        fix: The call that worked, or for `prepared` the call before it that made it work.
        difference: For `mended`, what changed since the last failure.
    """

    kind: FindingKind
    tool: str
    failures: tuple[Attempt, ...]
    fix: Attempt | None = None
    difference: Difference | None = None

    @property
    def error(self) -> str:
        """What the last failure said, `""` for a loop without an error."""
        return self.failures[-1].error


def findings_of(attempts: Sequence[Attempt]) -> tuple[Finding, ...]:
    """Return what `attempts` show, in the order in which it came to light."""
    loops = _loops(attempts)
    looping = {attempt.order for loop in loops for attempt in loop.failures}
    waiting: dict[str, list[Attempt]] = {}
    worked_last: dict[str, int] = {}
    found: list[Finding] = []
    for attempt in attempts:
        if attempt.worked:
            worked_last[attempt.tool] = attempt.order
            finding = _closed(waiting, attempt, attempts)
            if finding is not None:
                found.append(finding)
        elif attempt.error:
            waiting.setdefault(attempt.tool, []).append(attempt)
            del waiting[attempt.tool][:-WAITING]
    mended = {failure.order for finding in found for failure in finding.failures}
    loops = [loop for loop in loops if loop.failures[-1].order not in mended]
    still_open = (
        Finding("open", tool, tuple(failures))
        for tool, failures in waiting.items()
        if failures
        and worked_last.get(tool, -1) < failures[-1].order
        and failures[-1].order not in looping
        and not _another_tool_did_it(failures[-1], attempts)
    )
    return (*found, *loops, *still_open)


def _another_tool_did_it(failure: Attempt, attempts: Sequence[Attempt]) -> bool:
    """Whether another tool took the same arguments soon after, so that a way was found."""
    later = attempts[failure.order + 1 : failure.order + 1 + REACH]
    return bool(failure.arguments) and any(
        a.worked and a.tool != failure.tool and a.arguments == failure.arguments for a in later
    )


def _closed(
    waiting: dict[str, list[Attempt]], worked: Attempt, attempts: Sequence[Attempt]
) -> Finding | None:
    """Return what `worked` says about the failures of its tool, and forget those it mends."""
    near = [f for f in waiting.get(worked.tool, []) if worked.order - f.order <= REACH]
    if not near:
        return None
    if near[-1].key == worked.key:
        waiting[worked.tool] = []
        return _same_call_worked([f for f in near if f.key == worked.key], worked, attempts)
    differences = {f.order: difference_between(f.arguments, worked.arguments) for f in near}
    related = [f for f in near if differences[f.order].related]
    if any(d.trivial for d in differences.values()):
        waiting[worked.tool] = []
        return None
    if not related:
        return None
    waiting[worked.tool] = [f for f in near if f not in related]
    # Other arguments mend no time-out: the service was back, or another one answered.
    related = [f for f in related if not is_transient(f.error)]
    if not related:
        return None
    return Finding("mended", worked.tool, tuple(related), worked, differences[related[-1].order])


def _same_call_worked(
    failures: list[Attempt], worked: Attempt, attempts: Sequence[Attempt]
) -> Finding | None:
    between = [a for a in attempts[failures[-1].order + 1 : worked.order] if not is_silent(a.tool)]
    if worked.turn != failures[-1].turn:
        return None
    if not between:
        return (
            None
            if _is_hands_on(worked.tool) and len(failures) < 2
            else Finding("unstable", worked.tool, tuple(failures), worked)
        )
    tools = {a.tool for a in between}
    prepared = len(tools) == 1 and between[-1].worked and worked.tool not in tools
    if not prepared or _is_hands_on(worked.tool) or _is_hands_on(between[-1].tool):
        return None
    return Finding("prepared", worked.tool, tuple(failures), between[-1])


def _loops(attempts: Sequence[Attempt]) -> list[Finding]:
    """Return the loops: what was called again and again with the same result.

    A call that gives something else in the end was waiting, not looping.
    """
    runs: dict[str, list[Attempt]] = {}
    loops: dict[str, Finding] = {}
    for attempt in attempts:
        if attempt.result_step < 0 or is_silent(attempt.tool):
            continue
        turns = runs.get(attempt.key, [])
        last = turns[-1] if turns else None
        if last is not None and last.outcome != attempt.outcome:
            loops.pop(attempt.key, None)
        if last is None or not _continues(last, attempt):
            runs[attempt.key] = [attempt]
            continue
        turns.append(attempt)
        if len(turns) >= LOOP_LENGTH:
            loops[attempt.key] = Finding("loop", attempt.tool, tuple(turns))
    return list(loops.values())


def _continues(last: Attempt, attempt: Attempt) -> bool:
    return (
        last.outcome == attempt.outcome
        and last.turn == attempt.turn
        and attempt.order - last.order <= LOOP_GAP + 1
    )


def _is_hands_on(tool: str) -> bool:
    words = set(tool.lower().replace("-", "_").replace(".", "_").split("_"))
    return bool(words & HANDS_ON_WORDS)
