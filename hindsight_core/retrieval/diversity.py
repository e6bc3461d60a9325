"""Five results that are five things.

Near-copies of one experience stand for one, and among the runs the best success and the
closest failure with its fix come first. For briefs: a ranking that is to be measured by what
it finds is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hindsight_core.models import Memory, Retrieved, is_statement

__all__ = ["NEAR_COPY", "POOL", "diverse"]

POOL = 20
"""Results that are chosen from, for each one that is shown: near-copies of one run may be many."""
NEAR_COPY = 0.6
"""Overlap of the content terms of two tasks from which on they are near-copies. Requests made
from one template that differ in a name or a number have .6 and more."""
COMPARABLE = 0.6
"""Share of the best run's relevance that a failure, or a success, needs to be moved up."""


def diverse(
    results: Sequence[Retrieved],
    top_k: int,
    content_terms: Callable[[str], frozenset[int]],
) -> tuple[Retrieved, ...]:
    """Return at most `top_k` of `results` that differ from each other.

    A result that stands for others brings their ids in `copies`. Everything but the runs keeps
    its place.

    Args:
        results: Results, best first, more than `top_k` where there are more.
        top_k: Most results.
        content_terms: Gives the terms of a text that say what it is about.
    """
    folded = _folded(results, content_terms)
    shown = list(folded[:top_k])
    spare = list(folded[top_k:])
    runs = [place for place, result in enumerate(shown) if _is_run(result)]
    if not runs:
        return tuple(shown)
    ordered = _success_and_failure_first(shown, spare, len(runs))
    for place, result in zip(runs, ordered, strict=True):
        shown[place] = result
    _bring_fix(shown, spare, runs[2:])
    return tuple(shown)


def _is_run(result: Retrieved) -> bool:
    return not is_statement(result.memory)


def _folded(
    results: Sequence[Retrieved], content_terms: Callable[[str], frozenset[int]]
) -> list[Retrieved]:
    """Return `results` with each near-copy under the first of its kind."""
    kept: list[Retrieved] = []
    terms: list[frozenset[int]] = []
    for result in results:
        own = content_terms(_told_by(result.memory)) if _is_run(result) else frozenset()
        place = next(
            (
                place
                for place, other in enumerate(kept)
                if _is_copy(result.memory, other.memory, own, terms[place])
            ),
            None,
        )
        if place is None:
            kept.append(result)
            terms.append(own)
        else:
            first = kept[place]
            kept[place] = replace(first, copies=(*first.copies, result.memory.id))
    return kept


def _told_by(memory: Memory) -> str:
    return memory.task_description or memory.content


def _is_copy(
    memory: Memory, other: Memory, terms: frozenset[int], other_terms: frozenset[int]
) -> bool:
    """Whether two memories say the same: runs by task and outcome, others word for word."""
    if memory.category != other.category:
        return False
    if is_statement(memory):
        return memory.content.split() == other.content.split() and (
            (memory.applies_when, memory.not_when) == (other.applies_when, other.not_when)
        )
    if memory.outcome != other.outcome:
        return False
    union = terms | other_terms
    if not union:
        return _told_by(memory).split() == _told_by(other).split()
    return len(terms & other_terms) / len(union) >= NEAR_COPY


def _success_and_failure_first(
    shown: Sequence[Retrieved], spare: Sequence[Retrieved], count: int
) -> list[Retrieved]:
    """Return the runs that take the `count` places of runs, in their new order."""
    runs = [result for result in (*shown, *spare) if _is_run(result)]
    enough = COMPARABLE * max(result.relevance for result in runs)
    near = [result for result in runs if result.relevance >= enough]
    best = next((r for r in near if r.memory.outcome == "success"), None)
    failed = [result for result in near if result.memory.outcome == "failure"]
    closest = max(failed, key=lambda r: r.relevance, default=None)
    first = [result for result in (best, closest) if result is not None][:count]
    if best is None and closest is not None and runs[0] is not closest:
        # Without a success the ranking knows better which run to tell of first.
        first = [runs[0], closest][:count]
    ids = {id(result) for result in first}
    rest = [result for result in shown if _is_run(result) and id(result) not in ids]
    return [*first, *rest][:count]


def _bring_fix(shown: list[Retrieved], spare: Sequence[Retrieved], places: Sequence[int]) -> None:
    """Give the last place of a run to the fix of a failure that is shown without it."""
    failures = [r for r in shown if _is_run(r) and r.memory.outcome == "failure"]
    runs = {evidence.run_id for result in failures for evidence in result.memory.evidence}
    if not places or not runs or any(_mends(result, runs) for result in shown):
        return
    fix = next((result for result in spare if _mends(result, runs)), None)
    if fix is not None:
        shown[places[-1]] = fix


def _mends(result: Retrieved, runs: set[str]) -> bool:
    memory = result.memory
    if memory.category not in {"rule", "correction"} or "warning" in memory.tags:
        return False
    return any(evidence.run_id in runs for evidence in memory.evidence)
