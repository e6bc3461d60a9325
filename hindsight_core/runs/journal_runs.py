"""The part of the journal that keeps runs, from their submission to their end."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from hindsight_core.errors import JournalError, TrajectoryError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.codec import encode_trajectory
from hindsight_core.runs.journal_file import JournalFile
from hindsight_core.runs.journal_rows import (
    WITH_LOG,
    WITHOUT_LOG,
    held_by,
    lease,
    run_of,
    set_result,
)
from hindsight_core.runs.journal_schema import any_of, in_namespaces, put, take, to_micros
from hindsight_core.runs.journal_types import JournaledRun, RunResult, RunStatus
from hindsight_core.trajectory import Trajectory

__all__ = ["Runs"]

TASK_IN_LISTS = 200
"""Characters of the task that stay with a run when its log is dropped."""


class Runs:
    """Runs and their logs.

    Args:
        file: The journal's file.
    """

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def append_run(
        self,
        namespace: Namespace,
        trajectory: Trajectory,
        *,
        now: datetime,
        status: Literal["pending", "shed"] = "pending",
        lease_to: str = "",
        lease_until: datetime | None = None,
    ) -> bool:
        """Keep a run for good; it is durable when this returns.

        Args:
            namespace: Whose run.
            trajectory: The run.
            now: The present moment.
            status: `shed` keeps it out of the queue.
            lease_to: Lease a new run to this owner at once, so that no worker takes it.
            lease_until: When that lease runs out.

        Returns:
            `False` if the namespace already has a run with this id, which stays as it is.

        Raises:
            JournalError: If it could not be kept.
            TrajectoryError: If it can't be written down.
        """
        log = encode_trajectory(trajectory)
        head = encode_trajectory(
            replace(trajectory, steps=(), metadata={}, task=trajectory.task[:TASK_IN_LISTS])
        )
        values = (namespace.key, put(trajectory.run_id), status, to_micros(now), head)

        def insert(db: sqlite3.Connection) -> bool:
            cursor = db.execute(
                "INSERT INTO runs (namespace, run_id, status, submitted_at, head) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, run_id) DO NOTHING",
                values,
            )
            if cursor.rowcount != 1:
                return False
            db.execute("INSERT INTO logs (run, log) VALUES (?, ?)", (cursor.lastrowid, log))
            if lease_to and cursor.lastrowid is not None:
                lease(db, cursor.lastrowid, lease_to, lease_until or now)
            return True

        return self._file.write(insert)

    def finish(
        self,
        namespace: Namespace,
        run_id: str,
        result: RunResult,
        *,
        now: datetime,
        owner: str | None = None,
    ) -> bool:
        """End a run that needs no change of memories.

        Args:
            namespace: Whose run.
            run_id: Which run.
            result: How reflection ended; a status of `failed` leaves the run failed.
            now: The present moment.
            owner: Only if this owner still holds it; `None` if anybody does or nobody.

        Returns:
            `False` if there is no such run that is still open; then nothing was changed.
        """
        status: RunStatus = "failed" if result.reflection_status == "failed" else "done"
        return self._file.write(
            lambda db: set_result(db, namespace, run_id, result, status, now, owner)
        )

    def fail(
        self,
        namespace: Namespace,
        run_id: str,
        *,
        reason: str,
        now: datetime,
        raw_reply: str | None = None,
        retry_at: datetime | None = None,
        owner: str | None = None,
    ) -> bool:
        """Note that reflecting on a run did not work, and keep the run.

        Args:
            namespace: Whose run.
            run_id: Which run.
            reason: What went wrong.
            now: The present moment.
            raw_reply: What the model answered, if it did.
            retry_at: When to try again by itself; `None` leaves the run failed.
            owner: Only if this owner still holds it; `None` if anybody does or nobody.

        Returns:
            `False` if there is no such run that is still open; then nothing was changed.
        """
        if retry_at is None:
            result = RunResult(reflection_status="failed", reason=reason, raw_reply=raw_reply or "")
            return self.finish(namespace, run_id, result, now=now, owner=owner)
        held, values = held_by(owner)
        query = " ".join(
            (
                "UPDATE runs SET status = 'pending', due_at = ?, lease_owner = '', reason = ?,",
                "raw_reply = ? WHERE namespace = ? AND run_id = ? AND",
                held,
            )
        )
        parameters = (
            to_micros(retry_at),
            put(reason),
            put(raw_reply or ""),
            namespace.key,
            put(run_id),
            *values,
        )
        return self._file.write(lambda db: db.execute(query, parameters).rowcount == 1)

    def retry(
        self,
        namespaces: Sequence[Namespace] | None = None,
        *,
        now: datetime,
        run_ids: Sequence[str] = (),
    ) -> int:
        """Make failed and shed runs pending again, with their attempts counted afresh.

        Args:
            namespaces: Whose runs, `None` for everybody's.
            now: The present moment, from which they are due.
            run_ids: Which of them, `()` for all.

        Returns:
            How many runs are pending again.
        """
        where, names = in_namespaces(namespaces)
        query = " ".join(
            (
                "UPDATE runs SET status = 'pending', attempts = 0, due_at = ?,",
                "reflection_status = '', finished_at = NULL WHERE status IN ('failed', 'shed') AND",
                where,
            )
        )
        ids = list(dict.fromkeys(run_ids))

        def update(db: sqlite3.Connection) -> int:
            values = [to_micros(now), *names]
            if not ids:
                return db.execute(query, values).rowcount
            return sum(
                db.execute(query + " AND run_id = ?", (*values, put(run_id))).rowcount
                for run_id in ids
            )

        return self._file.write(update)

    def get_run(self, namespace: Namespace, run_id: str) -> JournaledRun | None:
        """Return one run, `None` if the namespace has none with this id."""
        row = self._file.read(
            lambda db: db.execute(
                f"{WITH_LOG} namespace = ? AND run_id = ?", (namespace.key, put(run_id))
            ).fetchone()
        )
        return None if row is None else self._run(row)

    def runs(
        self,
        namespaces: Sequence[Namespace] | None = None,
        statuses: Sequence[RunStatus] = (),
        limit: int = 50,
        before: int | None = None,
        *,
        with_logs: bool = True,
    ) -> tuple[JournaledRun, ...]:
        """Return runs, newest first.

        Args:
            namespaces: Whose runs, `None` for everybody's.
            statuses: Statuses to include, `()` for any.
            limit: Most runs to return.
            before: Only runs before this `position`, for the next page.
            with_logs: Whether to read the logs; a listing is quicker without.
        """
        where, values = in_namespaces(namespaces)
        parts = [WITH_LOG if with_logs else WITHOUT_LOG, where]
        parameters: list[str | int] = list(values)
        if statuses:
            condition, wanted = any_of("status", statuses)
            parts.append(f"AND {condition}")
            parameters += wanted
        if before is not None:
            parts.append("AND runs.id < ?")
            parameters.append(before)
        query = " ".join((*parts, "ORDER BY runs.id DESC LIMIT ?"))
        rows = self._file.read(lambda db: db.execute(query, (*parameters, limit)).fetchall())
        return tuple(self._run(row) for row in rows)

    def backlog(
        self,
        namespaces: Sequence[Namespace] | None = None,
        *,
        due_by: datetime | None = None,
    ) -> int:
        """Return how many runs wait for reflection, quickly.

        Args:
            namespaces: Whose runs, `None` for everybody's.
            due_by: Only those due by then: pending, or with a lease that has run out.
        """
        where, names = in_namespaces(namespaces)
        condition = "status = 'pending' AND" if due_by is None else "due_at <= ? AND"
        query = " ".join(
            (
                "SELECT count(*) FROM runs INDEXED BY runs_due",
                "WHERE status IN ('pending', 'leased') AND",
                condition,
                where,
            )
        )
        values = names if due_by is None else [to_micros(due_by), *names]
        return int(self._file.read(lambda db: db.execute(query, values).fetchone())[0])

    def _run(self, row: sqlite3.Row) -> JournaledRun:
        try:
            return run_of(row)
        except TrajectoryError as error:
            raise JournalError(
                f"run {take(row['run_id'])!r} in journal {str(self._file.path)!r} can't be "
                f"read: {error}; restore a copy of the journal or erase the run's namespace"
            ) from error
