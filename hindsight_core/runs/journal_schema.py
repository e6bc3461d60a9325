"""The tables of the journal, and how values stand in them.

Times are integers, microseconds since 1970 in UTC, so they sort and come back exactly. Texts
are TEXT; the rare text with lone surrogates, which SQLite refuses, is kept as a BLOB of its
UTF-8 with surrogates passed through. Lists are JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_core.clock import as_utc
from hindsight_core.errors import NamespaceError
from hindsight_core.namespaces import Namespace

__all__ = [
    "APPLICATION_ID",
    "FORMAT_VERSION",
    "SCHEMA",
    "any_of",
    "from_micros",
    "in_namespaces",
    "pack_list",
    "put",
    "take",
    "to_micros",
    "unpack_list",
]

APPLICATION_ID = 0x4853_4A31
"""Marks a SQLite file as a journal (`HSJ1`), so that no other program's file is touched."""

FORMAT_VERSION = 1
"""Kept in `PRAGMA user_version`; a journal of a higher one is refused."""

SCHEMA = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        run_id NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due_at INTEGER NOT NULL DEFAULT 0,
        lease_owner NOT NULL DEFAULT '',
        submitted_at INTEGER NOT NULL,
        finished_at INTEGER,
        reflection_status TEXT NOT NULL DEFAULT '',
        tokens_in INTEGER NOT NULL DEFAULT 0,
        tokens_out INTEGER NOT NULL DEFAULT 0,
        has_log INTEGER NOT NULL DEFAULT 1,
        memory_ids NOT NULL DEFAULT '[]',
        superseded NOT NULL DEFAULT '[]',
        notes NOT NULL DEFAULT '[]',
        reason NOT NULL DEFAULT '',
        head BLOB NOT NULL,
        raw_reply NOT NULL DEFAULT '',
        UNIQUE (namespace, run_id))""",
    "CREATE INDEX runs_by_namespace ON runs (namespace)",
    """CREATE INDEX runs_by_status ON runs
        (namespace, status, reflection_status, tokens_in, tokens_out)""",
    """CREATE INDEX runs_due ON runs (due_at, id, namespace, status, lease_owner)
        WHERE status IN ('pending', 'leased')""",
    """CREATE INDEX runs_with_old_logs ON runs (finished_at)
        WHERE status = 'done' AND has_log = 1""",
    """CREATE TABLE logs (
        run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
        log BLOB NOT NULL)""",
    """CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        run_id NOT NULL,
        planned_at INTEGER NOT NULL,
        finishes_run INTEGER NOT NULL,
        audit NOT NULL,
        blob BLOB NOT NULL)""",
    """CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        namespace TEXT NOT NULL,
        memory_id NOT NULL,
        action NOT NULL,
        run_id NOT NULL,
        actor NOT NULL,
        reason NOT NULL,
        version INTEGER NOT NULL)""",
    "CREATE INDEX audit_by_memory ON audit (namespace, memory_id)",
    "CREATE INDEX audit_by_run ON audit (namespace, run_id)",
    """CREATE TABLE recalls (
        id INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL,
        run_id NOT NULL,
        at INTEGER NOT NULL,
        memory_ids NOT NULL,
        query NOT NULL)""",
    "CREATE INDEX recalls_by_run ON recalls (namespace, run_id)",
    """CREATE TABLE feedback (
        id INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL,
        run_id NOT NULL,
        memory_id NOT NULL,
        source NOT NULL,
        outcome NOT NULL,
        helpful INTEGER NOT NULL,
        reason NOT NULL,
        at INTEGER NOT NULL,
        UNIQUE (namespace, run_id, memory_id, source, outcome, helpful))""",
    "CREATE INDEX feedback_by_memory ON feedback (namespace, memory_id)",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT_VERSION}",
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Return `moment` as microseconds since 1970 in UTC."""
    return (as_utc(moment) - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the moment that `to_micros` made `micros` from."""
    return _EPOCH + timedelta(microseconds=micros)


def put(text: str) -> str | bytes:
    """Return `text` in a form that SQLite can keep; equal texts have equal forms."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def take(value: str | bytes) -> str:
    """Return the text that `put` made `value` from."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def pack_list(items: Sequence[Any]) -> str | bytes:
    """Return JSON-safe `items` as one value."""
    return put(json.dumps(list(items), ensure_ascii=False, separators=(",", ":")))


def unpack_list(value: str | bytes) -> tuple[Any, ...]:
    """Return the items that `pack_list` made `value` from."""
    return tuple(json.loads(take(value)))


def any_of(column: str, values: Sequence[str]) -> tuple[str, list[str]]:
    """Return a condition that `column` is one of `values`, and its parameters.

    `column` is a name from this package, never a caller's text.
    """
    return f"{column} IN ({','.join('?' * len(values))})", list(values)


def in_namespaces(namespaces: Sequence[Namespace] | None) -> tuple[str, list[str]]:
    """Return a condition that a row is in one of `namespaces`, and its parameters.

    `None` means all of them, which only the owner of the journal may ask for.

    Raises:
        NamespaceError: If `namespaces` is empty, since that is nobody's wish.
    """
    if namespaces is None:
        return "1", []
    if not namespaces:
        raise NamespaceError("an empty list of namespaces was given; name at least one")
    return any_of("namespace", [namespace.key for namespace in namespaces])
