"""Whether too many runs wait for reflection, without counting them at every submission."""

from __future__ import annotations

import threading

from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal

__all__ = ["Backlog"]

MOST_NAMESPACES = 10_000
"""Namespaces whose count is remembered."""


class Backlog:
    """Tells when a namespace's queue is full; safe to use from several threads.

    The queue is counted again once it could be half full by what this process has submitted
    since. For one process that is exact. Several that submit at the same time may pass the limit
    by what the others submitted meanwhile.

    Args:
        journal: Where the runs wait.
        most: Runs that may wait, at least 1.
    """

    def __init__(self, journal: Journal, most: int) -> None:
        self._journal = journal
        self._most = most
        self._lock = threading.Lock()
        self._waiting: dict[Namespace, int] = {}

    def is_full(self, namespace: Namespace) -> bool:
        """Whether another run of `namespace` is one too many; if not, it is taken as submitted."""
        with self._lock:
            waiting = self._waiting.get(namespace)
        if waiting is None or (waiting + 1) * 2 >= self._most:
            waiting = self._journal.backlog((namespace,))
        with self._lock:
            if len(self._waiting) >= MOST_NAMESPACES:
                self._waiting.clear()
            self._waiting[namespace] = waiting + 1
        return waiting >= self._most
