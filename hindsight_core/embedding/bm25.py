"""Sparse vectors for BM25, from the tokenizer inside Qdrant's own engine."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hindsight_core.embedding.vectors import well_formed
from hindsight_core.errors import EmbeddingError, MissingExtraError
from hindsight_core.store.base import SparseVector

__all__ = ["MAX_CHARACTERS", "Bm25Embedder", "is_question"]

MAX_CHARACTERS = 200_000
"""Characters of one text that are read; of a longer one, the first and the last half of these."""

SATURATION = 0.4
"""k of BM25: memories are short, a second mention says little. Library default: 1.2."""
LENGTH_NORMALIZATION = 0.75
"""b of BM25."""
AVERAGE_LENGTH = 48.0
"""Terms of a typical memory. Library default: 256, the length of a document."""
CACHED_TEXTS = 2_048
"""Texts whose content terms are kept."""
STOP_WORD_WEIGHT = 0.2
"""What a stop word of a question weighs; flat from 0 to .2."""


class Bm25Embedder:
    """Turns texts into BM25 term vectors; needs no download and no language setting.

    Chinese and Japanese are segmented, English is stemmed, anything else is split into words.
    A document's values are its saturated term frequencies, tf · (k + 1) / (tf + k · (1 − b +
    b · length / average length)), by which the store multiplies IDF. Stop words are kept: what
    they weigh is up to the query, in which a term's value is 1, or less if it is a stop word of
    a question ("what did … do" says nothing about the memory, while the words of a stated task
    are its template). A text without terms gives an empty vector.

    ```python
    Bm25Embedder().embed_query("reading CSV files")
    ```
    """

    def __init__(self) -> None:
        self._models: tuple[Any, Any] | None = None
        # A pure function of the text: the same memories come up again and again.
        self._content_terms = lru_cache(CACHED_TEXTS)(self._read_content_terms)

    def embed_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        """Embed texts to be stored, in order.

        Raises:
            EmbeddingError: If a text is not a string or the engine refuses it.
            MissingExtraError: If the engine is not installed on this platform.
        """
        return [self._embed(text, "embed_document") for text in texts]

    def embed_query(self, text: str) -> SparseVector:
        """Embed one query.

        Raises:
            EmbeddingError: If the text is not a string or the engine refuses it.
            MissingExtraError: If the engine is not installed on this platform.
        """
        every = self._embed(text, "embed_query")
        if not every.indices or not is_question(text):
            return every
        content = self.content_terms(text) or frozenset(every.indices)
        weights = (1.0 if term in content else STOP_WORD_WEIGHT for term in every.indices)
        return SparseVector(every.indices, tuple(weights))

    def content_terms(self, text: str) -> frozenset[int]:
        """Return the terms of `text` without stop words.

        Raises:
            EmbeddingError: If the text is not a string or the engine refuses it.
            MissingExtraError: If the engine is not installed on this platform.
        """
        return self._content_terms(text)

    def _read_content_terms(self, text: str) -> frozenset[int]:
        return frozenset(self._embed(text, "embed_document", content_only=True).indices)

    def _embed(self, text: str, method: str, *, content_only: bool = False) -> SparseVector:
        if not isinstance(text, str):
            raise EmbeddingError(f"expected a string, got {type(text).__name__}")
        if not text.strip():
            return SparseVector()
        try:
            model = self._load()[content_only]
            vector = getattr(model, method)(_bounded(well_formed(text)))
        except MissingExtraError:
            raise
        except Exception as exc:  # the engine raises bare exceptions
            raise EmbeddingError(f"BM25 could not read {text[:60]!r}: {exc}") from exc
        return SparseVector(indices=tuple(vector.indices), values=tuple(vector.values))

    def _load(self) -> tuple[Any, Any]:
        # No lock: two threads may build them at once, which is harmless, and a child forked
        # meanwhile has none to wait for.
        models = self._models
        if models is None:
            models = self._models = _open_models()
        return models


def is_question(text: str) -> bool:
    """Whether `text` ends in a question mark of any script."""
    return text.rstrip().endswith(("?", "？", "؟"))


def _open_models() -> tuple[Any, Any]:
    """Return the model that keeps stop words and the one that leaves them out."""
    try:
        engine = importlib.import_module("qdrant_edge")
    except ImportError as exc:
        raise MissingExtraError(
            "qdrant-edge-py is not installed, and BM25 vectors come from it; run "
            'pip install "qdrant-edge-py>=0.9,<0.10" (it has wheels for Linux, macOS and Windows)'
        ) from exc
    common = {
        "k": SATURATION,
        "b": LENGTH_NORMALIZATION,
        "avg_len": AVERAGE_LENGTH,
        "tokenizer": engine.TokenizerType.Multilingual,
        "language": "english",
    }
    none = engine.StopwordsSet(languages=set(), custom=set())
    keeping = engine.Bm25(engine.Bm25Config(**common, stopwords=none))
    return keeping, engine.Bm25(engine.Bm25Config(**common))


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"
