"""Checksums of a closed store's files, so that damage is found before the engine reads them.

The engine trusts its files: a damaged table of ids can make it lose memories without a word,
or ask for so much room that the whole process dies. So whoever closes a store writes down what
its files look like, and whoever opens it compares first. A store whose process was killed has
no such seal and is opened as it is.
"""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["broken_file", "checksums"]

_END = 2**16
"""Bytes at each end of a file that are read; the engine lays most files out in large pages."""

_WHOLE = "id_tracker"
"""Part of the names of the files that say which memories there are; they are read whole."""


def checksums(folder: Path) -> dict[str, list[int]]:
    """Return size and CRC-32 of every file under `folder`, by relative path.

    Of large files only the first and the last 64 KiB are read, to open a large store quickly;
    but those that say which memories there are, are read whole.
    """
    return {
        path.relative_to(folder).as_posix(): _checksum(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def broken_file(folder: Path, expected: dict[str, list[int]]) -> str | None:
    """Return the first file that is not as `expected` or is missing, `None` if all are well."""
    for name, checksum in sorted(expected.items()):
        path = folder / name
        if not path.is_file() or _checksum(path) != list(checksum):
            return name
    return None


def _checksum(path: Path) -> list[int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= 2 * _END or _WHOLE in path.name:
            return [size, zlib.crc32(file.read())]
        crc = zlib.crc32(file.read(_END))
        file.seek(-_END, 2)
        return [size, zlib.crc32(file.read(_END), crc)]
