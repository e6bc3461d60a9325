"""Hindsight, through its public API, with the default profile and settings."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.embeddings import KeptEmbedder
from benchmarks.loaders.questions import Document
from benchmarks.metrics import Ranking
from benchmarks.progress import track
from hindsight_core import Hindsight
from hindsight_core.models import Evidence, Memory, Reflection
from hindsight_core.options import StoreOptions
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.settings import Settings
from hindsight_core.trajectory import Trajectory

__all__ = [
    "MOST_RESULTS",
    "HindsightStore",
    "Merged",
    "Stored",
    "StoredRuns",
    "all_memories",
    "as_memory",
    "left_out",
]

MOST_RESULTS = 1_000
"""Most results that `retrieve` gives."""
_OPTIONS = sorted((StoreOptions.__optional_keys__ | {"content"}) - {"memory_id"})
"""Fields of a memory that `store` takes."""


@dataclass(slots=True)
class Merged:
    """What became of documents that did not stay memories of their own.

    Attributes:
        same: Documents that were taken for another one said again.
        superseded: Documents that a newer one replaced.
    """

    same: int = 0
    superseded: int = 0

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.same} merged into an equal one, {self.superseded} superseded at write"


@dataclass(slots=True)
class Stored:
    """Documents in one namespace, by the memories that they ended in."""

    memory: Hindsight
    places: dict[str, list[int]] = field(default_factory=dict)
    ended: list[Memory] = field(default_factory=list)

    def rank(self, query: str, k: int) -> Ranking:
        """Return the documents behind the best `k` memories."""
        return {
            document: position
            for position, result in enumerate(self.memory.retrieve(query, top_k=k))
            for document in self.places.get(result.memory.id, ())
        }

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return how strongly each document contradicts `query`, 0 for what is not found."""
        scores = np.zeros(len(self.ended))
        most = min(MOST_RESULTS, len(self.ended))
        for found in self.memory.contradictions(query, top_k=most, least=0.0):
            scores[self.places.get(found.memory.id, [])] = found.score
        return scores

    def relevances(self, query: str) -> NDArray[np.float64]:
        """Return the absolute relevance of each document, 0 for what is not found."""
        scores = np.zeros(len(self.ended))
        for result in self.memory.retrieve(query, top_k=min(MOST_RESULTS, len(self.ended))):
            scores[self.places.get(result.memory.id, [])] = result.relevance
        return scores

    def rank_others(self, own: int, query: str, k: int) -> Ranking:
        """Return the best documents for `query` as if document `own` were not stored."""
        with left_out(self.memory, [self.ended[own]]):
            return self.rank(query, k)


@dataclass(slots=True)
class StoredRuns:
    """Runs that were reflected on, in one namespace."""

    memory: Hindsight
    places: dict[str, int] = field(default_factory=dict)
    lessons: dict[int, list[Memory]] = field(default_factory=dict)

    beside: list[int] = field(default_factory=list)

    def rank_others(self, own: int, query: str, k: int) -> Ranking:
        """Return the runs whose episodes are found for `query`, as if run `own` never was.

        What else was learned stands in another part of a brief; it holds no place here, and
        how much of it is among the first five is noted in `beside`.
        """
        with left_out(self.memory, self.lessons.get(own, ())):
            found = [result.memory for result in self.memory.retrieve(query, top_k=2 * k)]
        episodes = [memory for memory in found if memory.category == "experience"]
        self.beside.append(sum(memory.category != "experience" for memory in found[:5]))
        return {
            self.places[memory.evidence[0].run_id]: position
            for position, memory in enumerate(episodes[:k])
        }


@contextmanager
def left_out(memory: Hindsight, lessons: Iterable[Memory]) -> Iterator[None]:
    """Forget `lessons` for a while and store them again as they were."""
    known = list(lessons)
    for lesson in known:
        memory.forget(lesson.id)
    try:
        yield
    finally:
        memory.store_many([_as_stored(lesson) for lesson in known])


