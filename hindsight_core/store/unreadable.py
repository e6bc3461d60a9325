"""What a store does with a memory that can't be read any more: leave it out, and say so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hindsight_core.errors import StoreCorruptError

__all__ = ["Unreadable"]

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Unreadable:
    """The damaged points that one store has met, each logged once.

    One of them must not keep all others from being found, so searching and listing go on
    without it; asking for exactly that memory still says what is wrong. Safe to use from several
    threads.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._ids)

    def read(
        self,
        point_id: object,
        stored: Mapping[str, Any] | None,
        how: Callable[[Mapping[str, Any] | None], T],
    ) -> T | None:
        """Return what `how` makes of a stored form, `None` if it is damaged.

        Args:
            point_id: Id of the point that it is stored under.
            stored: The stored form.
            how: Reads it, raising `StoreCorruptError` for damage.
        """
        try:
            read = how(stored)
        except StoreCorruptError as error:
            self._note(str(point_id), error)
            return None
        if self._ids:  # a memory that was written anew is counted no longer
            with self._lock:
                self._ids.discard(str(point_id))
        return read

    def _note(self, point_id: str, error: StoreCorruptError) -> None:
        with self._lock:
            is_new = point_id not in self._ids
            self._ids.add(point_id)
        if is_new:
            logger.error("the memory at point %s is left out: %s", point_id, error)
