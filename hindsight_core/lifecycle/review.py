"""What a person should look at: a queue of memories with the reason each one is in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from hindsight_core.lifecycle.decay import days_between, faded_confidence
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.contradictions import CONTRADICTS
from hindsight_core.safety.quarantine import QUARANTINE
from hindsight_core.store.base import Get, MemoryFilter, Scroll

__all__ = ["ReviewItem", "ReviewReason", "contradicted_ids", "plan_queue"]

ReviewReason: TypeAlias = Literal[
    "quarantined", "contradiction", "never successful", "low trust", "never recalled", "sample"
]
"""Why a memory is up for review, in the order of the queue."""

OFTEN = 5
"""Recalls from which on a memory without a single success is worth a look."""
LOW_TRUST = 0.4
UNUSED = timedelta(days=30)
PAGE = 256


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One memory to judge.

    Attributes:
        memory: The memory.
        reason: Why it is in the queue.
        detail: The numbers behind it, for people.
        against: Memories that it contradicts.
    """

    memory: Memory
    reason: ReviewReason
    detail: str
    against: tuple[Memory, ...] = ()


@dataclass(slots=True)
class _Best:
    """The `limit` memories with the highest rank, of as many as come by."""

    limit: int
    rank: Callable[[Memory], float]
    kept: list[Memory]

    def offer(self, memory: Memory) -> None:
        self.kept.append(memory)
        if len(self.kept) > 2 * self.limit:
            self.kept = self.best()

    def best(self) -> list[Memory]:
        return sorted(self.kept, key=lambda memory: (-self.rank(memory), memory.id))[: self.limit]


def plan_queue(
    namespace: Namespace, lifecycle: Lifecycle, now: datetime, *, limit: int, seed: int
) -> Plan[tuple[ReviewItem, ...]]:
    """Return at most `limit` memories to judge, each once, those in quarantine first.

    Every reason gets its share; what one leaves free the random sample fills.

    Args:
        namespace: Whose memories.
        lifecycle: The profile's thresholds.
        now: The present moment.
        limit: Most items.
        seed: Of the random sample.
    """
    chance = random.Random(seed)
    share = max(1, limit // 5)
    queues: dict[ReviewReason, _Best] = {
        "quarantined": _Best(share, lambda m: m.created_at.timestamp(), []),
        "contradiction": _Best(share, lambda m: m.created_at.timestamp(), []),
        "never successful": _Best(share, lambda m: m.access_count, []),
        "low trust": _Best(share, lambda m: -faded_confidence(m, now, lifecycle), []),
        "never recalled": _Best(share, lambda m: days_between(m.created_at, now), []),
        "sample": _Best(limit, lambda m: draws[m.id], []),
    }
    draws: dict[str, float] = {}
    where = MemoryFilter(namespaces=(namespace,), statuses=("active", "quarantined"))
    cursor: str | None = None
    while True:
        page = yield from ask(Scroll(where, PAGE, cursor))
        for record in page.records:
            memory = record.memory
            draws[memory.id] = chance.random()
            for reason in _reasons(memory, now, lifecycle):
                queues[reason].offer(memory)
        cursor = page.cursor
        if cursor is None:
            break
    chosen = _choose(((reason, queue.best()) for reason, queue in queues.items()), limit)
    return (yield from _items(namespace, chosen, now, lifecycle))


def contradicted_ids(memory: Memory) -> tuple[str, ...]:
    """Return the ids of what `memory` contradicts, unresolved."""
    named = memory.metadata.get(CONTRADICTS)
    return tuple(map(str, named)) if isinstance(named, (list, tuple)) else ()


def _reasons(memory: Memory, now: datetime, lifecycle: Lifecycle) -> Iterable[ReviewReason]:
    if memory.status == "quarantined":
        yield "quarantined"
        return
    if contradicted_ids(memory):
        yield "contradiction"
    if memory.access_count >= OFTEN and not memory.success_count:
        yield "never successful"
    if faded_confidence(memory, now, lifecycle) < LOW_TRUST:
        yield "low trust"
    if not memory.access_count and now - memory.created_at > UNUSED:
        yield "never recalled"
    yield "sample"


def _choose(
    queues: Iterable[tuple[ReviewReason, list[Memory]]], limit: int
) -> list[tuple[ReviewReason, Memory]]:
    seen: set[str] = set()
    chosen: list[tuple[ReviewReason, Memory]] = []
    for reason, memories in queues:
        for memory in memories:
            if memory.id not in seen and len(chosen) < limit:
                seen.add(memory.id)
                chosen.append((reason, memory))
    return chosen


def _items(
    namespace: Namespace,
    chosen: list[tuple[ReviewReason, Memory]],
    now: datetime,
    lifecycle: Lifecycle,
) -> Plan[tuple[ReviewItem, ...]]:
    wanted = dict.fromkeys(i for _, memory in chosen for i in contradicted_ids(memory))
    others: dict[str, Memory] = {}
    if wanted:
        records = yield from ask(Get((namespace,), tuple(wanted)))
        others = {record.memory.id: record.memory for record in records}
    return tuple(
        ReviewItem(
            memory,
            reason,
            _detail(memory, reason, now, lifecycle),
            tuple(others[i] for i in contradicted_ids(memory) if i in others),
        )
        for reason, memory in chosen
    )


def _detail(memory: Memory, reason: ReviewReason, now: datetime, lifecycle: Lifecycle) -> str:
    if reason == "quarantined":
        return str(memory.metadata.get(QUARANTINE, "held back"))
    if reason == "contradiction":
        return f"contradicts {', '.join(contradicted_ids(memory))}"
    if reason == "never successful":
        return f"recalled {memory.access_count} times, {memory.failure_count} failures after it"
    if reason == "low trust":
        return f"confidence {faded_confidence(memory, now, lifecycle):.2f}"
    if reason == "never recalled":
        return f"stored {days_between(memory.created_at, now):.0f} days ago"
    return "drawn at random"
