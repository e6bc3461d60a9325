"""What can keep a benchmark from running."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DataMissingError", "FiguresError", "PeersMissingError", "PicturesError"]


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


class FiguresError(Exception):
    """A file is not there, or not what `--json` wrote."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} gives no figures ({reason}); pass a file that "
            "`python -m benchmarks NAME --data DIR --json FILE` wrote"
        )
        self.path = path


class PicturesError(Exception):
    """Pictures can't be drawn here."""

    def __init__(self) -> None:
        super().__init__(
            "matplotlib is not installed, which draws the pictures; run "
            'pip install "hindsight-memory[bench]", or leave them out with --no-pictures'
        )
