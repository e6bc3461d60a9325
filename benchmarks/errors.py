"""What can keep a benchmark from running."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DataMissingError", "PeersMissingError"]


class DataMissingError(Exception):
    """A data set is not where it was looked for."""

    def __init__(self, folder: Path, wanted: str) -> None:
        super().__init__(
            f"no data in {folder}: expected {wanted}; pass the folder that holds "
            f"{folder.name}/ with --data"
        )
        self.folder = folder


class PeersMissingError(Exception):
    """The peers can't be run here."""