def _as_stored(memory: Memory) -> dict[str, Any]:
    """Return what `store` takes to make `memory` again."""
    options = {name: getattr(memory, name) for name in _OPTIONS}
    given = {name: value for name, value in options.items() if value is not None}
    return {**given, "memory_id": memory.id}


class HindsightStore:
    """An open memory in a folder of its own that is removed at the end.

    Its clock stands at the latest event that was stored, so that a run repeats exactly.

    Args:
        embedder: Embeds documents and queries.
        model: A reflection model, if runs are to be reflected on with one.
        profile: The profile or its name, by default the one that everybody gets.
    """

    def __init__(
        self, embedder: KeptEmbedder, *, model: Any = None, profile: str | Profile = ""
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hindsight-benchmark-")
        self._now = datetime(2024, 6, 1, tzinfo=UTC)
        self.merged = Merged()
        named = profile if isinstance(profile, str) else ""
        self.memory = Hindsight.open(
            Path(self._folder.name),
            namespace="benchmark",
            settings=Settings(profile=named) if named else Settings(),
            profile=profile if isinstance(profile, Profile) else None,
            embedder=embedder,
            model=model,
            clock=lambda: self._now,
        )

    @property
    def now(self) -> datetime:
        """What the clock shows."""
        return self._now

    def store(self, name: str, documents: Sequence[Document]) -> Stored:
        """Store `documents` in a namespace of their own, with a progress bar."""
        self.advance(max(document.event_time for document in documents))
        items = [as_memory(document, place) for place, document in enumerate(documents)]
        return self.store_items(name, items)

    def store_items(self, name: str, items: Sequence[dict[str, Any]]) -> Stored:
        """Store memories that have the ids `0`, `1`, … in order."""
        stored = Stored(self.memory.scoped(("benchmark", name)))
        ended: list[Memory] = []
        for start in track(range(0, len(items), 64), f"storing {name}"):
            ended += stored.memory.store_many(items[start : start + 64])
        stored.ended = ended
        for place, memory in enumerate(ended):
            stored.places.setdefault(memory.id, []).append(place)
            self.merged.same += memory.id != str(place)
        self.merged.superseded += stored.memory.stats().by_status.get("superseded", 0)
        return stored

    def reflect(self, name: str, runs: Sequence[Trajectory]) -> StoredRuns:
        """Reflect on `runs` in order, a minute apart, with a progress bar."""
        stored = StoredRuns(self.memory.scoped(("benchmark", name)))
        for place, run in enumerate(track(runs, f"reflecting on {name}")):
            self.reflect_one(stored.memory, run)
            stored.places[run.run_id] = place
        for memory in all_memories(stored.memory):
            taught_by = {stored.places[evidence.run_id] for evidence in memory.evidence}
            if len(taught_by) == 1:
                stored.lessons.setdefault(taught_by.pop(), []).append(memory)
        return stored

    def reflect_one(self, memory: Hindsight, run: Trajectory) -> Reflection:
        """Reflect on one more run, a minute after the last.

        Raises:
            RuntimeError: If reflection failed, which would make every figure meaningless.
        """
        self._now += timedelta(minutes=1)
        reflection = memory.reflect(run)
        if reflection.status == "failed":
            raise RuntimeError(f"reflection on {run.run_id} failed: {reflection.reason}")
        return reflection

    def advance(self, moment: datetime) -> None:
        """Set the clock to `moment`, never back."""
        self._now = max(self._now, moment)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.memory.close()
        self._folder.cleanup()


def all_memories(memory: Hindsight) -> Iterator[Memory]:
    """Yield all active memories of a namespace."""
    cursor: str | None = None
    while True:
        page = memory.list(limit=500, cursor=cursor)
        yield from page.memories
        cursor = page.cursor
        if cursor is None:
            return


def as_memory(document: Document, place: int) -> dict[str, Any]:
    """Return what `store_many` takes for a document."""
    item: dict[str, Any] = {
        "content": document.text,
        "memory_id": str(place),
        "event_time": document.event_time,
    }
    if document.session:
        item["evidence"] = (Evidence(document.session, (document.position,)),)
    return item
