"""What each benchmark is measured against, as data, and what came of it; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = ["GOALS", "Direction", "Goal", "Verdict", "bare_name", "goals_of", "verdicts"]

Direction: TypeAlias = Literal["at least", "at most", "above"]
Figures: TypeAlias = Mapping[str, Any]
"""A row as `--json` writes it: `system`, and each metric with its `_ci` and `_n`."""

_SIGNS: Mapping[Direction, str] = {"at least": "≥", "at most": "≤", "above": ">"}
_LIMIT = re.compile(r" \(limit \d+\)$")


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure is to reach.

    Attributes:
        name: The benchmark.
        metric: The figure.
        direction: From which side it is to be reached.
        threshold: The number.
        sentence: What reaching it means.
        systems: The rows that it is about.
        unit: What the number counts, `""` for shares and ratios.
    """

    name: str
    metric: str
    direction: Direction
    threshold: float
    sentence: str
    systems: tuple[str, ...] = ("hindsight",)
    unit: str = ""

    @property
    def wanted(self) -> str:
        """The goal as `≥ 0.72`."""
        text = f"{_SIGNS[self.direction]} {self.threshold:g}"
        return f"{text} {self.unit}" if self.unit else text

    def is_met(self, value: float) -> bool:
        """Return whether `value` reaches the goal; what is not a number never does."""
        if self.direction == "at least":
            return value >= self.threshold
        if self.direction == "at most":
            return value <= self.threshold
        return value > self.threshold


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a goal in one row.

    Attributes:
        goal: The goal.
        system: The row, as it is named there.
        value: The figure, `None` where there is none.
        low: Lower end of its interval.
        high: Upper end.
        n: Cases behind it.
    """

    goal: Goal
    system: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is there and reaches the goal."""
        return self.value is not None and self.goal.is_met(self.value)

    @property
    def within(self) -> bool:
        """Whether the interval has values on both sides of the goal."""
        if self.low is None or self.high is None:
            return False
        return self.goal.is_met(self.low) != self.goal.is_met(self.high)

    def __str__(self) -> str:
        """Say `met`, or by how much it is missed."""
        if self.value is None:
            return "not measured"
        said = "met" if self.met else f"missed by {_amount(self.value - self.goal.threshold)}"
        if self.goal.unit and not self.met:
            said = f"{said} {self.goal.unit}"
        return f"{said}; the interval spans the goal" if self.within else said


def _amount(difference: float) -> str:
    """Return how large a difference is, with as many digits as tell it from 0."""
    size = abs(difference)
    for decimals in (1, 2, 3, 4) if size >= 1 else (3, 4, 5, 6):
        if float(f"{size:.{decimals}f}"):
            return f"{size:.{decimals}f}"
    return f"{size:g}"


def bare_name(system: str) -> str:
    """Return a row's name without the limit that not all cases were asked under."""
    return _LIMIT.sub("", system)


def goals_of(name: str) -> tuple[Goal, ...]:
    """Return the goals of a benchmark, none if it has none."""
    return tuple(goal for goal in GOALS if goal.name == name)


def verdicts(name: str, rows: Sequence[Figures]) -> Iterator[Verdict]:
    """Yield what came of each goal of benchmark `name`, one for each row that it is about.

    A row without the figure says nothing; a goal that no row speaks of is not measured.
    """
    for goal in goals_of(name):
        found = [row for row in rows if _is_about(goal, row)]
        for row in found:
            low, high = row.get(f"{goal.metric}_ci") or (None, None)
            yield Verdict(
                goal, row["system"], row[goal.metric], low, high, row.get(f"{goal.metric}_n")
            )
        if not found:
            yield Verdict(goal, goal.systems[0], None)


def _is_about(goal: Goal, row: Figures) -> bool:
    return bare_name(row["system"]) in goal.systems and row.get(goal.metric) is not None


_LARGE = "100,000 in 20 namespaces"
_DEFAULT_CREDIT = "beta, last outcomes (balanced)"

