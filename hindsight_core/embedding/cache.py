"""Query embeddings kept in memory: an agent asks the same thing more than once in a turn."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.vectors import usable_text
from hindsight_core.store.base import Vector

__all__ = ["CacheCounts", "CachedQueries"]


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """How a cache did.

    Attributes:
        hits: Queries answered from the cache.
        misses: Queries that the embedder was asked for.
        size: Vectors held now.
    """

    hits: int
    misses: int
    size: int


class CachedQueries:
    """A dense embedder that remembers the vectors of its last queries.

    Documents pass through. Safe to use from several threads; two that ask the same thing at
    once may both reach the embedder.

    Args:
        inner: The embedder.
        size: Vectors to keep, least recently used dropped first; 0 keeps none.
    """

    def __init__(self, inner: DenseEmbedder, size: int) -> None:
        self._inner = inner
        self._size = max(size, 0)
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._hits = 0
        self._misses = 0
        self._lock = threading.Lock()
        _caches.add(self)

    @property
    def inner(self) -> DenseEmbedder:
        """The embedder behind the cache."""
        return self._inner

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._inner.dimension

    @property
    def counts(self) -> CacheCounts:
        """Hits, misses and size so far."""
        with self._lock:
            return CacheCounts(self._hits, self._misses, len(self._vectors))

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order; nothing is kept."""
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of `text`, from the cache where it is there.

        Raises:
            EmbeddingError: If the text is blank, before the embedder is asked, or if the
                embedder fails; a failure is not kept.
        """
        usable = usable_text(text)
        with self._lock:
            known = self._vectors.get(usable)
            if known is not None:
                self._vectors.move_to_end(usable)
                self._hits += 1
                return known
            self._misses += 1
        vector = self._inner.embed_query(usable)
        with self._lock:
            self._vectors[usable] = vector
            self._vectors.move_to_end(usable)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector

    def exceeds_window(self, text: str) -> bool:
        """Whether the embedder is known to read only the beginning of `text`.

        Raises:
            ModelUnavailableError: If it has to load a model that is not at hand.
        """
        check = getattr(self._inner, "exceeds_window", None)
        return check is not None and bool(check(text))

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()


_caches: weakref.WeakSet[CachedQueries] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for cache in list(_caches):
        cache._renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
