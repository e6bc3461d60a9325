"""Undo: a memory back to an earlier version, or the world without what one run taught.

Works from the versions and the evidence in the store, so on any host. Nothing is deleted: a
rollback makes new versions, and can itself be rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_core.lifecycle.credit import ROLLED_BACK
from hindsight_core.lifecycle.tended import Action, Tended
from hindsight_core.lifecycle.undo import Undone, run_changes, without_run
from hindsight_core.lifecycle.versions import lifeline
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision
from hindsight_core.store.base import Get, MemoryFilter, Record, Scroll

__all__ = ["RolledBack", "RunRollback", "Scan", "plan_run_rollback", "scan_run"]

PAGE = 256
"""Memories read at once while looking for what a run did."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What a rollback did, or would do.

    Attributes:
        steps: What became of each memory, with the reason; `left` where later runs built on
            what was to go.
        dry_run: Whether nothing was changed.
    """

    steps: tuple[Tended, ...]
    dry_run: bool = False

    def ids(self, action: Action) -> tuple[str, ...]:
        """Return the ids of the memories that `action` was done to."""
        return tuple(step.memory_id for step in self.steps if step.action == action)

    @property
    def forgotten(self) -> tuple[str, ...]:
        """What is gone."""
        return self.ids("forgotten")

    @property
    def restored(self) -> tuple[str, ...]:
        """What holds again."""
        return self.ids("restored")

    @property
    def left(self) -> tuple[str, ...]:
        """What stays although the run had a part in it."""
        return self.ids("left")


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look through the store found about one run.

    Attributes:
        touched: Memories that it taught or changed, by id.
        displaced: For each memory that something was replaced by, the ids replaced.
    """

    touched: Mapping[str, Record]
    displaced: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RunRollback:
    """The changes that take a run's teaching back.

    Attributes:
        revisions: What to write.
        steps: The same for people, with what was left.
    """

    revisions: tuple[Revision, ...]
    steps: tuple[Tended, ...]


@dataclass(slots=True)
class _Draft:
    run_id: str
    before: dict[str, Memory] = field(default_factory=dict)
    after: dict[str, Memory] = field(default_factory=dict)
    steps: list[Tended] = field(default_factory=list)

    def see(self, memory: Memory) -> Memory:
        """Return a memory as this rollback has already changed it."""
        self.before.setdefault(memory.id, memory)
        return self.after.setdefault(memory.id, memory)

    def note(self, memory: Memory, action: Action, reason: str) -> None:
        self.steps.append(Tended.of(memory, action, reason))


def scan_run(namespace: Namespace, run_id: str) -> Plan[Scan]:
    """Look through `namespace` for what `run_id` taught, changed and displaced.

    Reads every memory once, a page at a time; keeps only what matters.
    """
    touched: dict[str, Record] = {}
    displaced: dict[str, list[str]] = {}
    where = MemoryFilter(namespaces=(namespace,), statuses=())
    cursor: str | None = None
    while True:
        page = yield from ask(Scroll(where, PAGE, cursor))
        for record in page.records:
            memory = record.memory
            if _taught_by(record, run_id) or run_changes(record, run_id):
                touched[memory.id] = record
            if memory.status == "superseded" and memory.superseded_by:
                displaced.setdefault(memory.superseded_by, []).append(memory.id)
        cursor = page.cursor
        if cursor is None:
            return Scan(touched, {key: tuple(ids) for key, ids in displaced.items()})


def plan_run_rollback(
    namespace: Namespace, run_id: str, *, least_evidence: int, now: datetime
) -> Plan[RunRollback]:
    """Return what takes back all that `run_id` taught, and restores what it displaced.

    A memory that other runs taught as well stays, without this run's share. What was replaced
    by something that goes holds again, unless something that stays has replaced that in turn.

    Args:
        namespace: Whose memories.
        run_id: The run.
        least_evidence: Runs that a consolidated rule needs; with fewer left it is archived.
        now: The present moment.
    """
    scan = yield from scan_run(namespace, run_id)
    draft = _Draft(run_id)
    for record in scan.touched.values():
        _take_out(draft, record, least_evidence)
    gone = [
        draft.after[memory_id]
        for memory_id, record in scan.touched.items()
        if draft.after[memory_id].status == "forgotten" and _taught_by(record, run_id)
    ]
    yield from _load(draft, namespace, [i for m in gone for i in scan.displaced.get(m.id, ())])
    yield from _load_heirs(draft, namespace, gone)
    for memory in gone:
        for displaced_id in scan.displaced.get(memory.id, ()):
            _give_back(draft, displaced_id, memory)
    return RunRollback(tuple(_revisions(draft, now)), tuple(draft.steps))


