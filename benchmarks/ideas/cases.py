"""What is asked: the quality sets as memories, cases and a judge of each ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from benchmarks.ideas.collection import Entry, Shelf
from benchmarks.metrics import Ranking
from benchmarks.systems.hindsight import Stored, all_memories
from hindsight_core.models import Retrieved

__all__ = ["Case", "IdeaSet", "Judge", "ranking_of", "shelf_of"]

Judge: TypeAlias = Callable[[Ranking], Mapping[str, float]]
"""Figures of one case by metric, from the positions of documents."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    Attributes:
        query: The question.
        shelf: Name of the shelf that it is asked of.
        judge: Judges the ranking.
        left_out: Ids of memories that are not to be found.
    """

    query: str
    shelf: str
    judge: Judge
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class IdeaSet:
    """One quality set.

    Attributes:
        name: The benchmark that it is the set of.
        shelves: The memories.
        cases: The questions.
        top_k: Results that are asked for.
        now: When it is asked.
    """

    name: str
    shelves: tuple[Shelf, ...]
    cases: tuple[Case, ...]
    top_k: int
    now: datetime


def shelf_of(name: str, stored: Stored, before: Sequence[str] = ()) -> Shelf:
    """Return the active memories of a namespace that documents were stored in.

    Args:
        name: Name of the namespace.
        stored: The documents.
        before: For each document, what was said right before it.
    """
    found = {memory.id: memory for memory in all_memories(stored.memory)}
    entries = [
        Entry(memory, tuple(places), before[places[0]] if before else "")
        for memory_id, places in stored.places.items()
        if (memory := found.get(memory_id)) is not None
    ]
    return Shelf(name, stored.memory.namespace, tuple(entries))


def ranking_of(shelf: Shelf, results: Sequence[Retrieved]) -> Ranking:
    """Return the positions of documents; memories without a document hold no place."""
    ranking: dict[int, int] = {}
    position = 0
    for result in results:
        found = shelf.documents.get(result.memory.id, ())
        for document in found:
            ranking.setdefault(document, position)
        position += bool(found)
    return ranking
