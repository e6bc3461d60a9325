"""Ports with a stopwatch: how much of a call is spent in the embedder and in the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.store.base import MemoryStore, StoreOp, StoreStats, Vector

__all__ = ["Stopwatch", "TimedEmbedder", "TimedStore"]

R = TypeVar("R")


@dataclass(slots=True)
class Stopwatch:
    """Adds up seconds until it is read."""

    seconds: float = 0.0

    def take(self) -> float:
        """Return the seconds since it was last read."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


class TimedEmbedder:
    """A dense embedder that notes the time it takes."""

    def __init__(self, inner: DenseEmbedder) -> None:
        self._inner = inner
        self.watch = Stopwatch()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored."""
        start = time.perf_counter()
        vectors = self._inner.embed_documents(texts)
        self.watch.seconds += time.perf_counter() - start
        return vectors

    def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        start = time.perf_counter()
        vector = self._inner.embed_query(text)
        self.watch.seconds += time.perf_counter() - start
        return vector

    def exceeds_window(self, text: str) -> bool:
        """Whether the model reads only the beginning of `text`."""
        check = getattr(self._inner, "exceeds_window", None)
        return bool(check and check(text))


class TimedStore(MemoryStore):
    """A store that notes the time it takes."""

    def __init__(self, inner: MemoryStore) -> None:
        self._inner = inner
        self.watch = Stopwatch()

    def execute(self, op: StoreOp[R]) -> R:
        """Execute `op`."""
        start = time.perf_counter()
        answer = self._inner.execute(op)
        self.watch.seconds += time.perf_counter() - start
        return answer

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op`."""
        start = time.perf_counter()
        answer = await self._inner.aexecute(op)
        self.watch.seconds += time.perf_counter() - start
        return answer

    def stats(self) -> StoreStats:
        """Describe the inner store."""
        return self._inner.stats()

    def close(self) -> None:
        """Close the inner store."""
        self._inner.close()