def _taught_by(record: Record, run_id: str) -> bool:
    return any(e.run_id == run_id for e in record.memory.evidence)


def _take_out(draft: _Draft, record: Record, least_evidence: int) -> None:
    """Take the run's share out of one memory, and let the memory go if nothing is left."""
    memory, run_id = record.memory, draft.run_id
    if draft.see(memory).status == "forgotten":
        return
    undone: Undone = without_run(record, run_id)
    after = draft.after[memory.id] = undone.memory
    first = lifeline(record)[0].fields
    was_learned = bool(first["evidence"])
    others = list(dict.fromkeys(e.run_id for e in after.evidence))
    if was_learned and not others:
        draft.after[memory.id] = replace(after, evidence=memory.evidence, status="forgotten")
        draft.note(memory, "forgotten", f"only {run_id} taught it")
        return
    consolidated = first["metadata"].get("consolidated") is not None
    if consolidated and len(others) < least_evidence and memory.status == "active":
        draft.after[memory.id] = replace(after, status="archived")
        draft.note(memory, "archived", f"too few runs stand behind the rule without {run_id}")
        return
    if any(e["run_id"] == run_id for e in first["evidence"]):
        draft.note(memory, "left", f"taught by {', '.join(others)} as well")
    elif after != memory:
        draft.note(memory, "revised", f"without what {run_id} added")
    for name in undone.kept:
        draft.note(memory, "left", f"{name} was changed again after {run_id}")


def _load(draft: _Draft, namespace: Namespace, ids: list[str]) -> Plan[None]:
    wanted = tuple(i for i in dict.fromkeys(ids) if i not in draft.before)
    if wanted:
        for record in (yield from ask(Get((namespace,), wanted))):
            draft.see(record.memory)


def _load_heirs(draft: _Draft, namespace: Namespace, gone: list[Memory]) -> Plan[None]:
    """Read what replaced the memories that go, as far as the chain leads."""
    ids = [memory.superseded_by for memory in gone if memory.superseded_by]
    while ids:
        yield from _load(draft, namespace, ids)
        found = [draft.after[i] for i in ids if i in draft.after]
        ids = [m.superseded_by for m in found if m.superseded_by not in {"", *draft.after}]


def _give_back(draft: _Draft, displaced_id: str, gone: Memory) -> None:
    """Let what `gone` had replaced hold again, or hand it on to what replaced `gone`."""
    memory = draft.after.get(displaced_id)
    if memory is None or memory.status != "superseded":
        return
    heir = _heir(draft, gone, {displaced_id})
    if heir is None:
        draft.after[displaced_id] = replace(memory, status="active", superseded_by="")
        draft.note(memory, "restored", f"{gone.id} no longer replaces it")
        return
    draft.after[displaced_id] = replace(memory, superseded_by=heir.id)
    draft.after[heir.id] = replace(
        heir, supersedes=tuple(dict.fromkeys((*heir.supersedes, displaced_id)))
    )
    draft.note(memory, "left", f"stays replaced, now by {heir.id}, which is newer")


def _heir(draft: _Draft, gone: Memory, seen: set[str]) -> Memory | None:
    """Return the memory that stays and, step by step, replaced `gone`; `None` if none does."""
    memory: Memory | None = gone
    while memory is not None and memory.superseded_by and memory.id not in seen:
        seen.add(memory.id)
        memory = draft.after.get(memory.superseded_by)
        if memory is not None and memory.status != "forgotten":
            return memory
    return None


def _revisions(draft: _Draft, now: datetime) -> list[Revision]:
    revisions = []
    for memory_id, before in draft.before.items():
        after = draft.after[memory_id]
        if replace(after, updated_at=before.updated_at) == before:
            continue
        reason = f"{ROLLED_BACK} {draft.run_id}"
        revisions.append(Revision(before, replace(after, updated_at=now), ROLLED_BACK, reason))
    return revisions