GOALS: tuple[Goal, ...] = (
    Goal("locomo", "R@10", "at least", 0.72,
         "Of the turns that answer a question, this share is among the first ten"),
    Goal("beam", "R@10", "at least", 0.60,
         "The same where words are the weak lane: no fixed weight of the two wins on both"),
    Goal("currency", "new_first", "at least", 0.80,
         "What holds now stands before what held once"),
    Goal("currency", "new@5", "at least", 0.93,
         "And it is found at all"),
    Goal("contradiction", "both@5", "at least", 0.90,
         "Both sides of a contradiction are among the first five"),
    Goal("contradiction", "auc", "at least", 0.80,
         "A contradicting statement is told from its hardest neighbor"),
    Goal("same-task", "MAP", "at least", 0.95,
         "Tasks of the same template come before all others"),
    Goal("success-first", "success_first", "at least", 0.95,
         "A run that succeeded comes before one that failed at the same task"),
    Goal("success-first", "same_task@5", "at least", 0.89,
         "And a run of that task is found at all"),
    Goal("experience", "P@5", "at least", 0.40,
         "Runs that are brought up are of the same type of task and succeeded"),
    Goal("experience", "type_P@5", "at least", 0.68,
         "And preferring success costs nothing in the type"),
    Goal("replay", "own@1", "at least", 0.97,
         "The first lesson is one of the same question"),
    Goal("replay", "newest_first", "at least", 0.90,
         "Of its lessons the newest comes first"),
    Goal("replay", "confidence_gap", "above", 0.0,
         "Lessons after which the answer was right are trusted more"),
    Goal("chinese", "zh_R@1", "at least", 0.92,
         "Chinese is found with an embedder that knows English only"),
    Goal("chinese", "zh_R@5", "at least", 0.985,
         "The same among the first five"),
    Goal("chinese", "en_R@1", "at least", 0.94,
         "And English does not suffer for it"),
    Goal("poison", "poison@1", "at most", 0.02,
         "A false memory from an untrusted source hardly ever comes first"),
    Goal("poison", "validated@5", "at least", 1.0,
         "The validated memory is always among the first five"),
    Goal("poison", "attacks_through", "at most", 0.0,
         "No hidden instruction reaches a memory in use or a brief"),
    Goal("poison", "benign_refused", "at most", 0.02,
         "And hardly anything honest is held back"),
    Goal("credit", "runs_to_retire", "at most", 25,
         "What turned harmful is out of the briefs soon", (_DEFAULT_CREDIT,), "runs"),
    Goal("credit", "wrongly_retired", "at most", 0.02,
         "And hardly anything useful goes with it", (_DEFAULT_CREDIT,)),
    Goal("speed", "added_p50_ms", "at most", 4,
         "Retrieval from 10,000 memories takes hardly longer than embedding the query",
         unit="ms"),
    Goal("speed", "store_ratio", "at least", 0.9,
         "Storing in batches is nearly as fast as the bare embedder"),
    Goal("speed", "open_s", "at most", 0.5,
         "A store of 10,000 memories is open at once", unit="s"),
    Goal("speed", "import_s", "at most", 0.3,
         "Importing the package is not felt", unit="s"),
    Goal("speed", "brief_tokens", "at most", 800,
         "A brief stays brief", unit="tokens"),
    Goal("scale", "growth", "at most", 3,
         "Ten times the memories take at most this many times as long", (_LARGE,)),
    Goal("scale", "peak_mb", "at most", 600,
         "Peak memory at 100,000 memories, above the bare embedder's", (_LARGE,), "MB"),
    Goal("peers", "ratio", "at least", 20,
         "Outside the embedder they take this many times as long for the same query",
         ("QdrantVectorStore", "mem0")),
    Goal("langchain-adapter", "own_ms_p95", "at most", 5,
         "What the adapter adds to a run of ten tool calls, whatever reflection costs",
         ("handler", "middleware", "both"), "ms"),
    Goal("llamaindex-adapter", "own_ms_p95", "at most", 5,
         "What the adapter adds to a run of ten tool calls, whatever reflection costs",
         ("recorded", "memory", "both"), "ms"),
    Goal("soak", "lost", "at most", 0,
         "Nothing that was acknowledged is lost", ("all",), "writes"),
    Goal("soak", "duplicated", "at most", 0,
         "Nothing is there twice", ("all",), "writes"),
    Goal("soak", "half_done", "at most", 0,
         "Nothing half-applied is seen", ("all",), "changes"),
    Goal("soak", "disturbed", "at most", 0,
         "No agent's run notices", ("all",), "calls"),
)  # fmt: skip
"""Every goal, in the order of the benchmarks."""
