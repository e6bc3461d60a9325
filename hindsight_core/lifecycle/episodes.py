"""Which episodes and lessons no rule covers yet, in groups that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.safety.trust import is_proven
from hindsight_core.store.base import MemoryFilter, Scroll

__all__ = ["MARK", "Drafted", "Group", "backed", "evidence_runs", "find_groups"]

MARK = "consolidated"
"""Metadata of a rule that consolidation made: `from`, `conflicts` and `by`."""

PAGE = 256


@dataclass(frozen=True, slots=True)
class Group:
    """Episodes and lessons of one task type and domain.

    Attributes:
        task_type: The task type.
        domain: The field of work, `""` for none.
        members: Episodes and lessons that no rule covers, newest first.
        episodes: How many of them are episodes.
    """

    task_type: str
    domain: str
    members: tuple[Memory, ...]
    episodes: int


@dataclass(frozen=True, slots=True)
class Drafted:
    """A rule that is about to be written.

    Attributes:
        content: What it says.
        applies_when: Under which condition, `""` if always.
        not_when: Under which it does not hold.
        members: What it was made of.
        conflicts: Ids of members that say otherwise.
        by: `rule` or `model`.
    """

    content: str
    applies_when: str
    not_when: str
    members: tuple[Memory, ...]
    conflicts: tuple[str, ...]
    by: str


def find_groups(
    namespace: Namespace, lifecycle: Lifecycle, since: datetime | None
) -> Plan[list[Group]]:
    """Return the groups in which something is new, the largest first.

    Args:
        namespace: Whose memories.
        lifecycle: The profile's thresholds.
        since: Only groups with a member stored after this, `None` for all.
    """
    covered: set[str] = set()
    found: dict[tuple[str, str], list[Memory]] = {}
    where = MemoryFilter(
        namespaces=(namespace,), statuses=(), categories=("experience", "rule", "correction")
    )
    cursor: str | None = None
    while True:
        page = yield from ask(Scroll(where, PAGE, cursor))
        for record in page.records:
            memory = record.memory
            made = memory.metadata.get(MARK)
            if isinstance(made, Mapping):
                covered.update(map(str, made.get("from", ())))
            elif _counts(memory, lifecycle):
                found.setdefault((memory.task_type, memory.domain), []).append(memory)
        cursor = page.cursor
        if cursor is None:
            break
    groups = [
        _group(key, [m for m in members if m.id not in covered], lifecycle)
        for key, members in found.items()
    ]
    new = [g for g in groups if any(since is None or m.created_at > since for m in g.members)]
    return sorted(new, key=lambda group: (-len(group.members), group.task_type, group.domain))


def evidence_runs(members: Iterable[Memory]) -> tuple[str, ...]:
    """Return the runs behind `members`, each once, oldest first."""
    found = sorted((memory.event_time, e.run_id) for memory in members for e in memory.evidence)
    return tuple(dict.fromkeys(run_id for _, run_id in found))


def backed(members: Sequence[Memory], least: int) -> bool:
    """Whether `members` carry a rule: enough independent runs, or a validator or a person."""
    if len(evidence_runs(members)) >= max(2, least):
        return True
    return any(is_proven(memory) for memory in members)


def _counts(memory: Memory, lifecycle: Lifecycle) -> bool:
    return memory.status == "active" and memory.importance >= lifecycle.consolidate_importance


def _group(key: tuple[str, str], members: list[Memory], lifecycle: Lifecycle) -> Group:
    members.sort(key=lambda memory: (memory.event_time, memory.id), reverse=True)
    newest = tuple(members[: lifecycle.consolidate_newest])
    episodes = sum(memory.category == "experience" for memory in newest)
    return Group(*key, newest, episodes)
