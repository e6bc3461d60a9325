"""Scores of a query and a text read together, kept on disk between runs."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

__all__ = ["PairScores", "RatePairs"]

RatePairs: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
"""Gives one score for each text beside a query."""


class PairScores:
    """Asks a model only for pairs that it has never seen.

    Args:
        rate: The model.
        name: Its name, under which the scores are kept.
        folder: Where they are kept; made if it is not there.
    """

    def __init__(self, rate: RatePairs, name: str, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.rate = rate
        self.name = name
        self._database = sqlite3.connect(folder / "pair-scores.sqlite3", timeout=60.0)
        with self._database:
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL)"
            )

    def of(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text beside `query`."""
        keys = [self._key(query, text) for text in texts]
        known = {key: row[0] for key in keys if (row := self._read(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            found = dict(zip(missing, self.rate(query, list(missing.values())), strict=True))
            with self._database:
                self._database.executemany(
                    "INSERT OR REPLACE INTO scores VALUES (?, ?)", list(found.items())
                )
            known |= found
        return [known[key] for key in keys]

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _read(self, key: bytes) -> tuple[float] | None:
        found: tuple[float] | None = self._database.execute(
            "SELECT score FROM scores WHERE key = ?", (key,)
        ).fetchone()
        return found

    def _key(self, query: str, text: str) -> bytes:
        parts = "\0".join((self.name, query, text))
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).digest()
