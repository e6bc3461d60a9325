"""The two baselines: cosine over the vectors, and BM25; numpy, exact, over all documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.embeddings import KeptEmbedder
from benchmarks.metrics import Ranking, without
from hindsight_core.embedding.base import SparseEmbedder
from hindsight_core.embedding.bm25 import Bm25Embedder

__all__ = ["Bm25", "Dense", "LeaveOneOut", "OthersRanker", "Ranker", "Scorer"]


class Ranker(Protocol):
    """Ranks the documents that it was given."""

    def rank(self, query: str, k: int) -> Ranking:
        """Return the best documents for `query`.

        Args:
            query: The query.
            k: How many are needed; a system that ranks them all may return more.
        """


class Scorer(Protocol):
    """Ranks documents by a score that can be compared between queries."""

    def rank(self, query: str, k: int) -> Ranking:
        """Return the best documents for `query`."""

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the score of each document."""


class OthersRanker(Protocol):
    """Ranks all documents but one."""

    def rank_others(self, own: int, query: str, k: int) -> Ranking:
        """Return the best documents for `query` as if document `own` were not there."""


class LeaveOneOut:
    """A ranking without the document that is asked about."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker

    def rank_others(self, own: int, query: str, k: int) -> Ranking:
        """Return the best documents for `query` as if document `own` were not there."""
        return without(self._ranker.rank(query, k + 1), own)


class Dense:
    """Cosine over the vectors, ties by order of insertion.

    Args:
        texts: The documents.
        embedder: Embeds documents and queries.
    """

    def __init__(self, texts: Sequence[str], embedder: KeptEmbedder) -> None:
        self._embedder = embedder
        self.vectors: NDArray[np.float64] = np.array(embedder.embed_documents(texts))

    def rank(self, query: str, k: int) -> Ranking:
        """Rank all documents."""
        return _ranking(self.scores(query))

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the cosine of each document."""
        cosines: NDArray[np.float64] = self.vectors @ np.array(self._embedder.embed_query(query))
        return cosines


class Bm25:
    """Sparse term vectors, with the IDF that the store multiplies in, over these documents.

    IDF of a term is ln((n − df + ½) / (df + ½) + 1). A document without a term of the query
    scores 0 and comes last, in order of insertion.

    Args:
        texts: The documents.
        embedder: Makes the term vectors.
    """

    def __init__(self, texts: Sequence[str], embedder: SparseEmbedder | None = None) -> None:
        self._embedder = embedder or Bm25Embedder()
        self._count = len(texts)
        self._postings: dict[int, list[tuple[int, float]]] = {}
        for place, vector in enumerate(self._embedder.embed_documents(texts)):
            for term, value in zip(vector.indices, vector.values, strict=True):
                self._postings.setdefault(term, []).append((place, value))

    def rank(self, query: str, k: int) -> Ranking:
        """Rank all documents."""
        return _ranking(self.scores(query))

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the score of each document."""
        scores = np.zeros(self._count)
        asked = self._embedder.embed_query(query)
        for term, weight in zip(asked.indices, asked.values, strict=True):
            postings = self._postings.get(term, [])
            rarity = np.log((self._count - len(postings) + 0.5) / (len(postings) + 0.5) + 1)
            for place, value in postings:
                scores[place] += weight * rarity * value
        return scores


def _ranking(scores: NDArray[np.float64]) -> Ranking:
    order = np.argsort(-scores, kind="stable")
    return {int(document): position for position, document in enumerate(order)}
