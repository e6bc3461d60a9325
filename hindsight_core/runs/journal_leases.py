"""The part of the journal that hands runs to whoever reflects on them, one holder at a time."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from hindsight_core.errors import TrajectoryError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal_file import JournalFile
from hindsight_core.runs.journal_rows import lease, run_of
from hindsight_core.runs.journal_schema import any_of, in_namespaces, put, take, to_micros
from hindsight_core.runs.journal_types import JournaledRun

__all__ = ["Leases"]

logger = logging.getLogger(__name__)


class Leases:
    """Leases on runs; they end by their time, so a dead holder blocks nothing for ever.

    Args:
        file: The journal's file.
    """

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def lease_next(
        self,
        owner: str,
        *,
        now: datetime,
        lease_seconds: float,
        namespaces: Sequence[Namespace] | None = None,
    ) -> JournaledRun | None:
        """Take the next run that is due, for `lease_seconds`.

        Fresh runs come first, oldest first; then those whose retry time has come or whose
        lease ran out, in the order in which they became due. A run whose log turns out to be
        damaged becomes `failed` and the next one is taken.
        """
        where, names = in_namespaces(namespaces)
        # The name of the index makes sure that a long journal is never read through for this.
        query = " ".join(
            (
                "SELECT id FROM runs INDEXED BY runs_due",
                "WHERE status IN ('pending', 'leased') AND due_at <= ? AND",
                where,
                "ORDER BY due_at, id LIMIT 1",
            )
        )
        until = now + timedelta(seconds=lease_seconds)

        def take_one(db: sqlite3.Connection) -> sqlite3.Row | None:
            row = db.execute(query, (to_micros(now), *names)).fetchone()
            return None if row is None else lease(db, row["id"], owner, until)

        while (row := self._file.write(take_one)) is not None:
            run = self._readable(row)
            if run is not None:
                return run
        return None

    def lease_run(
        self,
        namespace: Namespace,
        run_id: str,
        owner: str,
        *,
        now: datetime,
        lease_seconds: float,
    ) -> JournaledRun | None:
        """Take one run by its id, also when it is shed, failed or not yet due again.

        Returns:
            `None` if it is not there, held by somebody (also by `owner`), or has ended well.
        """
        until = now + timedelta(seconds=lease_seconds)

        def take_it(db: sqlite3.Connection) -> sqlite3.Row | None:
            row = db.execute(
                "SELECT id FROM runs WHERE namespace = ? AND run_id = ? AND "
                "(status IN ('pending', 'shed', 'failed') OR status = 'leased' AND due_at <= ?)",
                (namespace.key, put(run_id), to_micros(now)),
            ).fetchone()
            return None if row is None else lease(db, row["id"], owner, until)

        row = self._file.write(take_it)
        return None if row is None else self._readable(row)

    def release(self, namespace: Namespace, run_id: str, owner: str) -> bool:
        """Give back a run that `owner` holds as if it had not been taken."""
        return self._file.write(
            lambda db: (
                db.execute(
                    "UPDATE runs SET status = 'pending', due_at = 0, lease_owner = '', "
                    "attempts = attempts - 1 WHERE namespace = ? AND run_id = ? "
                    "AND status = 'leased' AND lease_owner = ?",
                    (namespace.key, put(run_id), put(owner)),
                ).rowcount
                == 1
            )
        )

    def is_held(self, namespace: Namespace, run_id: str, owner: str) -> bool:
        """Whether `owner` has a lease on this run and it was not taken over."""
        row = self._file.read(
            lambda db: db.execute(
                "SELECT 1 FROM runs WHERE namespace = ? AND run_id = ? "
                "AND status = 'leased' AND lease_owner = ?",
                (namespace.key, put(run_id), put(owner)),
            ).fetchone()
        )
        return row is not None

    def release_leases(self) -> int:
        """Give back every leased run, for one who knows that nobody else is at work."""
        return self._file.write(
            lambda db: (
                db.execute(
                    "UPDATE runs SET status = 'pending', due_at = 0, lease_owner = '' "
                    "WHERE status = 'leased'"
                ).rowcount
            )
        )

    def release_dead_leases(self, owner_alive: Callable[[str], bool]) -> int:
        """Give back the runs of owners that `owner_alive` knows to be dead.

        Returns:
            How many runs were given back.
        """
        owners = self._file.read(
            lambda db: db.execute(
                "SELECT DISTINCT lease_owner FROM runs INDEXED BY runs_due "
                "WHERE status IN ('pending', 'leased') AND status = 'leased'"
            ).fetchall()
        )
        dead = [row[0] for row in owners if not owner_alive(take(row[0]))]
        if not dead:
            return 0
        where, values = any_of("lease_owner", dead)
        query = (
            "UPDATE runs SET status = 'pending', due_at = 0, lease_owner = '' "
            "WHERE status = 'leased' AND"
        )
        return self._file.write(lambda db: db.execute(f"{query} {where}", values).rowcount)

    def _readable(self, row: sqlite3.Row) -> JournaledRun | None:
        """Return the leased run, or `None` once it is noted that its log is damaged."""
        try:
            return run_of(row)
        except TrajectoryError as error:
            logger.error("run %s can't be reflected on: %s", take(row["run_id"]), error)
            values = (str(error), row["id"])
        self._file.write(
            lambda db: db.execute(
                "UPDATE runs SET status = 'failed', reflection_status = 'failed', due_at = 0, "
                "lease_owner = '', reason = ? WHERE id = ?",
                values,
            )
        )
        return None
