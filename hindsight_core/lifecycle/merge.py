"""Near-identical memories become one, with all evidence and summed counts.

The writer already strengthens what is known when the same thing is said again. What slips
through (two hosts that wrote at once, an import, another embedding) is found here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Evidence, Memory
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.contradictions import WAS
from hindsight_core.reconcile.writer import Revision
from hindsight_core.safety.trust import is_proven

__all__ = [
    "ALSO",
    "WORDED",
    "Cluster",
    "cluster_revisions",
    "cluster_steps",
    "founded",
    "merged",
    "same_thing",
    "waits_for_words",
    "wordings",
]


NAMED = 5
"""Merged memories that a reason names, and other wordings that are noted."""
ALSO = "also"
"""Metadata of a merged memory: what the others said in other words."""
WORDED = "worded"
"""Metadata of a merged memory whose words were settled: by whom, and why by the rule."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that say the same thing.

    Attributes:
        kept: The one that stays: the best founded, of equals the oldest.
        dropped: Those that go into it, best founded first, each with its cosine to `kept`.
    """

    kept: Memory
    dropped: tuple[tuple[Memory, float], ...]

    @property
    def gone(self) -> tuple[Memory, ...]:
        """Those that go into it."""
        return tuple(memory for memory, _ in self.dropped)


def same_thing(one: Memory, other: Memory, cosine: float, lifecycle: Lifecycle) -> bool:
    """Whether two memories may become one: the same words, conditions, sort and validity."""
    if (one.category, one.applies_when, one.not_when) != (
        other.category,
        other.applies_when,
        other.not_when,
    ):
        return False
    if one.domain != other.domain or one.valid_until != other.valid_until:
        return False
    least = lifecycle.duplicate_similarity
    return cosine >= least and (
        relation(one.content, other.content, cosine, same_cosine=least) == "same"
    )


def merged(cluster: Cluster, now: datetime, lifecycle: Lifecycle) -> Memory:
    """Return the memory that stays, with everything that speaks for it.

    Confidence is the largest of all: the same thing written twice is not twice as sure. Where
    a model is to find the words, what the others said in other words is noted for it.
    """
    kept, gone = cluster.kept, cluster.gone
    metadata = dict(kept.metadata)
    said = {memory.content: None for memory in gone if memory.content != kept.content}
    if said and lifecycle.merge_words == "model":
        metadata |= {ALSO: list(said)[:NAMED]}
        metadata.pop(WORDED, None)
    every = (kept, *gone)
    evidence: dict[str, Evidence] = {}
    for item in (item for memory in every for item in memory.evidence):
        evidence.setdefault(item.run_id, item)
    return replace(
        kept,
        confidence=max(memory.confidence for memory in every),
        importance=max(memory.importance for memory in every),
        evidence=tuple(evidence.values()),
        tags=tuple(dict.fromkeys(tag for memory in every for tag in memory.tags)),
        supersedes=tuple(dict.fromkeys((*kept.supersedes, *(memory.id for memory in gone)))),
        access_count=sum(memory.access_count for memory in every),
        success_count=sum(memory.success_count for memory in every),
        failure_count=sum(memory.failure_count for memory in every),
        event_time=max(memory.event_time for memory in every),
        metadata=metadata,
        updated_at=now,
    )


def cluster_revisions(cluster: Cluster, now: datetime, lifecycle: Lifecycle) -> list[Revision]:
    """Return the changes that make one memory of a cluster."""
    kept, gone = cluster.kept, cluster.gone
    names = ", ".join(memory.id for memory in gone[:NAMED])
    more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
    return [
        Revision(kept, merged(cluster, now, lifecycle), "merged", f"merged with {names}{more}"),
        *(
            Revision(
                memory,
                replace(memory, status="superseded", superseded_by=kept.id),
                "superseded",
                f"merged into {kept.id}",
            )
            for memory in gone
        ),
    ]


def cluster_steps(cluster: Cluster) -> list[Tended]:
    """Return what a report says of a cluster."""
    return [
        Tended.of(
            memory, "merged", f"says the same as {cluster.kept.id} (cosine {min(cosine, 1.0):.2f})"
        )
        for memory, cosine in cluster.dropped
    ]


def waits_for_words(memory: Memory) -> bool:
    """Whether a memory was merged of several wordings and nobody has settled its words."""
    return WORDED not in memory.metadata and len(wordings(memory)) > 1


def wordings(memory: Memory) -> tuple[str, ...]:
    """Return what a merged memory and those that it was merged of say, each once."""
    noted = (memory.metadata.get(name) for name in (ALSO, WAS))
    others = [text for texts in noted if isinstance(texts, list) for text in texts]
    return tuple(dict.fromkeys((memory.content, *(t for t in others if isinstance(t, str)))))


def founded(memory: Memory) -> tuple[bool, int, datetime, str]:
    """Return a key that sorts the better founded first.

    A person's word goes before an agent's, then more evidence, then the older.
    """
    return (not is_proven(memory), -len(memory.evidence), memory.created_at, memory.id)
