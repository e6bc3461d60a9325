"""Whether what failed is known to have been solved."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_core.models import Memory
from hindsight_core.retrieval.conditions import word_stems

__all__ = ["UNSOLVED", "is_remedy", "same_task", "solves", "success_at", "without_unsolved"]

UNSOLVED = ("; not solved yet.", "，尚未解决。")
"""How a warning ends whose own run found no way around the failure."""
_ARTICLES = frozenset({"a", "an", "the", "please", ".", ",", "。", "，"})


def same_task(one: Memory, other: Memory) -> bool:
    """Whether two memories are of the same task in nearly the same words."""
    first = _task(one)
    return bool(first) and first == _task(other)


def success_at(failure: Memory, memories: Iterable[Memory]) -> Memory | None:
    """Return the latest run that succeeded at the task of `failure`, `None` if none did.

    Args:
        failure: A failed run, or a warning that one taught.
        memories: Where to look.
    """
    found = [
        memory
        for memory in memories
        if memory.category == "experience"
        and memory.outcome == "success"
        and same_task(memory, failure)
        and not _runs(memory) & _runs(failure)
    ]
    return max(found, key=lambda memory: memory.event_time, default=None)


def is_remedy(memory: Memory) -> bool:
    """Whether a memory says what to do; a warning tells only what fails."""
    if memory.category not in {"rule", "correction"} or memory.status != "active":
        return False
    return "warning" not in memory.tags


def solves(memory: Memory, warning: Memory) -> bool:
    """Whether a rule says what to do in the very case that `warning` calls unsolved."""
    case = word_stems(warning.applies_when)
    return bool(case) and is_remedy(memory) and word_stems(memory.applies_when) == case


def without_unsolved(text: str) -> str | None:
    """Return `text` without the end that calls it unsolved, `None` where it has none."""
    return next((text.removesuffix(end) for end in UNSOLVED if text.endswith(end)), None)


def _task(memory: Memory) -> list[str]:
    return [stem for stem in word_stems(memory.task_description) if stem not in _ARTICLES]


def _runs(memory: Memory) -> set[str]:
    return {evidence.run_id for evidence in memory.evidence}
