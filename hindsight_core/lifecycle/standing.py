"""One memory back to how it stood, or back into everyday use."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hindsight_core.errors import ConfigurationError
from hindsight_core.lifecycle.credit import ROLLED_BACK
from hindsight_core.lifecycle.versions import memory_in, version_for
from hindsight_core.models import Memory
from hindsight_core.reconcile.writer import Revision
from hindsight_core.safety.quarantine import QUARANTINE
from hindsight_core.store.base import Record

__all__ = ["as_it_stood", "released", "restored", "unlinked"]


def as_it_stood(
    record: Record, to: int | datetime | None, replacer: Memory | None, now: datetime
) -> tuple[Memory, str]:
    """Return a memory as it was in an earlier version, and the reason for the history.

    Counters of recalls stay as they are. A version that was replaced by something that is
    no longer there becomes active.

    Args:
        record: The memory with its history.
        to: Version number, moment, or `None` for the version before the latest.
        replacer: What replaced it in that version, `None` if nothing did or that is gone.
        now: The present moment.

    Raises:
        ConfigurationError: If there is no such version.
    """
    version = version_for(record, to)
    stood, memory = memory_in(version), record.memory
    after = replace(
        stood,
        version=memory.version,
        access_count=memory.access_count,
        last_accessed_at=memory.last_accessed_at,
        updated_at=now,
    )
    if after.superseded_by and (replacer is None or replacer.status == "forgotten"):
        after = replace(after, status="active", superseded_by="")
    return after, f"{ROLLED_BACK} to version {version.number}"


def restored(memory: Memory, now: datetime, reason: str) -> Revision:
    """Return what brings a memory back into everyday use.

    Its time without use begins anew, and a validity that has run out is dropped, or the next
    maintenance would take it away again.

    Raises:
        ConfigurationError: If it is active already, or in quarantine.
    """
    if memory.status == "active":
        raise ConfigurationError(f"memory {memory.id!r} is active; there is nothing to restore")
    if memory.status == "quarantined":
        raise ConfigurationError(
            f"memory {memory.id!r} is in quarantine, because it reads like an instruction; "
            "read it, and release it if it is harmless"
        )
    expired = memory.valid_until is not None and memory.valid_until <= now
    after = replace(
        memory,
        status="active",
        superseded_by="",
        last_accessed_at=max(now, memory.last_accessed_at or now),
        valid_until=None if expired else memory.valid_until,
    )
    return Revision(memory, after, "restored", reason)


def released(memory: Memory, now: datetime, reason: str) -> Revision:
    """Return what lets a memory out of quarantine; why it was there stays in its history.

    Raises:
        ConfigurationError: If it is not in quarantine.
    """
    if memory.status != "quarantined":
        raise ConfigurationError(
            f"memory {memory.id!r} is {memory.status}, not in quarantine; there is nothing to "
            "release"
        )
    metadata = {name: value for name, value in memory.metadata.items() if name != QUARANTINE}
    after = replace(memory, status="active", metadata=metadata, last_accessed_at=now)
    return Revision(memory, after, "released", reason)


def unlinked(replacer: Memory, memory_id: str) -> Revision:
    """Return what takes `memory_id` out of what `replacer` replaces."""
    kept = tuple(other for other in replacer.supersedes if other != memory_id)
    reason = f"{memory_id} holds again"
    return Revision(replacer, replace(replacer, supersedes=kept), "unlinked", reason)
