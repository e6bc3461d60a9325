"""LlamaIndex: `VectorMemoryBlock` over its `QdrantVectorStore`, on a local path.

The block refuses `SimpleVectorStore`, which holds no texts. What it stores by itself has no
metadata but the session, so that a store is filled with nodes as it would write them, with the
status beside the session; its session is the namespace. It embeds a message within a tag; the
vector that it gets is that of the message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from qdrant_client import AsyncQdrantClient

from .given import Given, Memory

__all__ = ["DISTRIBUTIONS", "BlockPeer"]

DISTRIBUTIONS = ("llama-index-core", "llama-index-vector-stores-qdrant", "qdrant-client")
BEFORE, AFTER, BETWEEN = "<message role='user'>", "</message>", "\n\n"


class _Embedding(BaseEmbedding):
    _given: Given = PrivateAttr()

    def __init__(self, given: Given) -> None:
        super().__init__(model_name="given")
        self._given = given

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._given.documents([text.removeprefix(BEFORE).removesuffix(AFTER)])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._given.query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class BlockPeer:
    """One collection, a block for each namespace and number of results."""

    def __init__(self, folder: Path, dimension: int, given: Given) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncQdrantClient(path=str(folder / "qdrant"))
        self._vectors = import_module("llama_index.vector_stores.qdrant").QdrantVectorStore(
            collection_name="memories", aclient=self._client
        )
        self._embedding = _Embedding(given)
        self._given = given
        self._blocks: dict[tuple[str, int], VectorMemoryBlock] = {}
        self._places: dict[tuple[str, str], list[int]] = {}

    def fill(self, memories: Sequence[Memory]) -> None:
        """Store the nodes that the block would store, with a status."""
        vectors = self._given.documents([memory["text"] for memory in memories])
        nodes = [
            TextNode(
                text=f"{BEFORE}{memory['text']}{AFTER}",
                metadata={**memory["metadata"], "session_id": memory["namespace"]},
                embedding=vector,
            )
            for memory, vector in zip(memories, vectors, strict=True)
        ]
        self._note(memories)
        self._runner.run(self._vectors.async_add(nodes))

    def store(self, memories: Sequence[Memory]) -> None:
        """Store memories one by one: what is put together would become one text."""
        self._note(memories)
        for memory in memories:
            namespace = memory["namespace"]
            message = ChatMessage(role="user", content=memory["text"])
            self._runner.run(self._block(namespace, 2).aput([message], session_id=namespace))

    def search(self, text: str, namespace: str, k: int) -> list[int]:
        """Return the texts that the block finds, as places."""
        message = ChatMessage(role="user", content=text)
        block = self._block(namespace, k)
        found = self._runner.run(block.aget([message], session_id=namespace))
        return self._read(str(found), namespace)

    def close(self) -> None:
        """Close the client and the loop."""
        self._runner.run(self._client.close())
        self._runner.close()

    def _block(self, namespace: str, k: int) -> VectorMemoryBlock:
        if (namespace, k) not in self._blocks:
            active = MetadataFilter(key="status", value="active")
            self._blocks[namespace, k] = VectorMemoryBlock(
                vector_store=self._vectors,
                embed_model=self._embedding,
                similarity_top_k=k,
                query_kwargs={"filters": MetadataFilters(filters=[active])},
            )
        return self._blocks[namespace, k]

    def _note(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            key = (memory["namespace"], memory["text"].strip())
            self._places.setdefault(key, []).append(memory["place"])

    def _read(self, found: str, namespace: str) -> list[int]:
        """Return the places of the texts; equal texts stand for each other in turn."""
        if not found:
            return []
        inner = found.strip().removeprefix(BEFORE).removesuffix(AFTER)
        seen: dict[str, int] = {}
        places: list[int] = []
        for text in inner.split(AFTER + BETWEEN + BEFORE):
            known = self._places[namespace, text.strip()]
            places.append(known[seen.get(text, 0) % len(known)])
            seen[text] = seen.get(text, 0) + 1
        return places
