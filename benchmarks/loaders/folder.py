"""Finding and parsing the files of a data set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.errors import DataMissingError

__all__ = ["files_of", "json_lines", "json_of"]


def files_of(folder: Path, pattern: str) -> list[Path]:
    """Return the files in `folder` that match, by name, numbers in order of their value.

    Raises:
        DataMissingError: If there is none.
    """
    found = sorted(folder.glob(pattern), key=_natural) if folder.is_dir() else []
    if not found:
        raise DataMissingError(folder, pattern)
    return found


def json_of(path: Path) -> Any:
    """Return the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def json_lines(path: Path) -> Iterator[Any]:
    """Yield the value of each line that is not blank."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _natural(path: Path) -> tuple[tuple[int, int, str], ...]:
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for name in path.parts
        for part in name.split(".")
    )
