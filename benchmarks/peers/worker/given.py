"""Embeddings that were made beforehand, and how long handing them out took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

__all__ = ["Given", "Memory", "Peer", "Spent", "spent_on"]

R = TypeVar("R")
Memory = Mapping[str, Any]
"""A memory as the requests say it."""


class Peer(Protocol):
    """A memory of another project, through its public interface."""

    def fill(self, memories: Sequence[Memory]) -> None:
        """Store many memories at once."""

    def store(self, memories: Sequence[Memory]) -> None:
        """Store memories as a user does."""

    def search(self, text: str, namespace: str, k: int) -> list[int]:
        """Return the places of the best `k` active memories of a namespace, best first."""

    def close(self) -> None:
        """Release what is open."""


class Spent:
    """Milliseconds by the clock, and of the processor time of all threads."""

    def __init__(self, wall: float = 0.0, cpu: float = 0.0) -> None:
        self.wall = wall
        self.cpu = cpu


def spent_on(call: Callable[[], R]) -> tuple[R, Spent]:
    """Return what `call` returns and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return answer, Spent((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)


class Given:
    """Hands out embeddings by text.

    Texts are known without the white space around them, which some peers take off.
    """

    def __init__(self) -> None:
        self._vectors: dict[str, dict[str, list[float]]] = {"document": {}, "query": {}}
        self._spent = Spent()

    def read(self, use: str, texts: Path, matrix: Path) -> int:
        """Read the embeddings of documents or queries and return how many there are."""
        rows: list[list[float]] = np.load(matrix).tolist()
        known: list[str] = json.loads(texts.read_text("utf-8"))
        for text, row in zip(known, rows, strict=True):
            self._vectors[use][text.strip()] = row
        return len(rows)

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the embeddings of documents."""
        return self._look_up("document", texts)

    def query(self, text: str) -> list[float]:
        """Return the embedding of a query."""
        return self._look_up("query", [text])[0]

    def take(self) -> Spent:
        """Return what was spent here since it was last asked for."""
        spent, self._spent = self._spent, Spent()
        return spent

    def _look_up(self, use: str, texts: Sequence[str]) -> list[list[float]]:
        found, spent = spent_on(lambda: [self._vectors[use][text.strip()] for text in texts])
        self._spent = Spent(self._spent.wall + spent.wall, self._spent.cpu + spent.cpu)
        return found
