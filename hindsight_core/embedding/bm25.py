"""Sparse vectors for BM25, from the tokenizer inside Qdrant's own engine."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

from hindsight_core.embedding.vectors import well_formed
from hindsight_core.errors import EmbeddingError, MissingExtraError
from hindsight_core.store.base import SparseVector

__all__ = ["MAX_CHARACTERS", "Bm25Embedder"]

MAX_CHARACTERS = 200_000
"""Characters of one text that are read; of a longer one, the first and the last half of these."""


class Bm25Embedder:
    """Turns texts into BM25 term vectors; needs no download and no language setting.

    Chinese and Japanese are segmented, English is stemmed and loses its stop words, anything
    else is split into words. A document's values are its saturated term frequencies (k = 1.2,
    b = 0.75, average length 256 terms, Qdrant's own constants), a query's are 1; the store
    multiplies by IDF.
    A text without terms (blank, punctuation, stop words only) gives an empty vector.

    ```python
    Bm25Embedder().embed_query("reading CSV files")
    ```
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

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
        return self._embed(text, "embed_query")

    def _embed(self, text: str, method: str) -> SparseVector:
        if not isinstance(text, str):
            raise EmbeddingError(f"expected a string, got {type(text).__name__}")
        if not text.strip():
            return SparseVector()
        try:
            vector = getattr(self._load(), method)(_bounded(well_formed(text)))
        except MissingExtraError:
            raise
        except Exception as exc:  # the engine raises bare exceptions
            raise EmbeddingError(f"BM25 could not read {text[:60]!r}: {exc}") from exc
        return SparseVector(indices=tuple(vector.indices), values=tuple(vector.values))

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = _open_model()
            return self._model


def _open_model() -> Any:
    try:
        engine = importlib.import_module("qdrant_edge")
    except ImportError as exc:
        raise MissingExtraError(
            "qdrant-edge-py is not installed, and BM25 vectors come from it; run "
            'pip install "qdrant-edge-py>=0.9,<0.10" (it has wheels for Linux, macOS and Windows)'
        ) from exc
    tokenizer = engine.TokenizerType.Multilingual
    return engine.Bm25(engine.Bm25Config(tokenizer=tokenizer, language="english"))


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    half = MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"
