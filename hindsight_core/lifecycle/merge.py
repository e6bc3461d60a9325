"""Near-identical memories become one, with all evidence and summed counts.

The writer already strengthens what is known when the same thing is said again. What slips
through (two hosts that wrote at once, an import, another embedding) is found here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.neighbors import cosine_of
from hindsight_core.reconcile.writer import Revision
from hindsight_core.store.base import DenseLane, Hit, MemoryFilter, OrderedLane, Search

__all__ = ["Pair", "find_pairs", "merged", "pair_revisions", "pair_step", "same_thing"]

NEIGHBORS = 4
"""Nearest memories that each one is compared with."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that say the same thing.

    Attributes:
        kept: The one that stays: the better founded, of equals the older.
        dropped: The one that goes into it.
        cosine: How similar they are.
    """

    kept: Memory
    dropped: Memory
    cosine: float


def find_pairs(
    memories: Sequence[Memory],
    namespace: Namespace,
    lifecycle: Lifecycle,
    gone: Collection[str] = (),
) -> Plan[list[Pair]]:
    """Return which of `memories` say the same thing as another active one.

    No memory occurs in two pairs; a third of the kind is found the next time.

    Args:
        memories: The memories to find partners of.
        namespace: Whose memories they are compared with.
        lifecycle: The profile's thresholds.
        gone: Ids that are no partners.
    """
    asking = [m for m in memories if m.category != "experience"]
    if not asking:
        return []
    ids = tuple(memory.id for memory in asking)
    these = MemoryFilter(namespaces=(namespace,), ids=ids)
    ((*hits,),) = yield from ask(
        Search(these, (OrderedLane("created_at", len(ids)),), with_vectors=True)
    )
    others = MemoryFilter(
        namespaces=(namespace,),
        categories=("rule", "fact", "preference", "entity", "correction"),
    )
    lanes = tuple(DenseLane(hit.dense, NEIGHBORS) for hit in hits)
    answers = yield from ask(Search(others, lanes, with_vectors=True))
    return list(_pairs(hits, answers, lifecycle, gone))


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


def merged(pair: Pair, now: datetime) -> tuple[Memory, Memory]:
    """Return the memory that stays, with everything that speaks for it, and the other one.

    Confidence is the larger of the two: the same thing written twice is not twice as sure.
    """
    kept, dropped = pair.kept, pair.dropped
    runs = {evidence.run_id for evidence in kept.evidence}
    after = replace(
        kept,
        confidence=max(kept.confidence, dropped.confidence),
        importance=max(kept.importance, dropped.importance),
        evidence=(*kept.evidence, *(e for e in dropped.evidence if e.run_id not in runs)),
        tags=tuple(dict.fromkeys((*kept.tags, *dropped.tags))),
        supersedes=tuple(dict.fromkeys((*kept.supersedes, dropped.id))),
        access_count=kept.access_count + dropped.access_count,
        success_count=kept.success_count + dropped.success_count,
        failure_count=kept.failure_count + dropped.failure_count,
        event_time=max(kept.event_time, dropped.event_time),
        updated_at=now,
    )
    return after, replace(dropped, status="superseded", superseded_by=kept.id)


def pair_revisions(pair: Pair, now: datetime) -> tuple[Revision, Revision]:
    """Return the changes that make one memory of a pair."""
    after, gone = merged(pair, now)
    return (
        Revision(pair.kept, after, "merged", f"merged with {pair.dropped.id}"),
        Revision(pair.dropped, gone, "superseded", f"merged into {pair.kept.id}"),
    )


def pair_step(pair: Pair) -> Tended:
    """Return what a report says of a pair."""
    reason = f"says the same as {pair.kept.id} (cosine {pair.cosine:.2f})"
    return Tended.of(pair.dropped, "merged", reason)


def _pairs(
    hits: Sequence[Hit],
    answers: Sequence[Sequence[Hit]],
    lifecycle: Lifecycle,
    gone: Collection[str],
) -> Iterator[Pair]:
    taken = set(gone)
    for hit, near in zip(hits, answers, strict=True):
        for other in near:
            one, two = hit.memory, other.memory
            if one.id == two.id or taken & {one.id, two.id}:
                continue
            cosine = cosine_of(hit.dense, other.dense)
            if same_thing(one, two, cosine, lifecycle):
                taken |= {one.id, two.id}
                kept, dropped = sorted((one, two), key=_founded)
                yield Pair(kept, dropped, cosine)
                break


def _founded(memory: Memory) -> tuple[bool, int, datetime, str]:
    """Sort the better founded first: a person's word, then more evidence, then the older."""
    by_person = memory.source in {"user_feedback", "validator"}
    return (not by_person, -len(memory.evidence), memory.created_at, memory.id)
