"""The folder of an embedded store: who holds it, what it was made with, whether it is ours.

```
<folder>/
  hindsight.json         schema and state, written atomically
  hindsight.lock         locked while a process has the store open; never deleted
  hindsight.holder.json  process that holds the lock, for messages
  hindsight.seal.json    checksums of the engine's files, while the store is properly closed
  shard/                 the engine's files
```

The lock is taken before the engine is touched, because a second process that so much as tries
to open the engine's files breaks the first one's next flush.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hindsight_core.clock import system_clock
from hindsight_core.errors import SchemaMismatchError, StoreCorruptError, StoreLockedError
from hindsight_core.store.base import Schema
from hindsight_core.store.seal import broken_file, checksums

__all__ = ["StoreFolder", "check_schema", "recorded_schema"]

_SIDECAR = "hindsight.json"
_LOCK = "hindsight.lock"
_HOLDER = "hindsight.holder.json"
_SEAL = "hindsight.seal.json"
_SHARD = "shard"
_OURS = "hindsight."
_BACKUP = "Nothing was changed. Restore the folder from a backup, or use another path"


class StoreFolder:
    """The folder of one embedded store, locked for this process until `release`.

    Attributes:
        path: The folder.
        schema: What its vectors were made with.
        ready: Whether the engine's files were completely made; until then they hold nothing.
    """

    def __init__(self, path: Path, schema: Schema, lock: FileLock, *, ready: bool) -> None:
        self.path = path
        self.schema = schema
        self.ready = ready
        self._lock = lock

    @classmethod
    def claim(cls, path: Path, schema: Schema) -> StoreFolder:
        """Lock the folder at `path`, made if need be, and check that it is made for `schema`.

        Raises:
            StoreLockedError: If another process holds it.
            StoreCorruptError: If it is damaged, foreign or can't be written.
            SchemaMismatchError: If it was made for another schema.
        """
        with _as_corrupt(path):
            path.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
            lock = _locked(path)
            try:
                return cls._claimed(path, schema, lock)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def _claimed(cls, path: Path, schema: Schema, lock: FileLock) -> StoreFolder:
        _write_atomically(
            path / _HOLDER,
            {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "started": system_clock().isoformat(timespec="seconds"),
            },
        )
        sidecar = _read_sidecar(path)
        if sidecar is None:
            if (path / _SHARD).exists():
                raise StoreCorruptError(
                    f"the store at {path} has lost its {_SIDECAR}, so nobody knows which "
                    f"embedding model made its vectors. {_BACKUP}"
                )
            folder = cls(path, schema, lock, ready=False)
            folder._record("creating")
            return folder
        recorded, state = sidecar
        check_schema(recorded, schema, str(path))
        if state == "ready" and not (path / _SHARD).is_dir():
            raise StoreCorruptError(f"the store at {path} has lost its {_SHARD} folder. {_BACKUP}")
        _check_seal(path)
        return cls(path, recorded, lock, ready=state == "ready")

    @property
    def shard(self) -> Path:
        """Where the engine keeps its files."""
        return self.path / _SHARD

    def mark_ready(self) -> None:
        """Record that the engine's files are complete."""
        with _as_corrupt(self.path):
            self._record("ready")
        self.ready = True

    def seal(self) -> None:
        """Record what the engine's files look like, once the engine has closed them."""
        with _as_corrupt(self.path):
            _write_atomically(self.path / _SEAL, checksums(self.shard))

    def release(self) -> None:
        """Give the folder up."""
        self._lock.release()

    def _record(self, state: str) -> None:
        schema = self.schema
        _write_atomically(
            self.path / _SIDECAR,
            {
                "store": "hindsight-memory",
                "state": state,
                "model": schema.model,
                "dimension": schema.dimension,
                "format_version": schema.format_version,
            },
        )


