"""Forethought: what past runs warn of, before the next one begins.

Pure: what was found becomes a few lines. Nothing is said that no memory stands behind, and
nothing at all when nothing matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Literal, TypeAlias

from hindsight_core.models import Memory, Retrieved
from hindsight_core.retrieval.forethought_wording import Wording, wording_of
from hindsight_core.retrieval.patterns import Pattern, error_kind, patterns_of
from hindsight_core.retrieval.solved import is_remedy, solves, success_at
from hindsight_core.safety.marks import wrap

__all__ = [
    "MAX_TOKENS",
    "RELEVANT",
    "Foreseen",
    "ForeseenKind",
    "Forethought",
    "closest_failure",
    "foresee",
    "render_forethought",
]

MAX_TOKENS = 200
"""Most tokens of a forethought, whatever is asked for."""
RELEVANT = 0.45
"""Least absolute relevance for a rule to match and for a past run to be told of. Above what a
query in a script that the embedder has not learned gives to any memory."""
SAME_KIND = 0.4
"""Least relevance of the further runs that patterns are counted over, once one is relevant."""
MOST_RULES = 2
MOST_PATTERNS = 2

ForeseenKind: TypeAlias = Literal["failure", "rule", "pattern"]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One thing to mind.

    Attributes:
        kind: The closest failure with its fix, a rule that matches, or a pattern that repeats.
        text: What it says, on one line.
        confidence: How sure, 0–1: of a memory its confidence now, of a pattern the expected
            rate of failure.
        memories: What stands behind it, for a failure with the fix's memory.
    """

    kind: ForeseenKind
    text: str
    confidence: float
    memories: tuple[Memory, ...] = field(repr=False, default=())


@dataclass(frozen=True, slots=True)
class Forethought:
    """What to mind before a run; falsy when there is nothing to say.

    Attributes:
        text: The block between its marks, `""` when empty.
        items: What it is made of, in order of importance.
        tokens: Tokens of `text`, at most 200.
        language: `en` or `zh`.
        confidence: The highest confidence of an item, 0 when empty.
        available: `False` when the store could not be asked, so emptiness means nothing.
    """

    text: str = ""
    items: tuple[Foreseen, ...] = ()
    tokens: int = 0
    language: str = "en"
    confidence: float = 0.0
    available: bool = True

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.text)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def closest_failure(runs: Sequence[Retrieved]) -> Memory | None:
    """Return the most relevant run of the same kind that failed, `None` if none did."""
    similar = _similar(runs)
    return next((memory for memory in similar if memory.outcome == "failure"), None)


def foresee(
    task: str,
    *,
    rules: Sequence[Retrieved],
    runs: Sequence[Retrieved],
    taught: Sequence[Memory],
    now: datetime,
    zone: tzinfo,
    language: str,
    confidence_of: Callable[[Memory], float],
) -> tuple[Foreseen, ...]:
    """Return what to mind, the most important first.

    Args:
        task: What is about to be done.
        rules: Rules and corrections that were found for it, best first.
        runs: Experiences that were found for it, best first.
        taught: What the run of the closest failure taught.
        now: The present moment.
        zone: Where weekdays are told.
        language: `zh` for Chinese, anything else for English.
        confidence_of: Gives a memory's confidence now.
    """
    wording = wording_of(language)
    similar = _similar(runs)
    matching = [result.memory for result in rules if result.relevance >= RELEVANT]
    failure = closest_failure(runs)
    known = [result.memory for result in runs]
    fix = None if failure is None else _fix(failure, matching, taught, known, similar)
    items: list[Foreseen] = []
    if failure is not None:
        items.append(_failure(failure, fix, wording, confidence_of))
    told = {memory.id for item in items for memory in item.memories}
    others = [
        memory
        for memory in matching
        if memory.id not in told
        and not _warns_of(memory, failure)
        and not any(solves(rule, memory) for rule in matching if not is_remedy(memory))
    ]
    items += [
        Foreseen(
            "rule",
            wording.rule(memory, None if is_remedy(memory) else success_at(memory, known)),
            confidence_of(memory),
            (memory,),
        )
        for memory in others[:MOST_RULES]
    ]
    today = now.astimezone(zone).weekday()
    patterns = [
        Foreseen("pattern", wording.pattern(pattern, today), pattern.confidence, pattern.memories)
        for pattern in sorted(
            patterns_of(similar, zone), key=lambda p: not _applies(p, task, today, wording)
        )[:MOST_PATTERNS]
    ]
    # What comes last is what the budget cuts off; the first pattern is told nowhere else, while
    # rules are also in the brief.
    return (*items[:1], *patterns[:1], *items[1:], *patterns[1:])


def render_forethought(items: Sequence[Foreseen], language: str) -> str:
    """Return the marked block for `items`, `""` for none."""
    if not items:
        return ""
    wording = wording_of(language)
    lines = [wording.line(item.text, item.confidence) for item in items]
    return wrap("\n".join([wording.opening, *lines]))


def _similar(runs: Sequence[Retrieved]) -> list[Memory]:
    """Return the runs of the same kind of task as what is about to be done, closest first."""
    ranked = sorted(runs, key=lambda result: -result.relevance)
    if not ranked or ranked[0].relevance < RELEVANT:
        return []
    task_type = ranked[0].memory.task_type
    return [
        result.memory
        for result in ranked
        if result.relevance >= SAME_KIND and result.memory.task_type == task_type
    ]


def _warns_of(rule: Memory, failure: Memory | None) -> bool:
    """Whether a rule only says that the very run failed that is told of already."""
    if failure is None or is_remedy(rule):
        return False
    runs = {evidence.run_id for evidence in failure.evidence}
    return any(evidence.run_id in runs for evidence in rule.evidence)


def _failure(
    failure: Memory,
    fix: Memory | None,
    wording: Wording,
    confidence_of: Callable[[Memory], float],
) -> Foreseen:
    memories = (failure,) if fix is None else (failure, fix)
    return Foreseen(
        "failure",
        wording.failure(failure, fix),
        min(confidence_of(memory) for memory in memories),
        memories,
    )


def _fix(
    failure: Memory,
    matching: Sequence[Memory],
    taught: Sequence[Memory],
    known: Sequence[Memory],
    similar: Sequence[Memory],
) -> Memory | None:
    """Return what mends `failure`, `None` if nothing known does.

    In this order: what the failed run itself taught, a rule about the same tool and the same
    kind of error, a run that succeeded at the same task, the most similar run that succeeded
    with other tools.
    """
    own = [memory for memory in taught if is_remedy(memory)]
    if own:
        return max(own, key=lambda memory: memory.confidence)
    tools, kind = set(failure.context.tools_used), error_kind(failure)
    for rule in matching:
        used = set(rule.context.tools_used)
        same_error = kind != "" and error_kind(rule) == kind
        if is_remedy(rule) and same_error and (not used or tools & used):
            return rule
    if solved := success_at(failure, known):
        return solved
    return next(
        (
            memory
            for memory in similar
            if memory.outcome == "success" and set(memory.context.tools_used) != tools
        ),
        None,
    )


def _applies(pattern: Pattern, task: str, today: int, wording: Wording) -> bool:
    """Whether a pattern is about today, or about what the task names."""
    if pattern.kind != "weekday":
        return True
    day = int(pattern.value)
    return day == today or bool(re.search(wording.weekdays[day], task, re.IGNORECASE))
