"""The part of the journal that remembers recalls and feedback, counts, searches and forgets."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from hindsight_core.errors import ConfigurationError, TrajectoryError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.codec import decode_trajectory
from hindsight_core.runs.journal_file import JournalFile
from hindsight_core.runs.journal_schema import (
    from_micros,
    in_namespaces,
    pack_list,
    put,
    take,
    to_micros,
    unpack_list,
)
from hindsight_core.runs.journal_search import find_in_run
from hindsight_core.runs.journal_types import (
    RUN_STATUSES,
    Erased,
    Feedback,
    JournalCounts,
    LogHit,
    Recall,
)

__all__ = ["History"]

BATCH = 200
"""Runs read or pruned in one transaction, so that nobody waits long for the file."""

_UNSAID = {None: -1, False: 0, True: 1}


class History:
    """What happened around the runs.

    Args:
        file: The journal's file.
        retention: How long the log of a finished run is kept.
    """

    def __init__(self, file: JournalFile, retention: timedelta) -> None:
        self._file = file
        self._retention = retention

    def record_recall(
        self,
        namespace: Namespace,
        run_id: str,
        memory_ids: Sequence[str],
        query: str,
        *,
        now: datetime,
    ) -> None:
        """Note which memories a run was given to read."""
        values = (namespace.key, put(run_id), to_micros(now), pack_list(memory_ids), put(query))
        self._file.write(
            lambda db: db.execute(
                "INSERT INTO recalls (namespace, run_id, at, memory_ids, query) "
                "VALUES (?, ?, ?, ?, ?)",
                values,
            )
        )

    def recalls(self, namespace: Namespace, run_id: str) -> tuple[Recall, ...]:
        """Return what a run was given to read, oldest first."""
        rows = self._file.read(
            lambda db: db.execute(
                "SELECT * FROM recalls WHERE namespace = ? AND run_id = ? ORDER BY id",
                (namespace.key, put(run_id)),
            ).fetchall()
        )
        return tuple(
            Recall(
                run_id=take(row["run_id"]),
                memory_ids=unpack_list(row["memory_ids"]),
                query=take(row["query"]),
                at=from_micros(row["at"]),
            )
            for row in rows
        )

    def record_feedback(
        self,
        namespace: Namespace,
        *,
        run_id: str | None = None,
        memory_id: str | None = None,
        outcome: str | None = None,
        helpful: bool | None = None,
        source: str,
        reason: str = "",
        now: datetime,
    ) -> bool:
        """Note what somebody said about a run or a memory, once.

        Returns:
            `False` if the same source said the same thing about it before; then it must not be
            credited again.

        Raises:
            ConfigurationError: If neither a run nor a memory is named.
        """
        if not run_id and not memory_id:
            raise ConfigurationError("feedback needs a run_id or a memory_id; neither was given")
        values = (
            namespace.key,
            put(run_id or ""),
            put(memory_id or ""),
            put(source),
            put(outcome or ""),
            _UNSAID[helpful],
            put(reason),
            to_micros(now),
        )
        return self._file.write(
            lambda db: (
                db.execute(
                    "INSERT INTO feedback (namespace, run_id, memory_id, source, outcome, helpful, "
                    "reason, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    values,
                ).rowcount
                == 1
            )
        )

    def feedback(
        self, namespace: Namespace, *, run_id: str | None = None, memory_id: str | None = None
    ) -> tuple[Feedback, ...]:
        """Return feedback, oldest first.

        Args:
            namespace: Whose.
            run_id: Only about this run, `None` for any.
            memory_id: Only about this memory, `None` for any.
        """
        parts = ["SELECT * FROM feedback WHERE namespace = ?"]
        values: list[str | bytes] = [namespace.key]
        if run_id is not None:
            parts.append("AND run_id = ?")
            values.append(put(run_id))
        if memory_id is not None:
            parts.append("AND memory_id = ?")
            values.append(put(memory_id))
        query = " ".join((*parts, "ORDER BY id"))
        rows = self._file.read(lambda db: db.execute(query, values).fetchall())
        return tuple(
            Feedback(
                run_id=take(row["run_id"]),
                memory_id=take(row["memory_id"]),
                outcome=take(row["outcome"]),
                helpful=None if row["helpful"] < 0 else bool(row["helpful"]),
                source=take(row["source"]),
                reason=take(row["reason"]),
                at=from_micros(row["at"]),
            )
            for row in rows
        )

    def counts(self, namespaces: Sequence[Namespace] | None = None) -> JournalCounts:
        """Count runs by status and add up their tokens.

        Args:
            namespaces: Whose runs, `None` for everybody's.
        """
        where, names = in_namespaces(namespaces)
        query = " ".join(
            (
                "SELECT status, reflection_status, count(*) AS n, sum(tokens_in) AS read,",
                "sum(tokens_out) AS written FROM runs INDEXED BY runs_by_status WHERE",
                where,
                "GROUP BY status, reflection_status",
            )
        )
        rows = self._file.read(lambda db: db.execute(query, names).fetchall())
        by_status = {
            status: sum(row["n"] for row in rows if row["status"] == status)
            for status in RUN_STATUSES
        }
        ended = {row["reflection_status"]: row["n"] for row in rows if row["status"] == "done"}
        return JournalCounts(
            **by_status,
            learned=ended.get("learned", 0),
            nothing_to_learn=ended.get("nothing_to_learn", 0),
            tokens_in=sum(row["read"] for row in rows),
            tokens_out=sum(row["written"] for row in rows),
        )

    def add_counter(self, name: str, n: int = 1) -> None:
        """Add `n` to a counter that outlives the process, for example `redactions`."""
        self._file.write(
            lambda db: db.execute(
                "INSERT INTO counters (name, value) VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
                (name, n),
            )
        )

    def counters(self) -> Mapping[str, int]:
        """Return all counters by name."""
        rows = self._file.read(
            lambda db: db.execute("SELECT name, value FROM counters ORDER BY name").fetchall()
        )
        return {row["name"]: row["value"] for row in rows}

    def search_log(self, namespace: Namespace, text: str, limit: int = 20) -> tuple[LogHit, ...]:
        """Look for `text` in the raw logs of a namespace, newest run first.

        Every log that is still kept is read until `limit` runs were found, so this is for
        people who look something up, not for every day. Upper and lower case are the same.
        A log that is damaged is passed over.
        """
        hits: list[LogHit] = []
        before = 2**62
        wanted = text.casefold()
        while wanted and len(hits) < limit:
            rows = self._file.read(partial(_logs, namespace=namespace, before=before))
            if not rows:
                break
            before = rows[-1]["id"]
            hits += [hit for row in rows if (hit := _hit(row, wanted)) is not None]
        return tuple(hits[:limit])

    def prune(self, *, now: datetime) -> int:
        """Drop the logs of runs that were done longer than the retention ago.

        The run itself, its audit and its recalls stay; runs that wait, are at work or failed
        keep their logs.

        Returns:
            How many logs were dropped.
        """
        horizon = to_micros(now - self._retention)
        total = 0
        while dropped := self._file.write(lambda db: _drop_logs(db, horizon)):
            total += dropped
        if total:
            self._file.scrub()
        return total

    def erase(self, namespace: Namespace) -> Erased:
        """Remove everything about exactly this namespace, for good, and return a receipt.

        Freed pages are overwritten with zeros and the write-ahead log is emptied.
        """

        def delete(db: sqlite3.Connection) -> dict[str, int]:
            return {
                table: db.execute(query, (namespace.key,)).rowcount
                for table, query in _ERASURES.items()
            }

        rows = self._file.write(delete)
        return Erased(**rows, scrubbed=self._file.scrub())


_ERASURES = {
    "changes": "DELETE FROM changes WHERE namespace = ?",
    "recalls": "DELETE FROM recalls WHERE namespace = ?",
    "feedback": "DELETE FROM feedback WHERE namespace = ?",
    "audit": "DELETE FROM audit WHERE namespace = ?",
    "runs": "DELETE FROM runs WHERE namespace = ?",  # its logs go with it
}


def _logs(db: sqlite3.Connection, namespace: Namespace, before: int) -> list[sqlite3.Row]:
    return db.execute(
        "SELECT id, submitted_at, log FROM runs JOIN logs ON logs.run = runs.id "
        "WHERE namespace = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (namespace.key, before, BATCH),
    ).fetchall()


def _hit(row: sqlite3.Row, wanted: str) -> LogHit | None:
    try:
        trajectory = decode_trajectory(row["log"])
    except TrajectoryError:
        return None
    return find_in_run(trajectory, wanted, from_micros(row["submitted_at"]))


def _drop_logs(db: sqlite3.Connection, horizon: int) -> int:
    rows = db.execute(
        "SELECT id FROM runs INDEXED BY runs_with_old_logs "
        "WHERE status = 'done' AND has_log = 1 AND finished_at < ? LIMIT ?",
        (horizon, BATCH),
    ).fetchall()
    ids = [(row["id"],) for row in rows]
    db.executemany("DELETE FROM logs WHERE run = ?", ids)
    db.executemany("UPDATE runs SET has_log = 0, raw_reply = '' WHERE id = ?", ids)
    return len(ids)
