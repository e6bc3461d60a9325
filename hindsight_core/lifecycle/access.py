"""Counting how often memories went into briefs.

Being recalled is no evidence: it changes neither confidence nor version, only the counters
that `frequency` and idleness are computed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.store.base import Get, Patch

__all__ = ["count_accesses"]


def count_accesses(counts: Mapping[tuple[Namespace, str], int], at: datetime) -> Plan[None]:
    """Add `counts` to the access counters of memories, by namespace and id.

    Args:
        counts: How often each memory went into a brief.
        at: When it last did.
    """
    ids: dict[Namespace, list[str]] = {}
    for namespace, memory_id in counts:
        ids.setdefault(namespace, []).append(memory_id)
    for namespace, wanted in ids.items():
        records = yield from ask(Get((namespace,), tuple(wanted)))
        for record in records:
            memory = record.memory
            counted = replace(
                memory,
                access_count=memory.access_count + counts[namespace, memory.id],
                last_accessed_at=max(at, memory.last_accessed_at or at),
            )
            yield from ask(Patch(counted, record.changes, memory.version))
