"""LangGraph: `InMemoryStore` with an index over the text; nothing of it outlives the process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from langgraph.store.memory import InMemoryStore

from .embeddings import GivenEmbeddings
from .given import Given, Memory

__all__ = ["DISTRIBUTIONS", "StorePeer"]

DISTRIBUTIONS = ("langgraph", "langgraph-checkpoint", "langchain-core")


class StorePeer:
    """A namespace of the store for each namespace, the status in the value."""

    def __init__(self, folder: Path, dimension: int, given: Given) -> None:
        self._store = InMemoryStore(
            index={"dims": dimension, "embed": GivenEmbeddings(given), "fields": ["text"]}
        )

    def fill(self, memories: Sequence[Memory]) -> None:
        """Store many memories."""
        self.store(memories)

    def store(self, memories: Sequence[Memory]) -> None:
        """Store memories one by one; a batch may not hold a text twice."""
        for memory in memories:
            value = {**memory["metadata"], "text": memory["text"]}
            self._store.put(("benchmark", memory["namespace"]), str(memory["place"]), value)

    def search(self, text: str, namespace: str, k: int) -> list[int]:
        """Return the best items of a namespace and a status."""
        found = self._store.search(
            ("benchmark", namespace), query=text, filter={"status": "active"}, limit=k
        )
        return [int(item.key) for item in found]

    def close(self) -> None:
        """Nothing is open."""
