"""How a run stands in its row: reading it, leasing it, ending it, within a transaction."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from hindsight_core.namespaces import Namespace
from hindsight_core.runs.codec import decode_trajectory
from hindsight_core.runs.journal_schema import (
    from_micros,
    pack_list,
    put,
    take,
    to_micros,
    unpack_list,
)
from hindsight_core.runs.journal_types import JournaledRun, RunResult, RunStatus

__all__ = ["WITHOUT_LOG", "WITH_LOG", "held_by", "lease", "run_of", "set_result"]

WITH_LOG = "SELECT runs.*, log FROM runs LEFT JOIN logs ON logs.run = runs.id WHERE"
WITHOUT_LOG = "SELECT runs.*, NULL AS log FROM runs WHERE"


def run_of(row: sqlite3.Row) -> JournaledRun:
    """Return the run in a row of `WITH_LOG` or `WITHOUT_LOG`.

    Raises:
        TrajectoryError: If its log is damaged.
    """
    due = from_micros(row["due_at"]) if row["due_at"] else None
    status: RunStatus = row["status"]
    return JournaledRun(
        position=row["id"],
        namespace=Namespace.from_key(row["namespace"]),
        run_id=take(row["run_id"]),
        trajectory=decode_trajectory(row["head"] if row["log"] is None else row["log"]),
        status=status,
        submitted_at=from_micros(row["submitted_at"]),
        attempts=row["attempts"],
        reason=take(row["reason"]),
        raw_reply=take(row["raw_reply"]),
        reflection_status=row["reflection_status"],
        memory_ids=unpack_list(row["memory_ids"]),
        superseded=unpack_list(row["superseded"]),
        notes=unpack_list(row["notes"]),
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        retry_at=due if status == "pending" else None,
        lease_owner=take(row["lease_owner"]),
        lease_until=due if status == "leased" else None,
        finished_at=None if row["finished_at"] is None else from_micros(row["finished_at"]),
        has_log=row["log"] is not None,
    )


def lease(db: sqlite3.Connection, row_id: int, owner: str, until: datetime) -> sqlite3.Row:
    """Give a run to `owner` and return its row with the log."""
    db.execute(
        "UPDATE runs SET status = 'leased', attempts = attempts + 1, lease_owner = ?, "
        "due_at = ?, reflection_status = '' WHERE id = ?",
        (put(owner), to_micros(until), row_id),
    )
    row: sqlite3.Row = db.execute(f"{WITH_LOG} runs.id = ?", (row_id,)).fetchone()
    return row


def set_result(
    db: sqlite3.Connection,
    namespace: Namespace,
    run_id: str,
    result: RunResult,
    status: RunStatus,
    now: datetime,
    owner: str | None = None,
) -> bool:
    """Give an open run its result and a new status, within a transaction."""
    held, values = held_by(owner)
    query = " ".join(
        (
            "UPDATE runs SET status = ?, lease_owner = '', due_at = 0, finished_at = ?,",
            "reflection_status = ?, memory_ids = ?, superseded = ?, notes = ?, reason = ?,",
            "raw_reply = ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?",
            "WHERE namespace = ? AND run_id = ? AND",
            held,
        )
    )
    parameters = (
        status,
        to_micros(now) if status in ("done", "failed") else None,
        result.reflection_status,
        pack_list(result.memory_ids),
        pack_list(result.superseded),
        pack_list(result.notes),
        put(result.reason),
        put(result.raw_reply),
        result.tokens_in,
        result.tokens_out,
        namespace.key,
        put(run_id),
        *values,
    )
    return db.execute(query, parameters).rowcount == 1


def held_by(owner: str | None) -> tuple[str, list[str | bytes]]:
    """Return a condition that a run is open and `owner` may end it, and its parameters."""
    if owner is None:
        return "status IN ('pending', 'leased', 'shed')", []
    return "status = 'leased' AND lease_owner = ?", [put(owner)]
