"""Where fetched and derived model files live: a folder of the user, filled atomically."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hindsight_core.errors import ModelUnavailableError

__all__ = ["cache_folder", "default_cache_folder", "ensure_folder"]

logger = logging.getLogger(__name__)
NAME = "hindsight-memory"
ATTEMPTS = 5


def default_cache_folder() -> Path:
    """Return the platform's cache folder for Hindsight, without creating it.

    `~/.cache/hindsight-memory`, on macOS `~/Library/Caches/hindsight-memory`, on Windows
    `~/AppData/Local/hindsight-memory`. It is never the temporary folder, which a reboot empties.

    Raises:
        RuntimeError: If there is no home folder.
    """
    place = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path.home() / place / NAME


def cache_folder(configured: Path | None = None) -> Path:
    """Return a folder that can be written to, created if needed.

    Args:
        configured: The folder from the settings, `None` for the platform's own.

    Returns:
        That folder, or, where it can't be written (a read-only home in a container), a private
        temporary one; the log says so once.
    """
    try:
        folder = configured if configured is not None else default_cache_folder()
    except RuntimeError:
        return _temporary_folder("without a home folder")
    if _is_writable(folder):
        return folder
    return _temporary_folder(str(folder))


def ensure_folder(
    target: Path, fill: Callable[[Path], None], is_valid: Callable[[Path], bool]
) -> Path:
    """Return `target` with valid contents, building it if needed.

    Several processes may do this at once: each fills a folder of its own and renames it; the
    first wins and the others take its result. A damaged folder is replaced.

    Args:
        target: The folder.
        fill: Writes the contents into an empty folder.
        is_valid: Whether a folder has the contents wanted.

    Raises:
        ModelUnavailableError: If the folder can't be put in place.
    """
    refusal: OSError | None = None
    for _ in range(ATTEMPTS):
        if is_valid(target):
            return target
        staged = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            _fill(staged, fill)
            staged.rename(target)
        except OSError as exc:
            # Something is there: what another process has just built, or what is damaged.
            refusal = exc
            if not is_valid(target):
                _set_aside(target)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    if is_valid(target):
        return target
    raise ModelUnavailableError(
        f"{target} does not hold valid files{f' ({refusal})' if refusal else ''}; "
        "delete it and try again"
    )


def _fill(folder: Path, fill: Callable[[Path], None]) -> None:
    try:
        fill(folder)
    except OSError as exc:
        raise ModelUnavailableError(f"could not fill {folder}: {exc}") from exc


def _set_aside(target: Path) -> None:
    grave = Path(tempfile.mkdtemp(prefix=f".old-{target.name}-", dir=target.parent))
    with contextlib.suppress(OSError):  # another process was quicker
        target.rename(grave / "old")
    shutil.rmtree(grave, ignore_errors=True)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def _temporary_folder(instead_of: str) -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"{NAME}-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # Somebody else may have made it first; what we load from it must be our own.
        ours = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        ours = False
    if not ours or folder.is_symlink() or not _is_writable(folder):
        folder = Path(tempfile.mkdtemp(prefix=f"{NAME}-"))
    logger.warning(
        "The cache folder %s can't be written; model files go to %s and may be lost. "
        "Set HINDSIGHT_MEMORY_CACHE_DIR to a folder that lasts.",
        instead_of,
        folder,
    )
    return folder
