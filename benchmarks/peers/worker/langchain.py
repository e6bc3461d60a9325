"""LangChain: `VectorStoreRetriever` over `QdrantVectorStore`, on a local path."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from qdrant_client import QdrantClient, models

from .embeddings import GivenEmbeddings
from .given import Given, Memory

__all__ = ["DISTRIBUTIONS", "QdrantPeer"]

DISTRIBUTIONS = ("langchain-qdrant", "langchain-core", "qdrant-client")


class QdrantPeer:
    """One collection, the namespace and the status in the metadata of each document."""

    def __init__(self, folder: Path, dimension: int, given: Given) -> None:
        self._client = QdrantClient(path=str(folder / "qdrant"))
        self._client.create_collection(
            "memories", models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        )
        self._vectors = import_module("langchain_qdrant").QdrantVectorStore(
            client=self._client,
            collection_name="memories",
            embedding=GivenEmbeddings(given),
            # It would embed a text of its own, which nobody made an embedding for.
            validate_collection_config=False,
        )

    def fill(self, memories: Sequence[Memory]) -> None:
        """Store many memories at once."""
        self.store(memories)

    def store(self, memories: Sequence[Memory]) -> None:
        """Store memories as one batch of texts."""
        metadata = [
            {**memory["metadata"], "namespace": memory["namespace"], "place": memory["place"]}
            for memory in memories
        ]
        self._vectors.add_texts([memory["text"] for memory in memories], metadata)

    def search(self, text: str, namespace: str, k: int) -> list[int]:
        """Return the best documents of a filter with two keys."""
        wanted = {"metadata.namespace": namespace, "metadata.status": "active"}
        conditions: list[models.Condition] = [
            models.FieldCondition(key=key, match=models.MatchValue(value=value))
            for key, value in wanted.items()
        ]
        retriever = self._vectors.as_retriever(
            search_kwargs={"k": k, "filter": models.Filter(must=conditions)}
        )
        return [int(document.metadata["place"]) for document in retriever.invoke(text)]

    def close(self) -> None:
        """Close the client."""
        self._client.close()
