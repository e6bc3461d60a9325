"""A store that is not there yet, and is used as soon as it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from hindsight_core.errors import StoreError, StoreUnavailableError
from hindsight_core.locks import ForkSafeLock
from hindsight_core.store.base import MemoryStore, Schema, StoreOp, StoreStats

__all__ = ["DeferredStore"]

R = TypeVar("R")

SECONDS_BETWEEN_TRIES = 5.0


class DeferredStore(MemoryStore):
    """Tries to open the real store at each operation, at most every few seconds.

    Until that works every operation raises `StoreUnavailableError`, so that runs are kept in
    the journal and an agent goes on without memory instead of not at all.
    """

    def __init__(
        self,
        opened: Callable[[], MemoryStore],
        schema: Schema,
        location: str,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = opened
        self._schema = schema
        self._location = location
        self._monotonic = monotonic
        self._lock = ForkSafeLock()
        self._store: MemoryStore | None = None
        self._error: StoreError | None = None
        self._tried_at = -SECONDS_BETWEEN_TRIES
        self._closed = False

    def execute(self, op: StoreOp[R]) -> R:
        """Execute `op` on the real store if it can be opened."""
        return self._ready().execute(op)

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op` without blocking the event loop."""
        store = await asyncio.to_thread(self._ready)
        return await store.aexecute(op)

    def stats(self) -> StoreStats:
        """Describe the real store, or say why it is not there."""
        try:
            return self._ready().stats()
        except StoreUnavailableError as error:
            details = {"unavailable": str(error)}
            return StoreStats("deferred", self._location, 0, self._schema, details)

    def is_ready(self) -> bool:
        """Whether the real store is there; tries to open it when that is due."""
        try:
            return self._ready().is_ready()
        except StoreUnavailableError:
            return False

    def close(self) -> None:
        """Close the real store, if it was ever opened."""
        with self._lock:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def _ready(self) -> MemoryStore:
        with self._lock:
            if self._store is not None:
                return self._store
            if self._closed:
                raise StoreUnavailableError("the store was closed before it could be opened")
            if self._monotonic() - self._tried_at >= SECONDS_BETWEEN_TRIES:
                self._tried_at = self._monotonic()
                try:
                    self._store = self._open()
                except StoreError as error:
                    self._error = error
                else:
                    return self._store
            raise StoreUnavailableError(f"no memory for now: {self._error}") from self._error
