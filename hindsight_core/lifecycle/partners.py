"""Finding, for memories, the others that say the same thing.

A cluster is what the best founded memory of several takes in, all at once. So what becomes of
it depends neither on the order in which memories are looked at nor on what a store does with
ties, and maintenance that was cut off ends as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hindsight_core.lifecycle.merge import Cluster, founded, same_thing
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import STATEMENTS, Memory, is_statement
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.store.base import DenseLane, Hit, MemoryFilter, OrderedLane, Search

__all__ = ["Clusters", "read_vectors"]

NEIGHBORS = 4
"""Nearest memories that each one is compared with, itself among them."""
MOST_NEIGHBORS = 256
"""The same where all of `NEIGHBORS` say the same: then there are many copies."""
MANY_COPIES = 8
"""Memories that are compared with so many at once; the others have their turn later."""
CLIMBS = 8
"""How often a better founded one of the kind is looked for."""


def read_vectors(memories: Sequence[Memory], namespace: Namespace) -> Plan[tuple[Hit, ...]]:
    """Return those of `memories` that take part in merging, with their vectors."""
    ids = tuple(memory.id for memory in memories if is_statement(memory))
    if not ids:
        return ()
    these = MemoryFilter(namespaces=(namespace,), ids=ids)
    (hits,) = yield from ask(
        Search(these, (OrderedLane("created_at", len(ids)),), with_vectors=True)
    )
    return hits


@dataclass(frozen=True, slots=True)
class _Star:
    """A memory and those that say the same."""

    center: Memory
    others: tuple[Hit, ...]

    @property
    def best(self) -> Memory:
        return min((self.center, *(hit.memory for hit in self.others)), key=founded)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Finds what can become one memory.

    Attributes:
        namespace: Whose memories are compared.
        lifecycle: The profile's thresholds.
        is_out: Whether a memory is no partner, for example because it is leaving.
    """

    namespace: Namespace
    lifecycle: Lifecycle
    is_out: Callable[[Memory], bool]

    def find(self, memories: Sequence[Memory]) -> Plan[tuple[list[Cluster], list[Memory]]]:
        """Return clusters that `memories` belong to, and those to ask about once they are made.

        No memory occurs in two of them. Nobody is to be asked again where there are none.
        """
        stars: dict[str, _Star] = {}
        asking = [memory for memory in memories if not self.is_out(memory)]
        for _ in range(CLIMBS):
            stars |= yield from self._stars(asking)
            better = {star.best.id: star.best for star in stars.values() if star.others}
            asking = [memory for id_, memory in better.items() if id_ not in stars]
            if not asking:
                break
        clusters = list(_clusters(stars))
        done = {memory.id for cluster in clusters for memory in (cluster.kept, *cluster.gone)}
        alone = {id_ for id_, star in stars.items() if not star.others}
        full = {id_ for id_, star in stars.items() if len(star.others) >= MOST_NEIGHBORS - 1}
        again = [m for m in memories if m.id in full or m.id not in done | alone]
        return clusters, again if clusters else []

    def _stars(self, memories: Sequence[Memory]) -> Plan[dict[str, _Star]]:
        rows = yield from read_vectors(memories, self.namespace)
        found = yield from self._nearest(rows, NEIGHBORS)
        # Which few of many copies come first is chance; so all of them are looked at.
        many = [row for row in rows if len(found[row.memory.id].others) >= NEIGHBORS - 1]
        for row in many[MANY_COPIES:]:
            del found[row.memory.id]
        found |= yield from self._nearest(many[:MANY_COPIES], MOST_NEIGHBORS)
        return found

    def _nearest(self, rows: Sequence[Hit], limit: int) -> Plan[dict[str, _Star]]:
        if not rows:
            return {}
        others = MemoryFilter(namespaces=(self.namespace,), categories=STATEMENTS)
        lanes = tuple(DenseLane(row.dense, limit) for row in rows)
        answers = yield from ask(Search(others, lanes))
        return {
            row.memory.id: _Star(
                row.memory, tuple(hit for hit in near if self._is_partner(row.memory, hit))
            )
            for row, near in zip(rows, answers, strict=True)
        }

    def _is_partner(self, memory: Memory, hit: Hit) -> bool:
        other = hit.memory
        if other.id == memory.id or self.is_out(other):
            return False
        return same_thing(memory, other, hit.score, self.lifecycle)


def _clusters(stars: Mapping[str, _Star]) -> Iterator[Cluster]:
    taken: set[str] = set()
    for star in sorted(stars.values(), key=lambda star: founded(star.center)):
        hits = [hit for hit in star.others if hit.memory.id not in taken]
        if star.center.id in taken or not hits or star.best.id != star.center.id:
            continue
        hits.sort(key=lambda hit: founded(hit.memory))
        taken.update((star.center.id, *(hit.memory.id for hit in hits)))
        yield Cluster(star.center, tuple((hit.memory, hit.score) for hit in hits))
