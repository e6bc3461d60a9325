"""A set of changes to memories that belongs together, and how it is kept until applied.

The set is written to the journal before the store is touched and dropped from it afterwards,
so that a process killed in between finishes the set when it comes back: nothing half-applied
stays visible.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from hindsight_core.errors import JournalError
from hindsight_core.plans import Plan, ask
from hindsight_core.store.base import Get, Patch, Point, Put
from hindsight_core.store.payload import (
    changes_from_payload,
    changes_to_payload,
    memory_from_payload,
    memory_to_payload,
    point_from_json,
    point_to_json,
)

__all__ = ["ChangeSet", "apply_changes", "decode", "encode"]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Changes that belong together.

    Attributes:
        puts: New memories, and old ones with new content.
        patches: Memories whose fields change; applied after the puts, so that nothing is
            retired before what replaces it is there.
    """

    puts: tuple[Point, ...] = ()
    patches: tuple[Patch, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.puts or self.patches)


def apply_changes(changes: ChangeSet) -> Plan[tuple[str, ...]]:
    """Apply `changes`, and return the ids of memories that somebody else changed meanwhile.

    Applying the same set again changes nothing, which is what makes a redo safe.
    """
    if changes.puts:
        yield from ask(Put(changes.puts))
    refused = []
    for patch in changes.patches:
        if (yield from ask(patch)):
            continue
        memory = patch.memory
        records = yield from ask(Get((memory.namespace,), (memory.id,)))
        if not (records and records[0].changes[-1:] == patch.changes[-1:]):
            refused.append(memory.id)
    return tuple(refused)


def encode(changes: ChangeSet) -> bytes:
    """Return `changes` as JSON in a zlib container, whose checksum tells damage.

    Nothing is compressed: vectors don't get smaller by it, and the blob is dropped as soon as
    the changes are made.
    """
    document = {
        "puts": [point_to_json(point) for point in changes.puts],
        "patches": [
            {
                "memory": memory_to_payload(patch.memory),
                "changes": changes_to_payload(patch.changes),
                "expected_version": patch.expected_version,
            }
            for patch in changes.patches
        ],
    }
    return zlib.compress(json.dumps(document, ensure_ascii=False).encode(), level=0)


def decode(blob: bytes) -> ChangeSet:
    """Return the changes that `encode` made `blob` of.

    Raises:
        JournalError: If `blob` is damaged.
    """
    try:
        document: dict[str, Any] = json.loads(zlib.decompress(blob))
        return ChangeSet(
            tuple(point_from_json(point) for point in document["puts"]),
            tuple(
                Patch(
                    memory_from_payload(patch["memory"]),
                    changes_from_payload(patch["changes"]),
                    patch["expected_version"],
                )
                for patch in document["patches"]
            ),
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise JournalError(
            f"a planned change in the journal can't be read ({error}); it can't be made"
        ) from error
