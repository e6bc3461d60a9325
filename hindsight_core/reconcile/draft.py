"""The changes of one write while they are put together, each on top of the earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.reconcile.decide import Decision, decide
from hindsight_core.reconcile.history import next_version
from hindsight_core.reconcile.named import Neighbor
from hindsight_core.reconcile.neighbors import Proposal
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.store.base import Patch, Point, Record

__all__ = ["Draft", "Key", "key_of"]

Key: TypeAlias = tuple[Namespace, str]
"""A memory's namespace and id, unique in a store."""


def key_of(memory: Memory) -> Key:
    """Return what a memory is known by in a store."""
    return memory.namespace, memory.id


@dataclass(slots=True)
class Draft:
    """What one write is to change.

    Attributes:
        points: Memories to be written whole, with their vectors.
        patched: Known memories that change: as they were, as they are to be, what is done to
            them in a word, and why.
        kept: Memories that were to be stored and stand there already as they are.
        audit: What is done to which memory, and why.
        ended_in: For each proposal, the memory it ended in.
        refused: What lessons named and do not replace, each with the reason.
    """

    points: dict[Key, Point] = field(default_factory=dict)
    patched: dict[Key, tuple[Memory, Memory, str, str]] = field(default_factory=dict)
    kept: dict[Key, Memory] = field(default_factory=dict)
    audit: list[tuple[Memory, str, str]] = field(default_factory=list)
    ended_in: list[Key] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def revise(self, before: Memory, after: Memory, action: str, reason: str) -> None:
        """Add a change to a known memory, on top of what this write has already changed."""
        earlier = self.patched.get(key_of(before))
        if earlier:
            before, action = earlier[0], f"{earlier[2]}, {action}"
            reason = f"{earlier[3]}; {reason}"
        self.patched[key_of(before)] = (before, after, action, reason)

    def siblings(self, earlier: Sequence[tuple[Proposal, float]]) -> list[Neighbor]:
        """Return what the same write has placed already and may be about the same thing."""
        return [
            Neighbor(self.points[key_of(proposal.memory)].memory, cosine)
            for proposal, cosine in earlier
            if key_of(proposal.memory) in self.points
        ]

    def place(
        self,
        proposal: Proposal,
        near: Sequence[Neighbor],
        cosines: Mapping[str, float],
        records: Mapping[Key, Record],
        lifecycle: Lifecycle,
        now: datetime,
    ) -> None:
        """Decide about one proposal and add what follows from it.

        Args:
            proposal: The proposal.
            near: What is known or placed already about the same thing, nearest first.
            cosines: How similar what the proposal names is to it, by id.
            records: What the store holds of the memories that the write names itself.
            lifecycle: The profile's thresholds.
            now: The present moment.
        """
        own = self._stored(records, key_of(proposal.memory))
        if own is not None:
            self._rewrite(proposal, own, now)
            return
        neighbors = [n for n in map(self._as_drafted, near) if n.memory.status == "active"]
        named = [
            Neighbor(self._current(records[key].memory), cosines.get(key[1], 0.0))
            for key in ((proposal.memory.namespace, memory_id) for memory_id in proposal.named)
            if key in records and records[key].memory.status == "active"
        ]
        decision = decide(proposal.memory, neighbors, named=named, lifecycle=lifecycle, now=now)
        self.refused += decision.refused
        self._add(proposal, decision)

    def patches(
        self, records: Mapping[Key, Record], now: datetime, run_id: str
    ) -> tuple[tuple[Patch, ...], dict[Key, Memory]]:
        """Make the next version of each known memory that changes, and note it for the audit.

        Args:
            records: What the store holds of them, with their histories.
            now: The present moment.
            run_id: The run behind the write, `""` if none.

        Returns:
            The changes of known memories, and all memories of the write as they are after it.
        """
        patches: list[Patch] = []
        final = dict(self.kept)
        final |= {key: point.memory for key, point in self.points.items()}
        for key, (before, after, action, reason) in self.patched.items():
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
            self.audit.append((memory, action, reason))
        return tuple(patches), final

    def _add(self, proposal: Proposal, decision: Decision) -> None:
        memory = decision.memory
        self.ended_in.append(key_of(memory))
        if decision.strengthens is None:
            self.points[key_of(memory)] = Point(memory, proposal.dense, proposal.sparse)
            self.audit.append((memory, "stored", proposal.reason))
        elif key_of(memory) in self.points:
            self.points[key_of(memory)] = replace(self.points[key_of(memory)], memory=memory)
        else:
            self.revise(decision.strengthens, memory, "strengthened", "said again")
        for change in decision.retired:
            action = "superseded" if change.after.status == "superseded" else "revised"
            if change.after.confidence < change.before.confidence and action == "revised":
                action = "weakened"
            if key_of(change.before) in self.points:
                point = self.points[key_of(change.before)]
                self.points[key_of(change.before)] = replace(point, memory=change.after)
                self.audit.append((change.after, action, change.reason))
            else:
                self.revise(change.before, change.after, action, change.reason)

    def _rewrite(self, proposal: Proposal, own: Record, now: datetime) -> None:
        """Store under an id that is taken: the latest text, with the history kept."""
        before = own.memory
        self.ended_in.append(key_of(before))
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
            self.kept[key_of(before)] = before
            return
        reason = "stored again" if proposal.reason == "stored" else proposal.reason
        memory, changes = next_version(before, kept, own.changes, at=now, reason=reason)
        self.points[key_of(memory)] = Point(memory, proposal.dense, proposal.sparse, changes)
        self.audit.append((memory, "rewritten", reason))

    def _stored(self, records: Mapping[Key, Record], key: Key) -> Record | None:
        """Return what stands under `key` already, in the store or earlier in the same write."""
        point = self.points.get(key)
        return records.get(key) if point is None else Record(point.memory, point.changes)

    def _as_drafted(self, neighbor: Neighbor) -> Neighbor:
        current = self._current(neighbor.memory)
        return neighbor if current is neighbor.memory else replace(neighbor, memory=current)

    def _current(self, memory: Memory) -> Memory:
        """Return `memory` as this write has already changed it."""
        patched = self.patched.get(key_of(memory))
        return patched[1] if patched else memory
