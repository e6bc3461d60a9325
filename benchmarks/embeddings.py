"""Embeddings kept on disk between runs, the same for every system of a run."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.progress import track
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.store.base import Vector

__all__ = ["KeptEmbedder", "default_cache"]

BATCH = 64
"""Texts that are embedded and kept at once, so that a run that is stopped loses little."""


def default_cache() -> Path:
    """Return the folder for embeddings in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hindsight-memory" / "benchmarks"


class KeptEmbedder:
    """A dense embedder that asks another one only for what it has never seen.

    Vectors are kept as 32-bit floats under the name of the model, the use (document or query)
    and the SHA-256 of the text. Safe to use from several threads and processes.

    Args:
        inner: The embedder.
        folder: Where the vectors are kept; made if it is not there.
    """

    def __init__(self, inner: DenseEmbedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.inner = inner
        self.folder = folder
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            folder / "embeddings.sqlite3", check_same_thread=False, timeout=60.0
        )
        with self._database:
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)"
            )

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.inner.name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self.inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order."""
        keys = [self._key("document", text) for text in texts]
        found = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            vectors = self.inner.embed_documents(list(missing.values()))
            found |= self._keep(dict(zip(missing, vectors, strict=True)))
        return [found[key] for key in keys]

    def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        key = self._key("query", text)
        found = self._read([key])
        return found[key] if found else self._keep({key: self.inner.embed_query(text)})[key]

    def exceeds_window(self, text: str) -> bool:
        """Whether the model reads only the beginning of `text`."""
        check = getattr(self.inner, "exceeds_window", None)
        return bool(check and check(text))

    def documents(self, texts: Sequence[str], what: str) -> list[Vector]:
        """Embed many texts in batches, shortest first, with a progress bar.

        Args:
            texts: The texts.
            what: What they are, for the bar.
        """
        missing = self._missing("document", texts)
        starts = range(0, len(missing), BATCH)
        for start in track(starts, f"embedding {what}") if missing else ():
            self.embed_documents(missing[start : start + BATCH])
        return self.embed_documents(texts)

    def queries(self, texts: Sequence[str], what: str) -> list[Vector]:
        """Embed many queries one by one, with a progress bar."""
        missing = self._missing("query", texts)
        for text in track(missing, f"embedding {what}") if missing else ():
            self.embed_query(text)
        return [self.embed_query(text) for text in texts]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _missing(self, use: str, texts: Sequence[str]) -> list[str]:
        keys = {self._key(use, text): text for text in texts}
        found = self._read(list(keys))
        return sorted((text for key, text in keys.items() if key not in found), key=len)

    def _key(self, use: str, text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.name}\n{use}\n{digest}"

    def _read(self, keys: Sequence[str]) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        wanted = list(dict.fromkeys(keys))
        with self._lock:
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = self._database.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part
                )
                found |= {key: tuple(array("f", vector)) for key, vector in rows}
        return found

    def _keep(self, vectors: dict[str, Vector]) -> dict[str, Vector]:
        """Keep `vectors`, and return them as they will be read."""
        packed = {key: array("f", vector) for key, vector in vectors.items()}
        rows = [(key, vector.tobytes()) for key, vector in packed.items()]
        with self._lock, self._database:
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        return {key: tuple(vector) for key, vector in packed.items()}
