"""The journal: what happened, kept in one SQLite file per host.

Runs that wait for reflection with their logs, the recalls that each run received, what people
said about them, every change of a memory, and the change sets that are on their way to the
store. A run is in the journal before its adapter returns, and survives a kill at any point.

Several threads and processes may use one journal at once, also across a fork. Everything that
a caller may ask about is limited by namespace; `namespaces=None` means everybody's and is for
the owner of the journal: the worker, the command line, the statistics.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import TracebackType

from hindsight_core.runs.journal_changes import ChangeLog
from hindsight_core.runs.journal_file import JournalFile
from hindsight_core.runs.journal_history import History
from hindsight_core.runs.journal_leases import Leases
from hindsight_core.runs.journal_runs import Runs
from hindsight_core.runs.journal_types import (
    RUN_STATUSES,
    AuditEntry,
    Erased,
    Feedback,
    JournalCounts,
    JournaledRun,
    LogHit,
    PlannedChanges,
    Recall,
    RunResult,
    RunStatus,
)

__all__ = [
    "FILE_NAME",
    "RUN_STATUSES",
    "AuditEntry",
    "Erased",
    "Feedback",
    "Journal",
    "JournalCounts",
    "JournaledRun",
    "LogHit",
    "PlannedChanges",
    "Recall",
    "RunResult",
    "RunStatus",
]

FILE_NAME = "journal.sqlite3"
"""Name of the journal's file inside a store's folder."""


class Journal(Runs, Leases, ChangeLog, History):
    """One journal, open.

    ```python
    with Journal.open(Path("memory") / FILE_NAME) as journal:
        journal.append_run(namespace, trajectory, now=system_clock())
    ```

    Args:
        file: The file.
        retention: How long the log of a finished run is kept.
    """

    def __init__(self, file: JournalFile, retention: timedelta) -> None:
        Runs.__init__(self, file)
        Leases.__init__(self, file)
        ChangeLog.__init__(self, file)
        History.__init__(self, file, retention)

    @classmethod
    def open(cls, path: Path, *, retention_days: float = 30.0, sync: bool = False) -> Journal:
        """Open the journal at `path`, or begin one if there is none.

        Args:
            path: The file, or an existing folder in which it is `journal.sqlite3`.
            retention_days: Days that the log of a finished run is kept.
            sync: Whether each commit waits for the disk: what was acknowledged then survives
                the death of the machine, not only of the process. Costs milliseconds each.

        Raises:
            JournalError: If the file is damaged, of another program, of a newer version, or
                can't be written. Nothing was overwritten.
        """
        place = Path(path)
        file = JournalFile(place / FILE_NAME if place.is_dir() else place, sync=sync)
        file.read(lambda db: db.execute("SELECT count(*) FROM counters").fetchone())
        return cls(file, timedelta(days=retention_days))

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
