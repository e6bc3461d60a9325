"""What repeats over similar runs: on which weekday, with which tool, with which error they fail.

Pure counting over experiences. A pattern is told only when there is enough evidence and the
difference is clear: at least three runs, a failure rate at least .5 above that of the other
runs, and a difference that chance alone gives in at most one case of ten (Fisher's exact test,
one-sided).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from math import comb
from typing import Literal, TypeAlias

from hindsight_core.models import Memory

__all__ = ["Pattern", "PatternKind", "chance_of", "error_kind", "patterns_of"]

PatternKind: TypeAlias = Literal["weekday", "tool", "error"]

LEAST_RUNS = 3
"""Runs with the feature, and failures with the same error, that a pattern needs."""
LEAST_OTHERS = 2
"""Runs without the feature that it is compared with."""
LEAST_DIFFERENCE = 0.5
"""How much more often runs with the feature fail than the others."""
MOST_CHANCE = 0.1
"""Most probable that chance alone makes such a difference."""
LEAST_SHARE = 0.5
"""Least share of the failures that end with the same error."""

_JUDGED = frozenset({"success", "partial", "failure"})
_EXCEPTION = re.compile(r"\b[A-Za-z][A-Za-z0-9]*(?:Error|Exception|Timeout)\b")
_STATUS = re.compile(
    r"\b(?:HTTP|status(?: code)?|error)[ :=]*([45]\d\d)\b|\b(50[0-4]|429|40[134])\b"
)
_SAID: Mapping[str, re.Pattern[str]] = {
    "timeout": re.compile(r"tim(?:ed|e)[ -]?out|deadline exceeded|超时", re.IGNORECASE),
    "permission denied": re.compile(
        r"permission denied|access denied|forbidden|unauthorized|权限|无权", re.IGNORECASE
    ),
    "rate limit": re.compile(r"rate[ -]?limit|too many requests|限流|频率", re.IGNORECASE),
    "connection": re.compile(
        r"connection (?:refused|reset|closed)|unreachable|连接(?:被拒|失败|中断)", re.IGNORECASE
    ),
    "not found": re.compile(r"not found|no such file|找不到|不存在", re.IGNORECASE),
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A feature with which similar runs fail much more often than without it.

    Attributes:
        kind: What sort of feature it is.
        value: The weekday as `0` for Monday to `6`, the tool's name, or the kind of error.
        failed: Runs with the feature that failed; for an error, failures that ended with it.
        runs: Runs with the feature; for an error, all failures.
        others_failed: Runs without it that failed.
        others: Runs without it.
        memories: The experiences with the feature that failed.
    """

    kind: PatternKind
    value: str
    failed: int
    runs: int
    others_failed: int
    others: int
    memories: tuple[Memory, ...]

    @property
    def confidence(self) -> float:
        """Expected rate of failure next time, (failed + 1) / (runs + 2), Laplace's rule."""
        return (self.failed + 1) / (self.runs + 2)


def patterns_of(runs: Sequence[Memory], zone: tzinfo) -> tuple[Pattern, ...]:
    """Return what repeats over `runs`, clearest first and at most one of each kind.

    Args:
        runs: Experiences of the same kind of task; those whose outcome nobody judged are
            left out.
        zone: Where weekdays are told.
    """
    judged = [memory for memory in runs if memory.outcome in _JUDGED]
    features: dict[tuple[PatternKind, str], list[Memory]] = defaultdict(list)
    for memory in judged:
        features["weekday", str(memory.event_time.astimezone(zone).weekday())].append(memory)
        for tool in dict.fromkeys(memory.context.tools_used):
            features["tool", tool].append(memory)
    found = [
        pattern
        for (kind, value), having in features.items()
        if (pattern := _pattern(kind, value, having, judged)) is not None
    ]
    found.sort(key=lambda p: (-p.failed / p.runs, -p.runs))
    best: dict[PatternKind, Pattern] = {}
    for pattern in [*found, *_same_error(judged)]:
        if not any(_told_by(pattern, other) for other in best.values()):
            best.setdefault(pattern.kind, pattern)
    return tuple(best.values())


def error_kind(memory: Memory) -> str:
    """Return what kind of error an experience or a rule tells of, `""` if of none.

    An exception by its name, an HTTP status as `HTTP 503`, else one of a few common complaints.
    """
    said = memory.content.replace(memory.task_description, " ")
    said = f"{said} {memory.context.output_sample if memory.category == 'rule' else ''}"
    if named := _EXCEPTION.search(said):
        return named.group()
    if status := _STATUS.search(said):
        return f"HTTP {status[1] or status[2]}"
    return next((kind for kind, pattern in _SAID.items() if pattern.search(said)), "")


def chance_of(failed: int, runs: int, others_failed: int, others: int) -> float:
    """Return how probable so many failures among `runs` are if the feature did not matter.

    Fisher's exact test, one-sided: Σ C(F, k) · C(N − F, runs − k) / C(N, runs) for k ≥ failed,
    where F is the number of all failures and N that of all runs.
    """
    total, failures = runs + others, failed + others_failed
    ways = sum(
        comb(failures, k) * comb(total - failures, runs - k)
        for k in range(failed, min(runs, failures) + 1)
    )
    return ways / comb(total, runs)


def _pattern(
    kind: PatternKind, value: str, having: Sequence[Memory], judged: Sequence[Memory]
) -> Pattern | None:
    failures = [memory for memory in having if memory.outcome == "failure"]
    runs, others = len(having), len(judged) - len(having)
    others_failed = sum(memory.outcome == "failure" for memory in judged) - len(failures)
    if runs < LEAST_RUNS or others < LEAST_OTHERS:
        return None
    difference = len(failures) / runs - others_failed / others
    if difference < LEAST_DIFFERENCE:
        return None
    if chance_of(len(failures), runs, others_failed, others) > MOST_CHANCE + 1e-9:
        return None
    return Pattern(kind, value, len(failures), runs, others_failed, others, tuple(failures))


def _same_error(judged: Sequence[Memory]) -> list[Pattern]:
    """Return the error that most failures end with, if there are enough of them."""
    failures = [memory for memory in judged if memory.outcome == "failure"]
    kinds: dict[str, list[Memory]] = defaultdict(list)
    for memory in failures:
        if kind := error_kind(memory):
            kinds[kind].append(memory)
    if not kinds:
        return []
    kind, having = max(kinds.items(), key=lambda item: len(item[1]))
    if len(having) < LEAST_RUNS or len(having) < LEAST_SHARE * len(failures):
        return []
    return [Pattern("error", kind, len(having), len(failures), 0, 0, tuple(having))]


def _told_by(pattern: Pattern, other: Pattern) -> bool:
    """Whether two features of when and how stand for the very same runs."""
    if "error" in (pattern.kind, other.kind):
        return False
    return {m.id for m in pattern.memories} == {m.id for m in other.memories} and (
        pattern.runs == other.runs
    )
