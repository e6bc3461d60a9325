"""Memories with both their scores for any query, computed once and ranked by many variants.

What a store answers is computed here with numpy: the cosine of every memory, and BM25 with the
IDF over the memories of the namespace that is asked, ln((n − df + ½) / (df + ½) + 1). A variant
then costs what the ranking costs, and not the search.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import DenseLane, Hit, Search, SparseLane, SparseVector, Vector

__all__ = ["Entry", "Floats", "Lanes", "Shelf", "Terms"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it was written.

    Attributes:
        memory: The memory.
        documents: The documents that ended in it.
        before: What was said right before it in the same conversation, `""` for nothing.
    """

    memory: Memory
    documents: tuple[int, ...]
    before: str = ""


@dataclass(frozen=True)
class Shelf:
    """The memories of one namespace, in the order they were stored in.

    Attributes:
        name: Its name, unique in its set.
        namespace: The namespace.
        entries: The memories.
    """

    name: str
    namespace: Namespace
    entries: tuple[Entry, ...]

    @cached_property
    def documents(self) -> Mapping[str, tuple[int, ...]]:
        """The documents of each memory by its id."""
        return {entry.memory.id: entry.documents for entry in self.entries}


class Terms:
    """BM25 over some memories, among which the rarity of a term is counted.

    Args:
        vectors: Their term vectors.
    """

    def __init__(self, vectors: Sequence[SparseVector]) -> None:
        self._count = len(vectors)
        found: dict[int, list[tuple[int, float]]] = {}
        for place, vector in enumerate(vectors):
            for term, value in zip(vector.indices, vector.values, strict=True):
                found.setdefault(term, []).append((place, value))
        self._postings: Mapping[int, tuple[NDArray[np.int64], Floats]] = {
            term: (np.array([p for p, _ in places]), np.array([v for _, v in places]))
            for term, places in found.items()
        }

    def scores(self, asked: SparseVector) -> Floats:
        """Return the score of each memory."""
        scores = np.zeros(self._count)
        for term, weight in zip(asked.indices, asked.values, strict=True):
            if term not in self._postings:
                continue
            places, values = self._postings[term]
            rarity = np.log((self._count - len(places) + 0.5) / (len(places) + 0.5) + 1)
            scores[places] += weight * rarity * values
        return scores


@dataclass(frozen=True, slots=True)
class Lanes:
    """What a store would answer to one query.

    Attributes:
        shelf: The memories.
        vectors: Their vectors, one row each.
        cosines: Their cosines to the query.
        bm25: Their BM25 scores.
        vector: The query's vector.
        terms: The query's terms.
        left_out: Places of memories that are not to be found.
    """

    shelf: Shelf
    vectors: Floats
    cosines: Floats
    bm25: Floats
    vector: Vector
    terms: SparseVector
    left_out: Container[int] = ()
    _orders: dict[str, list[int]] = field(default_factory=dict)

    def answer(self, search: Search) -> tuple[tuple[Hit, ...], ...]:
        """Return one tuple of hits per lane, each hit with both scores.

        Raises:
            TypeError: If a lane is asked for that is neither of meaning nor of words.
        """
        lanes = []
        for lane in search.lanes:
            if isinstance(lane, DenseLane):
                lanes.append(self._best("dense", self.cosines, lane.limit))
            elif isinstance(lane, SparseLane):
                lanes.append(self._best("sparse", self.bm25, lane.limit))
            else:
                raise TypeError(f"{type(lane).__name__} is not computed here")
        return tuple(lanes)

    def _best(self, name: str, scores: Floats, limit: int) -> tuple[Hit, ...]:
        if name not in self._orders:
            order = np.argsort(-scores, kind="stable")
            self._orders[name] = (order[scores[order] > 0] if name == "sparse" else order).tolist()
        found = (place for place in self._orders[name] if place not in self.left_out)
        return tuple([self._hit(place, scores) for place in islice(found, limit)])

    def _hit(self, place: int, scores: Floats) -> Hit:
        memory = self.shelf.entries[place].memory
        return Hit(
            memory, float(scores[place]), (), float(self.cosines[place]), float(self.bm25[place])
        )
