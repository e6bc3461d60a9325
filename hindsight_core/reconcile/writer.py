"""The one way into the store: reconcile, plan in the journal, apply, mark as applied."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.errors import JournalError, StoreError, StoreUnavailableError
from hindsight_core.locks import ForkSafeLock
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.changes import ChangeSet, apply_changes, decode, encode
from hindsight_core.reconcile.draft import Draft, Key, key_of
from hindsight_core.reconcile.neighbors import (
    Proposal,
    alike_before,
    known_neighbors,
    named_cosines,
)
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.runs.journal import AuditEntry, Journal, RunResult
from hindsight_core.store.base import Get, Record

__all__ = ["Revision", "Writer", "Written"]

logger = logging.getLogger(__name__)


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
        notes: What lessons named and do not replace, each with the reason.
    """

    memories: tuple[Memory, ...] = ()
    by_proposal: tuple[Memory, ...] = ()
    superseded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
        cosines = yield from named_cosines(proposals, namespace)
        records = yield from self._records(namespace, proposals, revisions)
        draft = Draft()
        for revision in revisions:
            draft.revise(revision.before, revision.after, revision.action, revision.reason)
        alike = alike_before(proposals)
        each = zip(proposals, neighbors, alike, cosines, strict=True)
        for proposal, near, earlier, named in each:
            siblings = draft.siblings([(proposals[i], cosine) for i, cosine in earlier])
            draft.place(proposal, (*siblings, *near), named, records, lifecycle, now)
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
        draft: Draft,
        records: dict[Key, Record],
        now: datetime,
        run_id: str,
        result: RunResult | None,
        owner: str,
    ) -> Plan[Written]:
        # Most of what is alike stays as it is: only the histories that grow are read.
        unread = [key for key in draft.patched if key not in records]
        known = yield from _read({key[0] for key in unread}, [key[1] for key in unread])
        patches, final = draft.patches(known | records, now, run_id)
        changes = ChangeSet(tuple(draft.points.values()), patches)
        written = _written(draft, final)
        if not changes and result is None:
            return written
        if result is not None:
            ids = tuple(memory.id for memory in written.memories)
            notes = (*result.notes, *written.notes)
            result = replace(result, memory_ids=ids, superseded=written.superseded, notes=notes)
        change_id = self.journal.plan_changes(
            namespace,
            run_id or None,
            encode(changes),
            self._audit(draft, now, run_id),
            now=now,
            result=result,
            owner=owner or None,
        )
        yield from self._apply(change_id, changes, now)
        return written

    def _audit(self, draft: Draft, now: datetime, run_id: str) -> list[AuditEntry]:
        return [
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

    def _apply(self, change_id: int, changes: ChangeSet, now: datetime) -> Plan[None]:
        """Make the changes that were planned; what the store refuses is given up."""
        try:
            refused = yield from apply_changes(changes)
        except StoreUnavailableError:
            raise
        except StoreError as error:
            self.journal.abandon(change_id, str(error), now=now)
            raise
        if refused:
            logger.warning("memories %s were changed by another writer", ", ".join(refused))
        self.journal.mark_applied(change_id, now=now)


def _written(draft: Draft, final: Mapping[Key, Memory]) -> Written:
    by_proposal = tuple(final[key] for key in draft.ended_in)
    return Written(
        memories=tuple({key_of(memory): memory for memory in by_proposal}.values()),
        by_proposal=by_proposal,
        superseded=tuple(
            m.id for m in final.values() if m.status == "superseded" and m.superseded_by
        ),
        notes=tuple(draft.refused),
    )


def _read(namespaces: set[Namespace], ids: Iterable[str]) -> Plan[dict[Key, Record]]:
    wanted = tuple(ids)
    if not wanted:
        return {}
    records = yield from ask(Get(tuple(namespaces), wanted))
    return {key_of(record.memory): record for record in records}
