"""The one way into the store: reconcile, plan in the journal, apply, mark as applied."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from hindsight_core.errors import JournalError, StoreError, StoreUnavailableError
from hindsight_core.locks import ForkSafeLock
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.changes import ChangeSet, apply_changes, decode, encode
from hindsight_core.reconcile.decide import Decision, Neighbor, decide
from hindsight_core.reconcile.history import next_version
from hindsight_core.reconcile.neighbors import (
    Proposal,
    alike_before,
    known_neighbors,
)
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.runs.journal import AuditEntry, Journal, RunResult
from hindsight_core.store.base import Get, Patch, Point, Record

__all__ = ["Revision", "Writer", "Written"]

logger = logging.getLogger(__name__)

Key: TypeAlias = tuple[Namespace, str]
"""A memory's namespace and id, unique in a store."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A change to a known memory that needs no reconciling.

    Attributes:
        before: The memory as it is stored.
        after: As it is to be.
        action: What is done, a word for the audit.
        reason: Why.
    """

    before: Memory
    after: Memory
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a write came to.

    Attributes:
        memories: For each proposal the memory it ended in, its own or the one it
            strengthened, each once and in order.
        by_proposal: The same, one for each proposal.
        superseded: Ids that were replaced.
    """

    memories: tuple[Memory, ...] = ()
    by_proposal: tuple[Memory, ...] = ()
    superseded: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    """The changes of one write while they are put together."""

    points: dict[Key, Point] = field(default_factory=dict)
    patched: dict[Key, tuple[Memory, Memory, str, str]] = field(default_factory=dict)
    kept: dict[Key, Memory] = field(default_factory=dict)
    audit: list[tuple[Memory, str, str]] = field(default_factory=list)
    ended_in: list[Key] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes memories so that nothing is lost, doubled or half done.

    Attributes:
        journal: Where changes are planned before they are made.
        actor: Who writes, for the audit.
        lock: Held from reading what is known to the end of the write; shared by all writers
            of one process to the same store.
    """

    journal: Journal
    actor: str
    lock: ForkSafeLock

    def write(
        self,
        namespace: Namespace,
        proposals: Sequence[Proposal],
        revisions: Sequence[Revision],
        *,
        lifecycle: Lifecycle,
        now: datetime,
        run_id: str = "",
        result: RunResult | None = None,
        owner: str = "",
    ) -> Plan[Written]:
        """Reconcile `proposals` with what is known and write them together with `revisions`.

        To be run while `lock` is held.

        Args:
            namespace: The namespace of all of them.
            proposals: New memories.
            revisions: Changes to known ones.
            lifecycle: The profile's thresholds.
            now: The present moment.
            run_id: The run behind the write, `""` if none.
            result: How that run's reflection ended; its memory ids are filled in here.
            owner: Who holds the run's lease; a write after the lease was lost is refused.

        Raises:
            StoreUnavailableError: If the store went away; what was planned by then is
                finished when it is back.
            StoreError: If the store refused; then nothing was changed.
        """
        yield from self.redo(now)
        neighbors = yield from known_neighbors(proposals, namespace)
        records = yield from self._records(namespace, proposals, revisions)
        draft = _Draft()
        for revision in revisions:
            _patch(draft, revision.before, revision.after, revision.action, revision.reason)
        alike = alike_before(proposals)
        for proposal, near, earlier in zip(proposals, neighbors, alike, strict=True):
            siblings = _siblings(draft, [(proposals[i], cosine) for i, cosine in earlier])
            _place(draft, proposal, (*siblings, *near), records, lifecycle, now)
        return (yield from self._commit(namespace, draft, records, now, run_id, result, owner))

    def redo(self, now: datetime) -> Plan[int]:
        """Finish what was planned and not applied, oldest first, and return how much it was.

        What can't be read any more is given up and logged, or it would hold up everything
        after it for ever.

        Raises:
            StoreError: If the store can't take it now; it stays planned.
        """
        planned = self.journal.unapplied()
        for item in planned:
            try:
                changes = decode(item.blob)
            except JournalError as error:
                logger.error("change %s of run %r: %s", item.change_id, item.run_id, error)
                self.journal.abandon(item.change_id, str(error), now=now)
                continue
            refused = yield from apply_changes(changes)
            if refused:
                logger.warning("change %s was overtaken for %s", item.change_id, ", ".join(refused))
            self.journal.mark_applied(item.change_id, now=now)
        return len(planned)

    def _records(
        self, namespace: Namespace, proposals: Sequence[Proposal], revisions: Sequence[Revision]
    ) -> Plan[dict[Key, Record]]:
        """Read, with their histories, the memories that this write names itself."""
        wanted = {p.memory.id: None for p in proposals}
        wanted |= {memory_id: None for p in proposals for memory_id in p.named}
        wanted |= {revision.before.id: None for revision in revisions}
        return (yield from _read({namespace, *(r.before.namespace for r in revisions)}, wanted))

    def _commit(
        self,
        namespace: Namespace,
        draft: _Draft,
        records: dict[Key, Record],
        now: datetime,
        run_id: str,
        result: RunResult | None,
        owner: str,
    ) -> Plan[Written]:
        # Most of what is alike stays as it is: only the histories that grow are read.
        unread = [key for key in draft.patched if key not in records]
        known = yield from _read({key[0] for key in unread}, [key[1] for key in unread])
        records = known | records
        final = dict(draft.kept)
        final |= {key: point.memory for key, point in draft.points.items()}
        patches = []
        for key, (before, after, action, reason) in draft.patched.items():
            if before == after:
                final[key] = before
                continue
            # Whoever erased it meanwhile has the patch refused, which is logged.
            history = records[key].changes if key in records else ()
            memory, changes = next_version(
                before, after, history, at=now, reason=reason, run_id=run_id
            )
            patches.append(Patch(memory, changes, before.version))
            final[key] = memory
            draft.audit.append((memory, action, reason))
        changes_set = ChangeSet(tuple(draft.points.values()), tuple(patches))
        by_proposal = tuple(final[key] for key in draft.ended_in)
        learned = tuple({_key(memory): memory for memory in by_proposal}.values())
        superseded = tuple(
            m.id for m in final.values() if m.status == "superseded" and m.superseded_by
        )
        if result is not None:
            ids = tuple(memory.id for memory in learned)
            result = replace(result, memory_ids=ids, superseded=superseded)
        audit = [
            AuditEntry(
                at=now,
                namespace=memory.namespace,
                memory_id=memory.id,
                action=action,
                run_id=run_id,
                actor=self.actor,
                reason=reason,
                version=memory.version,
            )
            for memory, action, reason in draft.audit
        ]
        written = Written(learned, by_proposal, superseded)
        if not changes_set and result is None:
            return written
        change_id = self.journal.plan_changes(
            namespace,
            run_id or None,
            encode(changes_set),
            audit,
            now=now,
            result=result,
            owner=owner or None,
        )
        try:
            refused = yield from apply_changes(changes_set)
        except StoreUnavailableError:
            raise
        except StoreError as error:
            self.journal.abandon(change_id, str(error), now=now)
            raise
        if refused:
            logger.warning("memories %s were changed by another writer", ", ".join(refused))
        self.journal.mark_applied(change_id, now=now)
        return written


def _read(namespaces: set[Namespace], ids: Iterable[str]) -> Plan[dict[Key, Record]]:
    wanted = tuple(ids)
    if not wanted:
        return {}
    records = yield from ask(Get(tuple(namespaces), wanted))
    return {_key(record.memory): record for record in records}


def _place(
    draft: _Draft,
    proposal: Proposal,
    near: Sequence[Neighbor],
    records: dict[Key, Record],
    lifecycle: Lifecycle,
    now: datetime,
) -> None:
    """Decide about one proposal and add what follows from it to `draft`."""
    own = _stored(draft, records, _key(proposal.memory))
    if own is not None:
        _rewrite(draft, proposal, own, now)
        return
    neighbors = [replace(n, memory=_current(draft, n.memory)) for n in near]
    neighbors = [n for n in neighbors if n.memory.status == "active"]
    named = [
        _current(draft, records[key].memory)
        for key in ((proposal.memory.namespace, memory_id) for memory_id in proposal.named)
        if key in records and records[key].memory.status == "active"
    ]
    decision = decide(proposal.memory, neighbors, named=named, lifecycle=lifecycle, now=now)
    _add(draft, proposal, decision)


def _add(draft: _Draft, proposal: Proposal, decision: Decision) -> None:
    memory = decision.memory
    draft.ended_in.append(_key(memory))
    if decision.strengthens is None:
        draft.points[_key(memory)] = Point(memory, proposal.dense, proposal.sparse)
        draft.audit.append((memory, "stored", proposal.reason))
    elif _key(memory) in draft.points:
        draft.points[_key(memory)] = replace(draft.points[_key(memory)], memory=memory)
    else:
        _patch(draft, decision.strengthens, memory, "strengthened", "said again")
    for change in decision.retired:
        action = "superseded" if change.after.status == "superseded" else "revised"
        if change.after.confidence < change.before.confidence and action == "revised":
            action = "weakened"
        if _key(change.before) in draft.points:
            point = draft.points[_key(change.before)]
            draft.points[_key(change.before)] = replace(point, memory=change.after)
            draft.audit.append((change.after, action, change.reason))
        else:
            _patch(draft, change.before, change.after, action, change.reason)


def _rewrite(draft: _Draft, proposal: Proposal, own: Record, now: datetime) -> None:
    """Store under an id that is taken: the latest text, with the history kept."""
    before = own.memory
    draft.ended_in.append(_key(before))
    kept = replace(
        proposal.memory,
        created_at=before.created_at,
        access_count=before.access_count,
        success_count=before.success_count,
        failure_count=before.failure_count,
        last_accessed_at=before.last_accessed_at,
        version=before.version,
    )
    unchanged = replace(kept, updated_at=before.updated_at, event_time=before.event_time)
    if unchanged == before:
        draft.kept[_key(before)] = before
        return
    reason = "stored again" if proposal.reason == "stored" else proposal.reason
    memory, changes = next_version(before, kept, own.changes, at=now, reason=reason)
    draft.points[_key(memory)] = Point(memory, proposal.dense, proposal.sparse, changes)
    draft.audit.append((memory, "rewritten", reason))


def _siblings(draft: _Draft, earlier: Sequence[tuple[Proposal, float]]) -> list[Neighbor]:
    """Return what the same write has placed already and may be about the same thing."""
    return [
        Neighbor(draft.points[_key(proposal.memory)].memory, cosine)
        for proposal, cosine in earlier
        if _key(proposal.memory) in draft.points
    ]


def _stored(draft: _Draft, records: dict[Key, Record], key: Key) -> Record | None:
    """Return what stands under `key` already, in the store or earlier in the same write."""
    point = draft.points.get(key)
    return records.get(key) if point is None else Record(point.memory, point.changes)


def _key(memory: Memory) -> Key:
    return memory.namespace, memory.id


def _current(draft: _Draft, memory: Memory) -> Memory:
    """Return `memory` as this write has already changed it."""
    patched = draft.patched.get(_key(memory))
    return patched[1] if patched else memory


def _patch(draft: _Draft, before: Memory, after: Memory, action: str, reason: str) -> None:
    """Add a change to a known memory, on top of what this write has already changed."""
    earlier = draft.patched.get(_key(before))
    if earlier:
        before, action = earlier[0], f"{earlier[2]}, {action}"
        reason = f"{earlier[3]}; {reason}"
    draft.patched[_key(before)] = (before, after, action, reason)
