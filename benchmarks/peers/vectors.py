"""Embeddings handed to the peers in files, and to Hindsight by the same means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.peers.worker.given import Given
from hindsight_core.store.base import Vector

__all__ = ["GivenEmbedder", "Use", "VectorFiles"]

Use: TypeAlias = Literal["document", "query"]


class VectorFiles:
    """Writes embeddings where every peer reads them.

    Args:
        folder: Where to; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._written: list[tuple[Use, Path, Path]] = []

    def write(self, use: Use, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """Write the embeddings of some texts, as 32-bit floats."""
        stem = f"{use}-{len(self._written)}"
        names, matrix = self._folder / f"{stem}.json", self._folder / f"{stem}.npy"
        names.write_text(json.dumps(list(texts)), "utf-8")
        np.save(matrix, np.asarray(vectors, dtype=np.float32))
        self._written.append((use, names, matrix))

    def requests(self) -> Iterator[dict[str, str]]:
        """Yield the requests that have a peer read them all."""
        for use, names, matrix in self._written:
            yield {"op": "vectors", "use": use, "texts": str(names), "matrix": str(matrix)}

    def given(self) -> Given:
        """Read them all here."""
        given = Given()
        for use, names, matrix in self._written:
            given.read(use, names, matrix)
        return given


class GivenEmbedder:
    """A dense embedder for Hindsight over embeddings that were made beforehand."""

    def __init__(self, given: Given, name: str, dimension: int) -> None:
        self._given = given
        self._name = name
        self._dimension = dimension

    @property
    def name(self) -> str:
        """Name of the model that made them."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return the embeddings of documents."""
        return [tuple(vector) for vector in self._given.documents(texts)]

    def embed_query(self, text: str) -> Vector:
        """Return the embedding of a query."""
        return tuple(self._given.query(text))
