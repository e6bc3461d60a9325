"""Memories as they were read lately, so that the next search need not read them again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from hindsight_core.models import Memory

__all__ = ["LONGEST_KEPT", "MOST_CHARACTERS", "MOST_KEPT", "KeptMemories"]

MOST_KEPT = 8_192
"""Memories kept; the one that was not asked for the longest goes first. One takes about 1 kB
besides its text."""
MOST_CHARACTERS = 8_000_000
"""Characters of content of all that are kept, so that they stay below some 25 MB together."""
LONGEST_KEPT = 4_096
"""Characters of content of a memory that is kept."""


class KeptMemories:
    """Memories by the number of their point, and the count of writes that keeps them true.

    Only this process writes to the folder, so what was read stays true until a write begins.
    A write drops what it may change before it changes anything, and what was read while a
    write was under way is not kept. Safe to use from several threads.

    ```python
    kept = KeptMemories()
    before = kept.writes
    kept.keep({1: memory}, before)  # read in between
    kept.read([1, 2])  # {1: memory}
    ```
    """

    def __init__(self, most: int = MOST_KEPT, characters: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._most_characters = characters
        self._characters = 0
        self._lock = threading.Lock()
        self._memories: OrderedDict[int, Memory] = OrderedDict()
        self._writes = 0

    def __len__(self) -> int:
        return len(self._memories)

    @property
    def writes(self) -> int:
        """Count of writes: one more when one begins and when it ends, so odd meanwhile."""
        return self._writes

    def began_write(self, points: Iterable[int] | None = ()) -> None:
        """Drop what a write is about to change; `None` stands for any memory."""
        with self._lock:
            self._writes += 1
            if points is None:
                self._memories.clear()
                self._characters = 0
                return
            for point in points:
                self._drop(point)

    def ended_write(self) -> None:
        """Note that a write is over, whether or not it went well."""
        with self._lock:
            self._writes += 1

    def was_quiet_since(self, writes: int) -> bool:
        """Whether no write was under way at any moment since `writes` was the count."""
        return writes % 2 == 0 and writes == self._writes

    def read(self, points: Iterable[int]) -> dict[int, Memory]:
        """Return those of `points` that are kept."""
        found: dict[int, Memory] = {}
        memories = self._memories
        with self._lock:
            for point in points:
                memory = memories.get(point)
                if memory is not None:
                    memories.move_to_end(point)
                    found[point] = memory
        return found

    def keep(self, memories: Mapping[int, Memory], writes: int) -> None:
        """Keep what was read since the count was `writes`, unless something was written since."""
        with self._lock:
            if not self.was_quiet_since(writes):
                return
            for point, memory in memories.items():
                if len(memory.content) <= LONGEST_KEPT:
                    self._drop(point)
                    self._memories[point] = memory
                    self._characters += len(memory.content)
            while len(self._memories) > self._most or self._characters > self._most_characters:
                _, oldest = self._memories.popitem(last=False)
                self._characters -= len(oldest.content)

    def _drop(self, point: int) -> None:
        memory = self._memories.pop(point, None)
        if memory is not None:
            self._characters -= len(memory.content)
