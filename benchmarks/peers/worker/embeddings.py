"""The given embeddings in LangChain's form, which LangGraph takes as well."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from .given import Given

__all__ = ["GivenEmbeddings"]


class GivenEmbeddings(Embeddings):
    """Embeds nothing: looks up what it was given."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts that are stored."""
        return self._given.documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self._given.query(text)
