"""Recalls on their way to the journal.

Noting who was given what must not slow the answer, so it waits in memory until the worker,
a reflection or the end comes by. A process that dies before loses the note together with the
unfinished run it belongs to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.locks import ForkSafeLock
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal

__all__ = ["PendingRecall", "PendingRecalls", "access_counts"]


@dataclass(frozen=True, slots=True)
class PendingRecall:
    """What was given to read, to whom and for which query.

    Attributes:
        namespace: Who asked.
        run_id: The run that it was for, `""` if that is not known.
        memories: What was in the brief, best first.
        query: What was asked.
        at: When.
    """

    namespace: Namespace
    run_id: str
    memories: tuple[Memory, ...]
    query: str
    at: datetime


class PendingRecalls:
    """Collects recalls and writes them to the journal when asked to."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = ForkSafeLock()
        self._waiting: list[PendingRecall] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, recall: PendingRecall) -> None:
        """Note a recall."""
        with self._lock:
            self._waiting.append(recall)

    def flush(self) -> list[PendingRecall]:
        """Write everything noted so far and return it; what can't be written stays noted."""
        written: list[PendingRecall] = []
        with self._lock:
            while self._waiting:
                recall = self._waiting[0]
                if recall.run_id:
                    ids = tuple(memory.id for memory in recall.memories)
                    self._journal.record_recall(
                        recall.namespace, recall.run_id, ids, recall.query, now=recall.at
                    )
                written.append(self._waiting.pop(0))
        return written


def access_counts(recalls: list[PendingRecall]) -> Counter[tuple[Namespace, str]]:
    """Return how often each memory was given, by its namespace and id."""
    return Counter(
        (memory.namespace, memory.id) for recall in recalls for memory in recall.memories
    )
