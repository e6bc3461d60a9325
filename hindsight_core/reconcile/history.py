"""One step in a memory's life: which fields a change touched, and what they were."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime

from hindsight_core.models import Change, Memory
from hindsight_core.store.payload import memory_to_payload

__all__ = ["next_version"]

_BOOKKEEPING = frozenset({"version", "updated_at"})
_FIELDS = tuple(sorted({entry.name for entry in fields(Memory)} - _BOOKKEEPING))
_AS_THEY_STAND = frozenset(
    "status superseded_by confidence importance access_count success_count failure_count "
    "event_time last_accessed_at valid_until".split()
)
"""Fields that differ in payload form exactly when they differ."""


def next_version(
    before: Memory,
    after: Memory,
    history: tuple[Change, ...],
    *,
    at: datetime,
    reason: str,
    run_id: str = "",
) -> tuple[Memory, tuple[Change, ...]]:
    """Return `after` as the next version of `before`, and the history with this step.

    Args:
        before: The memory as it is stored.
        after: The memory with its changed fields.
        history: Its history so far, oldest first.
        at: When the change is made.
        reason: Why.
        run_id: The run behind it, `""` if none.
    """
    touched = [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]
    old = memory_to_payload(before)
    # Only what is kept in another form may differ here and be the same there.
    new = {} if _AS_THEY_STAND.issuperset(touched) else memory_to_payload(after)
    changed = {name: old[name] for name in touched if name not in new or old[name] != new[name]}
    version = before.version + 1
    memory = replace(after, version=version, updated_at=at)
    change = Change(version, at, reason, run_id, changed)
    return memory, (*history, change)
