"""The redo log: change sets of memories that are decided on here before they reach the store.

The store and the journal are two files, so no transaction spans both. A change set is first
written here, then applied to the store, then marked. Whoever opens the journal after a crash
finds in `unapplied` what may be half done and applies it again; change sets carry versions,
so applying one twice is harmless.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hindsight_core.errors import JournalError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal_file import JournalFile
from hindsight_core.runs.journal_rows import set_result
from hindsight_core.runs.journal_schema import (
    from_micros,
    in_namespaces,
    pack_list,
    put,
    take,
    to_micros,
    unpack_list,
)
from hindsight_core.runs.journal_types import AuditEntry, PlannedChanges, RunResult

__all__ = ["ChangeLog"]


class ChangeLog:
    """Change sets on their way to the store, and the audit of those that arrived.

    Args:
        file: The journal's file.
    """

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def plan_changes(
        self,
        namespace: Namespace,
        run_id: str | None,
        blob: bytes,
        audit: Sequence[AuditEntry],
        *,
        now: datetime,
        result: RunResult | None = None,
        owner: str | None = None,
    ) -> int:
        """Write down a change set; it is durable when this returns.

        Args:
            namespace: Whose memories it changes.
            run_id: The run behind it, `None` if there is none.
            blob: The changes, in whatever form the caller can read again.
            audit: What to add to the audit once they are applied.
            now: The present moment.
            result: With it, the run becomes `applying` and ends once they are applied;
                without it, the run is left alone.
            owner: With it, the run must still be held by this owner.

        Returns:
            An id for `mark_applied` and `abandon`.

        Raises:
            JournalError: If `result` is for a run that is not there, has ended or is held by
                another owner; then nothing was written.
        """
        finishes = run_id is not None and result is not None

        def insert(db: sqlite3.Connection) -> int:
            if run_id is not None and result is not None:
                done = set_result(db, namespace, run_id, result, "applying", now, owner)
                if not done:
                    raise JournalError(
                        f"run {run_id!r} in {str(namespace)!r} is not open for a result: it has "
                        "ended, is held by another worker or was erased; drop these changes"
                    )
            cursor = db.execute(
                "INSERT INTO changes (namespace, run_id, planned_at, finishes_run, audit, blob) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    namespace.key,
                    put(run_id or ""),
                    to_micros(now),
                    finishes,
                    pack_list([_packed(entry) for entry in audit]),
                    blob,
                ),
            )
            return int(cursor.lastrowid or 0)

        return self._file.write(insert)

    def mark_applied(self, change_id: int, *, now: datetime) -> bool:
        """Note that a change set has reached the store: audit it, end its run, drop its blob.

        Returns:
            `False` if it was already marked or abandoned.
        """

        def mark(db: sqlite3.Connection) -> bool:
            row = db.execute("SELECT * FROM changes WHERE id = ?", (change_id,)).fetchone()
            if row is None:
                return False
            db.executemany(
                "INSERT INTO audit (at, namespace, memory_id, action, run_id, actor, reason, "
                "version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (at, key, *(put(text) for text in texts), version)
                    for at, key, *texts, version in unpack_list(row["audit"])
                ],
            )
            if row["finishes_run"]:
                db.execute(
                    "UPDATE runs SET status = 'done', finished_at = ? "
                    "WHERE namespace = ? AND run_id = ? AND status = 'applying'",
                    (to_micros(now), row["namespace"], row["run_id"]),
                )
            db.execute("DELETE FROM changes WHERE id = ?", (change_id,))
            return True

        return self._file.write(mark)

    def abandon(self, change_id: int, reason: str, *, now: datetime | None = None) -> bool:
        """Give up a change set that proved impossible; its run becomes `failed`.

        Args:
            change_id: The change set.
            reason: Why, kept with the run.
            now: The present moment, when the run failed.

        Returns:
            `False` if it was already marked or abandoned.
        """

        def drop(db: sqlite3.Connection) -> bool:
            row = db.execute(
                "SELECT namespace, run_id, finishes_run FROM changes WHERE id = ?", (change_id,)
            ).fetchone()
            if row is None:
                return False
            if row["finishes_run"]:
                db.execute(
                    "UPDATE runs SET status = 'failed', reflection_status = 'failed', "
                    "reason = ?, finished_at = ?, memory_ids = '[]', superseded = '[]' "
                    "WHERE namespace = ? AND run_id = ? AND status = 'applying'",
                    (put(reason), now and to_micros(now), row["namespace"], row["run_id"]),
                )
            db.execute("DELETE FROM changes WHERE id = ?", (change_id,))
            return True

        return self._file.write(drop)

    def unapplied(
        self, namespaces: Sequence[Namespace] | None = None
    ) -> tuple[PlannedChanges, ...]:
        """Return the change sets that are neither marked nor abandoned, oldest first.

        Args:
            namespaces: Whose, `None` for everybody's.
        """
        where, names = in_namespaces(namespaces)
        query = " ".join(("SELECT * FROM changes WHERE", where, "ORDER BY id"))
        rows = self._file.read(lambda db: db.execute(query, names).fetchall())
        return tuple(
            PlannedChanges(
                change_id=row["id"],
                namespace=Namespace.from_key(row["namespace"]),
                run_id=take(row["run_id"]),
                blob=row["blob"],
                audit=tuple(_entry(packed) for packed in unpack_list(row["audit"])),
                planned_at=from_micros(row["planned_at"]),
                finishes_run=bool(row["finishes_run"]),
            )
            for row in rows
        )

    def audit(self, namespace: Namespace, memory_id: str) -> tuple[AuditEntry, ...]:
        """Return what was done to a memory, oldest first."""
        return self._audit("memory_id = ?", namespace, memory_id)

    def audit_of_run(self, namespace: Namespace, run_id: str) -> tuple[AuditEntry, ...]:
        """Return what was done to memories because of a run, oldest first."""
        return self._audit("run_id = ?", namespace, run_id)

    def _audit(self, condition: str, namespace: Namespace, value: str) -> tuple[AuditEntry, ...]:
        query = " ".join(("SELECT * FROM audit WHERE namespace = ? AND", condition, "ORDER BY id"))
        rows = self._file.read(lambda db: db.execute(query, (namespace.key, put(value))).fetchall())
        return tuple(
            AuditEntry(
                at=from_micros(row["at"]),
                namespace=namespace,
                memory_id=take(row["memory_id"]),
                action=take(row["action"]),
                run_id=take(row["run_id"]),
                actor=take(row["actor"]),
                reason=take(row["reason"]),
                version=row["version"],
            )
            for row in rows
        )


def _packed(entry: AuditEntry) -> list[Any]:
    return [
        to_micros(entry.at),
        entry.namespace.key,
        entry.memory_id,
        entry.action,
        entry.run_id,
        entry.actor,
        entry.reason,
        entry.version,
    ]


def _entry(packed: Sequence[Any]) -> AuditEntry:
    at, key, memory_id, action, run_id, actor, reason, version = packed
    return AuditEntry(
        at=from_micros(at),
        namespace=Namespace.from_key(key),
        memory_id=memory_id,
        action=action,
        run_id=run_id,
        actor=actor,
        reason=reason,
        version=version,
    )
