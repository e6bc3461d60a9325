"""The default dense embedder: a small ONNX model run by fastembed on the CPU."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hindsight_core.embedding.offline import WINDOW
from hindsight_core.embedding.sources import (
    DEFAULT_MODEL,
    KnownModel,
    ModelFolder,
    describe_model,
    find_model,
    import_fastembed,
)
from hindsight_core.embedding.vectors import unit_vectors, usable_text, usable_texts, well_formed
from hindsight_core.errors import EmbeddingError, ModelUnavailableError
from hindsight_core.settings import Settings
from hindsight_core.store.base import Vector

__all__ = ["MAX_CHARACTERS", "RETRY_SECONDS", "FastEmbedder", "open_embedder"]

logger = logging.getLogger(__name__)
RETRY_SECONDS = 60.0
"""How long a failure to load is remembered before the sources are asked again."""
MAX_CHARACTERS = 32_768
"""Characters of one text that are tokenized; the window ends long before that."""
BATCH_SIZE = 16
"""Texts run at once; on 2 cores larger batches were slower, since shorter texts are padded."""
EXPANSION = 4
"""Most characters that one becomes when accents are split off (Unicode NFD)."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    tokenizer: Any
    window: int
    origin: str


class FastEmbedder:
    """Embeds texts with a fastembed model that is loaded when it is first needed.

    Safe to use from several threads, and in a forked child, which loads a model of its own. A
    failure to load is remembered for `RETRY_SECONDS`, so that an agent without a model does
    not wait for one on every turn.

    The int8 file of the `offline` extra and the float file of the hub go by one name: their
    vectors of 150 texts of many kinds had a cosine of 0.9994 on average and 0.9974 at least,
    and a query of one against documents of the other kept 98 % of the ten nearest, as many as
    int8 against int8 did. A store written with one can be read with the other.

    ```python
    embedder = FastEmbedder(Settings(allow_download=False))
    vector = embedder.embed_query("How do I read a CSV file?")
    ```
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        find: Callable[[Settings, KnownModel], ModelFolder] = find_model,
    ) -> None:
        self._settings = settings if settings is not None else Settings()
        self._known = describe_model(self._settings.embedding_model)
        self._monotonic = monotonic
        self._find = find
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._failure: ModelUnavailableError | None = None
        self._failed_at = 0.0
        _embedders.add(self)

    @property
    def name(self) -> str:
        """Name of the model, stored with the data and compared at open."""
        return self._known.name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._known.dimension

    @property
    def window(self) -> int:
        """Tokens of a text that its vector stands for; what comes after is not embedded.

        Raises:
            ModelUnavailableError: If the model is not at hand.
        """
        return self._load().window

    @property
    def origin(self) -> str:
        """Where the model's files came from.

        Raises:
            ModelUnavailableError: If the model is not at hand.
        """
        return self._load().origin

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order; each vector has unit length.

        Raises:
            EmbeddingError: If a text is blank or not a string, or the model fails.
            ModelUnavailableError: If the model is not at hand.
        """
        usable = [text[:MAX_CHARACTERS] for text in usable_texts(texts)]
        if not usable:
            return []
        # Texts of like length share a batch, since every text is padded to the longest.
        order = sorted(range(len(usable)), key=lambda index: len(usable[index]))
        vectors = self._run("passage_embed", [usable[index] for index in order])
        placed: list[Vector] = [()] * len(usable)
        for index, vector in zip(order, vectors, strict=True):
            placed[index] = vector
        return placed

    def embed_query(self, text: str) -> Vector:
        """Embed one query.

        Raises:
            EmbeddingError: If the text is blank or not a string, or the model fails.
            ModelUnavailableError: If the model is not at hand.
        """
        return self._run("query_embed", [usable_text(text)[:MAX_CHARACTERS]])[0]

    def exceeds_window(self, text: str) -> bool:
        """Whether the end of `text` lies past the window and is not part of its vector.

        Raises:
            ModelUnavailableError: If the model is not at hand and the text is not short.
        """
        if len(text) > MAX_CHARACTERS:
            return True
        # A token is a character at least, so a short text needs no counting.
        longest = len(text) if text.isascii() else len(text) * EXPANSION
        if self._known == DEFAULT_MODEL and longest <= WINDOW - 2:
            return False
        return bool(self._load().tokenizer.encode(well_formed(text)).overflowing)

    def _run(self, method: str, texts: list[str]) -> list[Vector]:
        model = self._load().model
        try:
            rows = list(getattr(model, method)(texts, batch_size=BATCH_SIZE))
        except Exception as exc:  # onnxruntime's errors share no base class
            raise EmbeddingError(f"{self.name} could not embed {len(texts)} texts: {exc}") from exc
        return unit_vectors(rows, count=len(texts), dimension=self.dimension, model=self.name)

    def _load(self) -> _Loaded:
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._lock:
            if self._loaded is None:
                self._raise_remembered()
                try:
                    self._loaded = self._open()
                except ModelUnavailableError as exc:
                    self._failure, self._failed_at = exc, self._monotonic()
                    raise
            return self._loaded

    def _raise_remembered(self) -> None:
        if self._failure is None:
            return
        waited = self._monotonic() - self._failed_at
        if waited < RETRY_SECONDS:
            raise ModelUnavailableError(
                f"{self._failure} (tried {waited:.0f} s ago; "
                f"the next attempt is due in {RETRY_SECONDS - waited:.0f} s)"
            ) from self._failure

    def _open(self) -> _Loaded:
        found = self._find(self._settings, self._known)
        try:
            model = import_fastembed().TextEmbedding(
                self._known.name,
                cache_dir=str(found.path.parent),
                specific_model_path=str(found.path),
            )
        except Exception as exc:  # onnxruntime's and the tokenizer's errors share no base class
            raise ModelUnavailableError(
                f"{self.name} from {found.origin} could not be loaded: {exc}; "
                f"delete {found.path} if its files are damaged"
            ) from exc
        tokenizer = model.model.tokenizer
        if self._known == DEFAULT_MODEL:
            # Exports of this model carry windows of 128, 256 and 512 tokens; it was meant for
            # 256, and vectors of one name must not depend on who exported them.
            tokenizer.enable_truncation(WINDOW)
        logger.debug("Loaded %s from %s", self.name, found.origin)
        window = int((tokenizer.truncation or {}).get("max_length", WINDOW))
        return _Loaded(model=model, tokenizer=tokenizer, window=window, origin=found.origin)

    def _forget_after_fork(self) -> None:
        if self._loaded is not None:
            _never_free(self._loaded)
        self._loaded = None
        self._lock = threading.Lock()


def open_embedder(settings: Settings | None = None) -> FastEmbedder:
    """Return the embedder that the settings name; its model is loaded at first use.

    Raises:
        ConfigurationError: If the model's name is not one that fastembed knows.
    """
    return FastEmbedder(settings)


_embedders: weakref.WeakSet[FastEmbedder] = weakref.WeakSet()


def _never_free(loaded: _Loaded) -> None:
    """Keep a parent's model in a forked child, also when the interpreter ends.

    Its threads are gone, and freeing it would wait for them. A reference from Python is not
    enough: those are all let go at exit.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(loaded))


def _after_fork_in_child() -> None:
    for embedder in list(_embedders):
        embedder._forget_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
