"""One embedded engine per folder and process, shared by every store that is opened on it."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import qdrant_edge as qe

from hindsight_core.errors import ClosedError, HindsightError, StoreCorruptError, StoreError
from hindsight_core.store.base import Schema
from hindsight_core.store.edge.kept import KeptMemories
from hindsight_core.store.filters import (
    DATETIME_FIELDS,
    FLOAT_FIELDS,
    KEYWORD_FIELDS,
    TENANT_FIELD,
    WORDS_FIELD,
)
from hindsight_core.store.folder import StoreFolder, check_schema

__all__ = ["Engine", "share", "translated", "unshare"]

_Index: TypeAlias = (
    qe.KeywordIndexParams | qe.DatetimeIndexParams | qe.FloatIndexParams | qe.TextIndexParams
)
_DAMAGE = ("deserialize", "corrupt", "checksum", "decode", "shorter than expected", "invalid wal")


class Engine:
    """The engine of one folder, and the rules for using it from many threads.

    Attributes:
        folder: The folder, locked for this process.
        write_lock: Held by whoever reads, decides and writes in one step.
        kept: Memories read lately, and the count of writes.
        users: How many stores have it open.
    """

    def __init__(self, folder: StoreFolder, shard: qe.EdgeShard) -> None:
        self.folder = folder
        self.write_lock = threading.RLock()
        self.kept = KeptMemories()
        self.users = 0
        self._shard = shard
        self._pid = os.getpid()
        self._idle = threading.Condition()
        self._calls = 0
        self._closed = False

    @contextmanager
    def call(self, what: str) -> Iterator[qe.EdgeShard]:
        """Lend the shard for one operation, which closing waits for.

        Args:
            what: The operation in words, for messages.

        Raises:
            StoreError: If the engine can't do it, or this process is a fork of the one that
                opened it.
            ClosedError: If it was closed.
        """
        self._check_process()
        with self._idle:
            if self._closed:
                raise ClosedError(f"the store at {self.folder.path} was closed; open it again")
            self._calls += 1
        try:
            with translated(what, self.folder.path):
                yield self._shard
        finally:
            with self._idle:
                self._calls -= 1
                if not self._calls:
                    self._idle.notify_all()

    def is_ours(self) -> bool:
        """Whether this process opened it, and is not a fork of the one that did."""
        return os.getpid() == self._pid

    def close(self) -> None:
        """Wait for the operations under way, flush, and give the folder up.

        In a fork there is nothing to give up: files and lock are the parent's.
        """
        if not self.is_ours():
            return
        with self._idle:
            self._closed = True
            self._idle.wait_for(lambda: not self._calls)
        try:
            with translated("closing", self.folder.path):
                self._shard.flush()
                self._shard.close()
            self.folder.seal()
        finally:
            self.folder.release()

    def abandon(self) -> None:
        """Keep the shard in a forked child for ever, so that it is never cleaned up there.

        Its files and threads are the parent's; whatever the engine does when it is dropped, a
        fork has neither to do it with.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._shard))

    def _check_process(self) -> None:
        if not self.is_ours():
            raise StoreError(
                f"the store at {self.folder.path} was opened by process {self._pid}, and this "
                f"is its fork {os.getpid()}; nothing was read or changed. Open stores after "
                "forking, one process at a time, or run a Qdrant server for all of them"
            )


_engines: dict[str, Engine] = {}
_registry = threading.Lock()


def share(path: Path, schema: Schema) -> Engine:
    """Return the engine of the folder at `path`, opening or creating it if need be.

    Raises:
        StoreError: Any of its kinds; see `EdgeStore.open`.
    """
    key = os.path.realpath(path)
    with _registry:
        engine = _engines.get(key)
        if engine is None:
            engine = _opened(Path(key), schema)
            _engines[key] = engine
        else:
            check_schema(engine.folder.schema, schema, key)
        engine.users += 1
        return engine


def unshare(engine: Engine) -> None:
    """Give one use of `engine` back; the last one closes it."""
    if not engine.is_ours():
        return
    with _registry:
        engine.users -= 1
        if engine.users:
            return
        _engines.pop(str(engine.folder.path), None)
        engine.close()


def _after_fork_in_child() -> None:
    global _registry  # the parent's lock may be held for ever here
    _registry = threading.Lock()
    for engine in _engines.values():
        engine.abandon()
    _engines.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


@contextmanager
def translated(what: str, path: Path) -> Iterator[None]:
    """Turn what the engine raises into a `StoreError`; it has no error types of its own."""
    try:
        yield
    except (HindsightError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # A panic in the engine is a BaseException of a class that can't be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = str(error)
        if any(word in said.lower() for word in _DAMAGE):
            raise StoreCorruptError(
                f"{what} failed because files of the store at {path} are damaged ({said}); "
                "restore the folder from a backup"
            ) from error
        raise StoreError(
            f"{what} failed in the store at {path} ({said}); check the disk's room and "
            "permissions and try again"
        ) from error


def _opened(path: Path, schema: Schema) -> Engine:
    folder = StoreFolder.claim(path, schema)
    try:
        shard = _loaded(folder) if folder.ready else _created(folder)
    except BaseException:
        folder.release()
        raise
    return Engine(folder, shard)


def _loaded(folder: StoreFolder) -> qe.EdgeShard:
    try:
        with translated("opening", folder.path):
            shard = qe.EdgeShard.load(str(folder.shard))
    except StoreError as error:
        raise StoreCorruptError(
            f"the store at {folder.path} can't be opened: {error.__cause__}. Nothing was deleted "
            "or made anew; restore the folder from a backup, or use another path"
        ) from error
    return shard


def _created(folder: StoreFolder) -> qe.EdgeShard:
    """Make the engine's files; what a crash left of an earlier attempt holds nothing."""
    with translated("creating", folder.path):
        if folder.shard.exists():
            shutil.rmtree(folder.shard)
        folder.shard.mkdir()
        dense = qe.EdgeVectorParams(folder.schema.dimension, qe.Distance.Cosine)
        sparse = qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)
        shard = qe.EdgeShard.create(
            str(folder.shard),
            qe.EdgeConfig(
                vectors={"dense": dense},
                sparse_vectors={"sparse": sparse},
                # No graph: `optimize` then only merges and vacuums. Building one holds the
                # interpreter lock for seconds, and exact search takes 1 ms for 10,000 points.
                hnsw_config=qe.HnswIndexConfig(0, 100, 10_000),
            ),
        )
        indexes: dict[str, _Index] = {TENANT_FIELD: qe.KeywordIndexParams(is_tenant=True)}
        indexes |= {name: qe.KeywordIndexParams() for name in KEYWORD_FIELDS}
        indexes |= {name: qe.DatetimeIndexParams() for name in DATETIME_FIELDS}
        indexes |= {name: qe.FloatIndexParams() for name in FLOAT_FIELDS}
        spaces = qe.TokenizerType.Whitespace
        indexes[WORDS_FIELD] = qe.TextIndexParams(tokenizer=spaces, lowercase=False)
        for name, params in indexes.items():
            shard.update(qe.UpdateOperation.create_field_index(name, params))
        shard.flush()
    folder.mark_ready()
    return shard
