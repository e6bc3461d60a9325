"""One step in a memory's life: which fields a change touched, and what they were."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hindsight_core.models import Change, Memory
from hindsight_core.store.payload import memory_to_payload

__all__ = ["next_version"]

_BOOKKEEPING = frozenset({"version", "updated_at"})


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
    old, new = memory_to_payload(before), memory_to_payload(after)
    changed = {
        name: old.get(name)
        for name in sorted({*old, *new})
        if name not in _BOOKKEEPING and old.get(name) != new.get(name)
    }
    version = before.version + 1
    memory = replace(after, version=version, updated_at=at)
    change = Change(version, at, reason, run_id, changed)
    return memory, (*history, change)
