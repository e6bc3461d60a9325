"""mem0: `Memory` with `infer=False` over its default store, Qdrant, on a local path.

No model is ever asked: `infer=False` leaves it out when memories are added, and search has none.
The vendor's clients that it wants to make are given a place where nobody listens, and its
embedder is replaced by one of its own interface before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .given import Given, Memory

__all__ = ["DISTRIBUTIONS", "Mem0Peer"]

DISTRIBUTIONS = ("mem0ai", "qdrant-client", "protobuf")
NOWHERE = {"api_key": "unused", "openai_base_url": "http://127.0.0.1:9"}


class Mem0Peer:
    """One collection, the namespace as the user and the status in the metadata."""

    def __init__(self, folder: Path, dimension: int, given: Given) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder / "home")
        store = {"path": str(folder / "qdrant"), "embedding_model_dims": dimension}
        self._memory: Any = import_module("mem0").Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"collection_name": "memories", **store},
                },
                "llm": {"provider": "openai", "config": NOWHERE},
                "embedder": {
                    "provider": "openai",
                    "config": {**NOWHERE, "embedding_dims": dimension},
                },
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _embedding(given)

    def fill(self, memories: Sequence[Memory]) -> None:
        """Store many memories."""
        self.store(memories)

    def store(self, memories: Sequence[Memory]) -> None:
        """Store memories one by one, each as a message of the user."""
        for memory in memories:
            self._memory.add(
                [{"role": "user", "content": memory["text"]}],
                user_id=memory["namespace"],
                metadata={**memory["metadata"], "place": memory["place"]},
                infer=False,
            )

    def search(self, text: str, namespace: str, k: int) -> list[int]:
        """Return the best memories of a user and a status."""
        filters = {"user_id": namespace, "status": "active"}
        found = self._memory.search(text, filters=filters, top_k=k)
        return [int(result["metadata"]["place"]) for result in found["results"]]

    def close(self) -> None:
        """Close the memory and the client of its store."""
        self._memory.close()
        self._memory.vector_store.client.close()


def _embedding(given: Given) -> Any:
    base: Any = import_module("mem0.embeddings.base").EmbeddingBase

    def embed(self: Any, text: str, memory_action: str | None = None) -> list[float]:
        return given.query(text) if memory_action == "search" else given.documents([text])[0]

    return type("GivenEmbedding", (base,), {"embed": embed})()