def recorded_schema(path: str | os.PathLike[str]) -> Schema | None:
    """Return what the store at `path` was made with, or `None` if there is none yet.

    It reads one small file and takes no lock, so it works while the store is open elsewhere.

    Raises:
        StoreCorruptError: If that file is damaged.
    """
    folder = Path(path)
    with _as_corrupt(folder):
        sidecar = _read_sidecar(folder)
    return None if sidecar is None else sidecar[0]


def check_schema(recorded: Schema, wanted: Schema, location: str) -> None:
    """Refuse to go on when a store was made with something else.

    Raises:
        SchemaMismatchError: Naming both schemas and the way out.
    """
    if recorded == wanted:
        return
    if recorded.format_version != wanted.format_version:
        raise SchemaMismatchError(
            f"the store at {location} has format {recorded.format_version}, this version of "
            f"Hindsight reads format {wanted.format_version}; nothing was changed. Open "
            "it with the version of hindsight-memory that wrote it, or choose another folder or "
            "collection and reflect the runs again"
        )
    raise SchemaMismatchError(
        f"the store at {location} was made with embedding model {recorded.model!r} of "
        f"{recorded.dimension} dimensions, but {wanted.model!r} of {wanted.dimension} dimensions "
        "was asked for; similarities between the two mean nothing, so nothing was changed. "
        f"Open it with {recorded.model!r}, or choose another folder or collection and reflect the "
        "runs again"
    )


def _refuse_foreign(path: Path) -> None:
    names = sorted(entry.name for entry in path.iterdir())
    if _SIDECAR in names or _SHARD in names:
        return
    strange = [name for name in names if not name.startswith(_OURS)]
    if strange:
        raise StoreCorruptError(
            f"the folder {path} is not empty and is no Hindsight store (it holds "
            f"{strange[0]!r}); nothing was changed. Use an empty or a new folder"
        )


def _locked(path: Path) -> FileLock:
    # Whichever thread closes the store gives up what another one took.
    lock = FileLock(path / _LOCK, timeout=0, is_singleton=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise StoreLockedError(
            f"the store at {path} is held by {_holder(path)}; one process at a time can use an "
            "embedded store. Stop that process, give this one another path, or run a Qdrant "
            "server for both (HINDSIGHT_MEMORY_URL). Deleting the lock file does not help"
        ) from None
    return lock


def _holder(path: Path) -> str:
    try:
        holder = json.loads((path / _HOLDER).read_text("utf-8"))
        return f"process {int(holder['pid'])} on host {holder['host']} since {holder['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _read_sidecar(path: Path) -> tuple[Schema, str] | None:
    try:
        text = (path / _SIDECAR).read_text("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _damaged(path, str(error)) from error
    try:
        value = json.loads(text)
        schema = Schema(str(value["model"]), int(value["dimension"]), int(value["format_version"]))
        state = value["state"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from error
    if state not in {"creating", "ready"} or schema.dimension < 1:
        raise _damaged(path, f"state {state!r}, dimension {schema.dimension!r}")
    return schema, state


def _check_seal(path: Path) -> None:
    """Compare the engine's files with the seal, and break it: they are about to change."""
    seal = path / _SEAL
    try:
        expected = json.loads(seal.read_text("utf-8"))
        broken = broken_file(path / _SHARD, expected)
    except FileNotFoundError:
        return
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorruptError(f"the file {seal} is damaged ({error}). {_BACKUP}") from error
    if broken is not None:
        raise StoreCorruptError(
            f"the file {path / _SHARD / broken} was damaged or lost since the store was closed. "
            f"{_BACKUP}"
        )
    seal.unlink()


def _damaged(path: Path, why: str) -> StoreCorruptError:
    return StoreCorruptError(
        f"the file {path / _SIDECAR} is damaged and can't be read ({why}). {_BACKUP}"
    )


def _write_atomically(target: Path, value: dict[str, Any]) -> None:
    draft = target.with_suffix(".tmp")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)


@contextmanager
def _as_corrupt(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreCorruptError(
            f"the store folder {path} can't be used ({reason}); nothing was changed. Check that "
            "it is a folder, that this user may write to it and that the disk has room"
        ) from error
