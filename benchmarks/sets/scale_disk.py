"""Where the bytes of an embedded store lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

__all__ = ["bytes_by_part", "filesystem_of"]

PARTS = {
    "vector_storage-dense": "dense",
    "vector_index-dense": "dense",
    "vector_storage-sparse": "bm25",
    "vector_index-sparse": "bm25",
    "payload_storage": "payload",
    "payload_index": "indexes",
    "wal": "log",
}
"""What the engine's folders hold: dense vectors, BM25 vectors, payload, its indexes, and the last
writes; the rest is mostly ids and versions."""
MOUNTS = Path("/proc/mounts")


def bytes_by_part(store: Path) -> Mapping[str, int]:
    """Return what the files below `store` take on the disk, in bytes, by what they hold.

    Counted are the blocks that are in use: the engine makes files larger than what is in them.
    """
    found: Counter[str] = Counter()
    for path in store.rglob("*"):
        if path.is_file():
            names = (PARTS[name] for name in path.relative_to(store).parts if name in PARTS)
            found[next(names, "rest")] += _taken(path)
    return found


def filesystem_of(folder: Path) -> str:
    """Return the kind of the file system that `folder` is on, `""` where it is not told."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    kinds = {mount: kind for _, mount, kind, *_ in (line.split(" ") for line in lines)}
    above = (str(path) for path in (folder.resolve(), *folder.resolve().parents))
    return next((kinds[path] for path in above if path in kinds), "")


def _taken(path: Path) -> int:
    status = path.stat()
    blocks: int | None = getattr(status, "st_blocks", None)
    return status.st_size if blocks is None else blocks * 512
