"""A memory's life as a line of versions, read back from its history.

Every change keeps the fields that it touched as they were, so that each earlier version can
be put together again from the latest one, on any host that sees the store. What is counted
without making a version (how often a memory was recalled) is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Memory
from hindsight_core.store.base import Record
from hindsight_core.store.payload import memory_from_payload, memory_to_payload

__all__ = ["Version", "lifeline", "memory_in", "version_for"]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory.

    Attributes:
        number: 1 when stored, one more with each change.
        at: When this version was made.
        reason: Why, in words.
        run_id: The run behind it, `""` if none.
        fields: The whole memory as it stood then, in payload form.
        changed: For each field that this version changed what it was and what it became, in
            payload form; empty for the first one.
    """

    number: int
    at: datetime
    reason: str
    run_id: str
    fields: Mapping[str, Any]
    changed: Mapping[str, tuple[Any, Any]]


def lifeline(record: Record) -> tuple[Version, ...]:
    """Return the versions of a memory, oldest first; the last one is how it stands.

    A memory that was imported without its history begins at the version it came with.
    """
    memory = record.memory
    fields = memory_to_payload(memory)
    versions: list[Version] = []
    for change in reversed(record.changes):
        earlier = {**fields, **change.before, "version": change.version - 1}
        changed = {name: (old, fields.get(name)) for name, old in change.before.items()}
        versions.append(
            Version(change.version, change.at, change.reason, change.run_id, fields, changed)
        )
        fields = earlier
    evidence = fields["evidence"]
    run_id = evidence[0]["run_id"] if evidence else ""
    reason = f"learned from {run_id}" if run_id else "stored"
    versions.append(Version(fields["version"], memory.created_at, reason, run_id, fields, {}))
    versions.reverse()
    return tuple(versions)


def memory_in(version: Version) -> Memory:
    """Return the memory as it stood in `version`."""
    return memory_from_payload({**version.fields, "updated_at": version.at.isoformat()})


def version_for(record: Record, to: int | datetime | None) -> Version:
    """Return the version that `to` means.

    Args:
        record: The memory with its history.
        to: A version number, a moment (the version that stood then), or `None` for the
            version before the latest.

    Raises:
        ConfigurationError: If there is no such version; the message names those there are.
    """
    line = lifeline(record)
    memory = record.memory
    if isinstance(to, datetime):
        if to.tzinfo is None:
            raise ConfigurationError(f"to={to!r} has no time zone; give an aware datetime")
        standing = [version for version in line if version.at <= to]
        if standing:
            return standing[-1]
        raise ConfigurationError(
            f"memory {memory.id!r} was stored {line[0].at.isoformat()}, after {to.isoformat()}"
        )
    wanted = line[-1].number - 1 if to is None else to
    for version in line[:-1]:
        if version.number == wanted:
            return version
    if len(line) == 1:
        raise ConfigurationError(
            f"memory {memory.id!r} has only one version, so there is nothing to roll back to"
        )
    known = f"{line[0].number}–{line[-1].number - 1}"
    raise ConfigurationError(
        f"memory {memory.id!r} has no earlier version {wanted!r}; it has versions {known} and "
        f"stands at {line[-1].number}"
    )
