"""Finding, for new memories, what is already known about the same things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.decide import Neighbor
from hindsight_core.reconcile.wording import is_cjk
from hindsight_core.store.base import (
    DenseLane,
    Lane,
    MemoryFilter,
    Search,
    SparseLane,
    SparseVector,
    Vector,
)

__all__ = ["Proposal", "cosine_of", "known_neighbors", "worth_comparing"]

NEIGHBORS_BY_MEANING = 5
NEIGHBORS_BY_WORDS = 3
LEAST_COSINE = 0.5
"""Below it two statements are not about the same thing; Chinese is judged by its words."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory that is about to be written, with its vectors.

    Attributes:
        memory: The memory.
        dense: Its embedding.
        sparse: Its BM25 vector.
        named: Ids of memories that it says it replaces.
        reason: Why it is written, for the audit.
        alone: Whether it stands for itself and is compared with nothing that is known.
    """

    memory: Memory
    dense: Vector
    sparse: SparseVector
    named: tuple[str, ...] = ()
    reason: str = "stored"
    alone: bool = False


def known_neighbors(
    proposals: Sequence[Proposal], namespace: Namespace
) -> Plan[list[tuple[Neighbor, ...]]]:
    """Return, for each proposal, what the store knows about the same thing, nearest first.

    One request for all of them. Experiences stand for themselves and ask for nothing.
    """
    asking = [p for p in proposals if p.memory.category != "experience" and not p.alone]
    lanes: list[Lane] = []
    for proposal in asking:
        lanes.append(DenseLane(proposal.dense, NEIGHBORS_BY_MEANING))
        lanes.append(SparseLane(proposal.sparse, NEIGHBORS_BY_WORDS))
    if not lanes:
        return [() for _ in proposals]
    # An empty sparse vector has no neighbors by words; a dense lane of one keeps the pairing.
    lanes = [
        DenseLane(asking[i // 2].dense, 1)
        if isinstance(lane, SparseLane) and not lane.vector.indices
        else lane
        for i, lane in enumerate(lanes)
    ]
    where = MemoryFilter(
        namespaces=(namespace,),
        categories=("rule", "fact", "preference", "entity", "correction"),
    )
    answers = yield from ask(Search(where, tuple(lanes), with_vectors=True))
    found: dict[int, tuple[Neighbor, ...]] = {}
    for index, proposal in enumerate(asking):
        hits = {hit.memory.id: hit for hit in (*answers[2 * index], *answers[2 * index + 1])}
        neighbors = [
            Neighbor(hit.memory, cosine_of(proposal.dense, hit.dense)) for hit in hits.values()
        ]
        neighbors.sort(key=lambda neighbor: -neighbor.cosine)
        found[id(proposal)] = tuple(
            n for n in neighbors if worth_comparing(proposal.memory, n.memory, n.cosine)
        )
    return [found.get(id(proposal), ()) for proposal in proposals]


def worth_comparing(new: Memory, known: Memory, cosine: float) -> bool:
    """Whether two statements are near enough to look at their words."""
    return cosine >= LEAST_COSINE or (is_cjk(new.content) and is_cjk(known.content))


def cosine_of(first: Vector, second: Vector) -> float:
    """Return the cosine of two unit-length vectors."""
    return float(sum(map(mul, first, second)))
