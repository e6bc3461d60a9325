"""The journal's SQLite file: opening it safely, and transactions that several processes share.

One connection per process behind a lock, in WAL mode, so that a commit that returned survives
a kill, and with `sync` a power cut as well. Writes are short `BEGIN IMMEDIATE`
transactions and wait for other processes.

SQLite connections must not cross a fork: the child would believe that it holds file locks
which only the parent has, and the parent could remove the write-ahead log under it. So every
connection is closed right before a fork, and parent and child reopen their own when needed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hindsight_core.errors import ClosedError, JournalError
from hindsight_core.runs.journal_schema import APPLICATION_ID, FORMAT_VERSION, SCHEMA

__all__ = ["JournalFile"]

R = TypeVar("R")

BUSY_SECONDS = 5.0
"""How long one attempt waits for another process's transaction."""

WRITE_ATTEMPTS = 3
"""Attempts before a busy journal becomes an error."""

CHECKED_BYTES = 8 * 2**20
"""Files up to this size are checked as a whole at open; larger ones as they are read."""

_REMEDIES = {
    "SQLITE_NOTADB": "it is damaged or no SQLite file; move it aside or restore a copy",
    "SQLITE_CORRUPT": "it is damaged; move it aside or restore a copy",
    "SQLITE_READONLY": "it can't be written; check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it can't be opened; check the path and the permissions of its folder",
    "SQLITE_PERM": "it can't be opened; check the permissions of the file and its folder",
    "SQLITE_FULL": "the disk is full; free some space and try again",
    "SQLITE_BUSY": "another process holds it; try again, or end that process",
    "SQLITE_IOERR": "the disk reported an error; check the disk and its free space",
}


class JournalFile:
    """One journal file, opened when it is first needed.

    Args:
        path: The file.
        sync: Whether each commit waits for the disk, and so survives a power cut as well.
    """

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.path = path
        self._sync = sync
        # Reentrant, so that a signal handler that closes everything can't hang on its own thread.
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inherited: sqlite3.Connection | None = None
        self._closed = False
        _forks.watch(self)

    def read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Return what `work` reads, from one consistent state.

        Raises:
            JournalError: If the file can't be read.
            ClosedError: If it was closed.
        """
        return self._attempt("BEGIN", work)

    def write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Return what `work` returns, once what it changed is durable.

        `work` may be called again when another process was in the way. If it raises, nothing
        was changed.

        Raises:
            JournalError: If the file can't be written.
            ClosedError: If it was closed.
        """
        return self._attempt("BEGIN IMMEDIATE", work)

    def scrub(self) -> bool:
        """Empty the write-ahead log, and return whether nobody was in the way."""
        with self._lock:
            try:
                row = self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error as error:
                raise _translated(error, self.path) from error
            return bool(row[0] == 0)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def before_fork(self) -> None:
        """Let the transaction under way end, and have no connection while forking."""
        self._lock.acquire()
        self._disconnect()

    def after_fork_in_parent(self) -> None:
        """Go on; the next use opens a connection again."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start afresh: other threads that might hold the lock are not in this process."""
        self._lock = threading.RLock()
        # Only a server that forks in C skips `before_fork`. An idle connection can be closed
        # here; one with another thread's transaction must not be touched, as closing it would
        # undo that transaction in memory which the parent shares.
        if self._connection is not None and self._connection.in_transaction:
            self._inherited, self._connection = self._connection, None
        self._disconnect()

    def _attempt(self, begin: str, work: Callable[[sqlite3.Connection], R]) -> R:
        for attempt in range(1, WRITE_ATTEMPTS + 1):
            try:
                with self._lock:
                    return self._transact(begin, work)
            except sqlite3.Error as error:
                if attempt == WRITE_ATTEMPTS or not _is_busy(error):
                    raise _translated(error, self.path) from error
        raise AssertionError("the last attempt returns or raises")

    def _transact(self, begin: str, work: Callable[[sqlite3.Connection], R]) -> R:
        connection = self._open()
        try:
            return _transaction(connection, begin, work)
        except sqlite3.Error as error:
            if not _is_busy(error):
                self._disconnect()  # look at the file afresh next time
            raise

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise ClosedError(f"journal {str(self.path)!r} was closed; open it again")
        if self._inherited is not None:
            raise JournalError(
                f"this process was forked while journal {str(self.path)!r} was being written, so "
                "it can't use it; open the memory after the fork"
            )
        if self._connection is None:
            self._connection = _connect(self.path, self._sync)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Forks:
    """Takes all journals of this process through a fork."""

    def __init__(self) -> None:
        self._files: weakref.WeakSet[JournalFile] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._held: list[JournalFile] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child
            )

    def watch(self, file: JournalFile) -> None:
        with self._lock:
            self._files.add(file)

    def _before(self) -> None:
        self._lock.acquire()
        self._held = list(self._files)
        for file in self._held:
            file.before_fork()

    def _in_parent(self) -> None:
        for file in self._held:
            file.after_fork_in_parent()
        self._held = []
        self._lock.release()

    def _in_child(self) -> None:
        self._lock = threading.Lock()
        self._held = []
        for file in list(self._files):
            file.after_fork_in_child()


_forks = _Forks()


def _transaction(
    connection: sqlite3.Connection, begin: str, work: Callable[[sqlite3.Connection], R]
) -> R:
    try:
        connection.execute(begin)
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _connect(path: Path, sync: bool) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(
            f"the folder of journal {str(path)!r} can't be made: {error}; choose another path"
        ) from error
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.row_factory = sqlite3.Row
        _prepare(connection, path, sync)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, sync: bool) -> None:
    _refuse_foreign(connection, path)
    _use_wal(connection)
    connection.execute(f"PRAGMA synchronous={'FULL' if sync else 'NORMAL'}")
    connection.execute("PRAGMA secure_delete=ON")
    connection.execute("PRAGMA foreign_keys=ON")
    _transaction(connection, "BEGIN IMMEDIATE", _create_if_new)
    if _size(connection) <= CHECKED_BYTES:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise JournalError(
                f"journal {str(path)!r} is damaged ({verdict}); nothing was overwritten; "
                "move it aside or restore a copy"
            )


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    # From one state of the file: somebody else may be making the journal at this moment.
    connection.execute("BEGIN")
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    if application != APPLICATION_ID:
        if application or version or tables:
            raise JournalError(
                f"{str(path)!r} is the SQLite file of another program; nothing was changed; "
                "choose another path for the journal"
            )
    elif version > FORMAT_VERSION:
        raise JournalError(
            f"journal {str(path)!r} has format {version}, newer than the {FORMAT_VERSION} that "
            "this version reads; nothing was changed; upgrade hindsight-memory"
        )


def _use_wal(connection: sqlite3.Connection) -> None:
    # The switch needs the file for itself and does not always wait for it, so wait here.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _create_if_new(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        for statement in SCHEMA:
            connection.execute(statement)


def _size(connection: sqlite3.Connection) -> int:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    return int(pages * size)


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "") or ""


def _is_busy(error: sqlite3.Error) -> bool:
    return _name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _translated(error: sqlite3.Error, path: Path) -> JournalError:
    name = _name(error)
    remedy = next(
        (text for code, text in _REMEDIES.items() if name.startswith(code)),
        "check the file and its folder",
    )
    return JournalError(
        f"journal {str(path)!r} failed with {str(error)!r} ({name or 'no code'}); "
        f"nothing was overwritten; {remedy}"
    )
