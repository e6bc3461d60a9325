"""Token counts of what was counted before.

An agent reads its memory before each call of its model, and each time nearly all of the
conversation is what it was. Messages can be edited in place at any time, so no count is kept
with a message: it is kept by a digest of the very text that was counted, which can't go stale
and holds nobody's words.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from hashlib import blake2b

from hindsight_core.adapting import kept_with
from hindsight_core.hindsight import Hindsight

__all__ = ["KeptCounts", "counter_of"]

MAX_COUNTS = 4_096
"""Counts that are kept for an open memory; past it, the one unused for longest goes."""

DIGEST_BYTES = 16


class KeptCounts:
    """The last counts of one counter of tokens; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._counts)

    def count(self, count_tokens: Callable[[str], int], text: str) -> int:
        """Return the tokens of `text`, counted by `count_tokens` if that is not known yet.

        Args:
            count_tokens: The counter, always the same one.
            text: The text, with lone surrogates or without.
        """
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
        with self._lock:
            known = self._counts.get(key)
            if known is not None:
                self._counts.move_to_end(key)
                return known
        tokens = count_tokens(text)
        with self._lock:
            self._counts[key] = tokens
            if len(self._counts) > MAX_COUNTS:
                self._counts.popitem(last=False)
        return tokens


def counter_of(hindsight: Hindsight) -> Callable[[str], int]:
    """Return what counts as `hindsight.count_tokens` does, and counts no text twice in a row.

    All views of an open memory count alike, so they share what is kept.
    """
    kept = kept_with(hindsight, KeptCounts, KeptCounts)
    return partial(kept.count, hindsight.count_tokens)
