"""Finding, for new memories, what is already known about the same things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from hindsight_core.models import STATEMENTS, Memory, is_statement
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.compare import RENEWED_COSINE
from hindsight_core.reconcile.named import Neighbor
from hindsight_core.reconcile.wording import is_cjk, read_wording
from hindsight_core.store.base import (
    DenseLane,
    Lane,
    MemoryFilter,
    Search,
    SparseLane,
    SparseVector,
    Vector,
)

__all__ = [
    "Proposal",
    "alike_before",
    "cosine_of",
    "known_neighbors",
    "named_cosines",
    "worth_comparing",
]

NEIGHBORS_BY_MEANING = 6
NEIGHBORS_BY_WORDS = 3
LEAST_COSINE = 0.5
"""Below it two statements are not about the same thing; Chinese is judged by its words, and what
says of itself that something changed is looked at from `RENEWED_COSINE` on."""


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
    asking = [i for i, p in enumerate(proposals) if _is_compared(p)]
    lanes: list[Lane] = []
    askers: list[int] = []
    for i in asking:
        proposal = proposals[i]
        lanes.append(DenseLane(proposal.dense, NEIGHBORS_BY_MEANING))
        askers.append(i)
        # The default embedder has not learned Chinese: there, the words find what is alike.
        if proposal.sparse.indices and is_cjk(proposal.memory.content):
            lanes.append(SparseLane(proposal.sparse, NEIGHBORS_BY_WORDS))
            askers.append(i)
    found: list[dict[str, Neighbor]] = [{} for _ in proposals]
    if lanes:
        where = MemoryFilter(namespaces=(namespace,), categories=STATEMENTS)
        answers = yield from ask(Search(where, tuple(lanes)))
        for i, lane, hits in zip(askers, lanes, answers, strict=True):
            for hit in hits:
                cosine = hit.score if isinstance(lane, DenseLane) else 0.0
                found[i].setdefault(hit.memory.id, Neighbor(hit.memory, cosine))
    return [
        tuple(
            sorted(
                (n for n in near.values() if worth_comparing(p.memory, n.memory, n.cosine)),
                key=lambda neighbor: -neighbor.cosine,
            )
        )
        for p, near in zip(proposals, found, strict=True)
    ]


def named_cosines(
    proposals: Sequence[Proposal], namespace: Namespace
) -> Plan[list[dict[str, float]]]:
    """Return, for each proposal, how similar the memories that it names are to it, by id."""
    found: list[dict[str, float]] = [{} for _ in proposals]
    asking = [i for i, proposal in enumerate(proposals) if proposal.named]
    if not asking:
        return found
    lanes = tuple(
        DenseLane(
            proposals[i].dense,
            len(proposals[i].named),
            MemoryFilter(namespaces=(namespace,), ids=proposals[i].named),
        )
        for i in asking
    )
    answers = yield from ask(Search(MemoryFilter(namespaces=(namespace,)), lanes))
    for i, hits in zip(asking, answers, strict=True):
        found[i] = {hit.memory.id: hit.score for hit in hits}
    return found


def alike_before(proposals: Sequence[Proposal]) -> list[list[tuple[int, float]]]:
    """Return, for each proposal, the earlier ones that may be about the same thing.

    Returns:
        Positions with cosines, nearest first.
    """
    compared = [i for i, proposal in enumerate(proposals) if _is_compared(proposal)]
    alike: list[list[tuple[int, float]]] = [[] for _ in proposals]
    if len(compared) < 2:
        return alike
    import numpy as np  # here, so that importing the facade stays light

    vectors = np.array([proposals[i].dense for i in compared], dtype=np.float32)
    chinese = np.array([is_cjk(proposals[i].memory.content) for i in compared])
    cosines = vectors @ vectors.T
    # As `worth_comparing`, for all pairs at once.
    least = np.array([_least_cosine(proposals[i].memory) for i in compared])
    worth = (cosines >= least[:, None]) | (chinese[:, None] & chinese[None, :])
    for row, i in enumerate(compared):
        near = [
            (compared[column], float(cosines[row, column]))
            for column in np.flatnonzero(worth[row, :row])
        ]
        alike[i] = sorted(near, key=lambda pair: -pair[1])
    return alike


def _is_compared(proposal: Proposal) -> bool:
    return is_statement(proposal.memory) and not proposal.alone


def worth_comparing(new: Memory, known: Memory, cosine: float) -> bool:
    """Whether two statements are near enough to look at their words."""
    return cosine >= _least_cosine(new) or (is_cjk(new.content) and is_cjk(known.content))


def _least_cosine(new: Memory) -> float:
    """Return from which cosine on a known statement is looked at."""
    return RENEWED_COSINE if read_wording(new.content).marks_change else LEAST_COSINE


def cosine_of(first: Vector, second: Vector) -> float:
    """Return the cosine of two unit-length vectors."""
    return float(sum(map(mul, first, second)))
