"""A memory as it would be without what one run did to it.

Pure. Each change of the run is inverted on top of the latest version: what no later change
touched becomes what it was; numbers that moved on lose what the run added to them; of lists
the run's own items go. Status and links are no business of one memory alone and are repaired
by `hindsight_core.lifecycle.rollback`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hindsight_core.lifecycle.credit import ROLLED_BACK
from hindsight_core.lifecycle.versions import Version, lifeline
from hindsight_core.models import Memory
from hindsight_core.store.base import Record
from hindsight_core.store.payload import memory_from_payload

__all__ = ["Undone", "run_changes", "without_run"]

_NUMBERS = {"confidence": 1.0, "importance": 1.0, "success_count": None, "failure_count": None}
_LISTS = ("evidence", "tags", "supersedes")
_LINKS = frozenset({"status", "superseded_by", "version", "updated_at"})


@dataclass(frozen=True, slots=True)
class Undone:
    """What is left of a memory without one run.

    Attributes:
        memory: The memory with the run's changes and evidence taken out.
        kept: Fields that the run set and that stay, because a later change built on them.
    """

    memory: Memory
    kept: tuple[str, ...] = ()


def run_changes(record: Record, run_id: str) -> tuple[Version, ...]:
    """Return the versions that `run_id` made and that no rollback has taken back yet."""
    made: list[Version] = []
    for version in lifeline(record)[1:]:
        if version.run_id != run_id:
            continue
        if version.reason.startswith(ROLLED_BACK):
            made.clear()
        else:
            made.append(version)
    return tuple(made)


def without_run(record: Record, run_id: str) -> Undone:
    """Return the memory of `record` without what `run_id` did to it."""
    line = lifeline(record)
    fields = dict(line[-1].fields)
    kept: list[str] = []
    for version in reversed(run_changes(record, run_id)):
        later = [v for v in line if v.number > version.number]
        for name, (old, new) in version.changed.items():
            if name in _LINKS:
                continue
            if not any(name in v.changed for v in later):
                fields[name] = old
            elif name in _NUMBERS:
                fields[name] = _without_gain(fields[name], old, new, _NUMBERS[name])
            elif name in _LISTS:
                fields[name] = _without_items(fields[name], old, new)
            elif fields[name] == new:
                fields[name] = old
            else:
                kept.append(name)
    memory = memory_from_payload(fields)
    evidence = tuple(e for e in memory.evidence if e.run_id != run_id)
    return Undone(replace(memory, evidence=evidence), tuple(dict.fromkeys(kept)))


def _without_gain(current: float, old: float, new: float, most: float | None) -> float:
    """Return a number without the step from `old` to `new`, within its range."""
    value = max(0, current - (new - old))
    return value if most is None else min(most, value)


def _without_items(current: list[Any], old: list[Any], new: list[Any]) -> list[Any]:
    """Return a list without what the run added, with what it took out."""
    added = [item for item in new if item not in old]
    removed = [item for item in old if item not in new and item not in current]
    return [*(item for item in current if item not in added), *removed]
