"""Ports with a stopwatch: how much of a call is spent in the embedder and in the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.store.base import MemoryStore, StoreOp, StoreStats, Vector

__all__ = ["Spent", "Stopwatch", "TimedEmbedder", "TimedStore", "spent_on"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Spent:
    """Milliseconds that something took.

    Attributes:
        wall: By the clock.
        own: Of the calling thread's processor time, which other programs lengthen less.
    """

    wall: float = 0.0
    own: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.wall + other.wall, self.own + other.own)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.wall - other.wall, self.own - other.own)


def spent_on(call: Callable[[], R]) -> tuple[R, Spent]:
    """Return what `call` returns and what it took."""
    wall, own = time.perf_counter(), time.thread_time()
    answer = call()
    return answer, Spent((time.perf_counter() - wall) * 1e3, (time.thread_time() - own) * 1e3)


@dataclass(slots=True)
class Stopwatch:
    """Adds up what is spent until it is read; used by one thread at a time."""

    spent: Spent = Spent()

    def run(self, call: Callable[[], R]) -> R:
        """Return what `call` returns, and add what it took."""
        answer, spent = spent_on(call)
        self.spent += spent
        return answer

    def take(self) -> Spent:
        """Return what was spent since it was last read."""
        spent, self.spent = self.spent, Spent()
        return spent


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
        return self.watch.run(lambda: self._inner.embed_documents(texts))

    def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        return self.watch.run(lambda: self._inner.embed_query(text))

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
        return self.watch.run(lambda: self._inner.execute(op))

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op`, without timing it."""
        return await self._inner.aexecute(op)

    def stats(self) -> StoreStats:
        """Describe the inner store."""
        return self._inner.stats()

    def close(self) -> None:
        """Close the inner store."""
        self._inner.close()
