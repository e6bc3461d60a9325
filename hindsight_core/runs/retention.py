"""Dropping the logs of runs past their retention, now and then, in passing."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from hindsight_core.errors import JournalError
from hindsight_core.runs.journal import Journal

__all__ = ["Retention"]

logger = logging.getLogger(__name__)

EVERY = timedelta(days=1)


class Retention:
    """Prunes the journal at most once a day, when somebody comes by."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._next: datetime | None = None

    def apply(self, now: datetime) -> int:
        """Drop what is past its retention if a day has gone by; return how many logs went."""
        with self._lock:
            if self._next is not None and now < self._next:
                return 0
            self._next = now + EVERY
        try:
            return self._journal.prune(now=now)
        except JournalError as error:
            logger.warning("logs past their retention were not dropped: %s", error)
            return 0
