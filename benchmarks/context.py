"""What every benchmark is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.embeddings import KeptEmbedder
from hindsight_core.settings import Settings

__all__ = ["Context"]

T = TypeVar("T")


@dataclass(slots=True)
class Context:
    """What every benchmark is given.

    Attributes:
        data: Folder of the data sets.
        embedder: Embeds, for all systems.
        limit: Most cases, `None` for all.
        profiles: Profiles that get rows of their own besides the default.
        notes: What the reader of the table has to know; benchmarks add to it.
    """

    data: Path
    embedder: KeptEmbedder
    limit: int | None = None
    profiles: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def first(self, cases: Sequence[T]) -> Sequence[T]:
        """Return the cases that are asked about."""
        return cases if self.limit is None else cases[: self.limit]

    def system(self, name: str) -> str:
        """Return a row's name, which says so if not all cases were asked."""
        return name if self.limit is None else f"{name} (limit {self.limit})"

    def settings(self, **more: Any) -> dict[str, Any]:
        """Return what the figures depend on, JSON-safe."""
        settings = Settings()
        return {
            "profile": settings.profile,
            "embedding_model": self.embedder.name,
            "dimension": self.embedder.dimension,
            "store": "embedded",
            "limit": self.limit,
            **more,
        }
