"""The ports to embedders and token counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_core.store.base import SparseVector, Vector

__all__ = ["DenseEmbedder", "SparseEmbedder", "TokenCounter"]


class DenseEmbedder(Protocol):
    """Turns texts into unit-length dense vectors; safe to use from several threads."""

    @property
    def name(self) -> str:
        """Name of the model, stored with the data and compared at open."""

    @property
    def dimension(self) -> int:
        """Width of the vectors."""

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order.

        Raises:
            EmbeddingError: If a text can't be embedded or the reply has another shape.
        """

    def embed_query(self, text: str) -> Vector:
        """Embed one query."""


class SparseEmbedder(Protocol):
    """Turns texts into sparse vectors for BM25 with an IDF modifier in the store."""

    def embed_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        """Embed texts to be stored, in order."""

    def embed_query(self, text: str) -> SparseVector:
        """Embed one query; its values are how much each of its terms weighs."""

    def content_terms(self, text: str) -> frozenset[int]:
        """Return the terms of a text that say what it is about: no stop words."""


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, an over-estimate where it is not exact."""
