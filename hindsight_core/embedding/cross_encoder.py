"""fastembed's cross-encoder, which reads a query and a text together."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hindsight_core.embedding.sources import import_fastembed
from hindsight_core.errors import ModelUnavailableError

__all__ = ["CrossEncoder", "PairModel"]


class PairModel(Protocol):
    """What is used of fastembed's `TextCrossEncoder`."""

    def rerank(self, query: str, documents: Iterable[str]) -> Iterable[float]:
        """Return one logit for each document."""


class CrossEncoder:
    """Rates texts for a query with a model that is loaded when it is first needed.

    The model must be at hand, in fastembed's cache or a folder; it is fetched only where
    downloads are allowed. While it is being loaded other calls fail at once, and what can't be
    loaded is remembered, so that no later call waits for it.

    Args:
        name: Name of the model, one that fastembed knows.
        cache_dir: Where fetched models are kept.
        allow_download: Whether the hub may be asked.
        load: Loads the model, by default from fastembed.
    """

    def __init__(
        self,
        name: str,
        *,
        cache_dir: Path | None = None,
        allow_download: bool = True,
        load: Callable[[], PairModel] | None = None,
    ) -> None:
        self._name = name
        self._cache_dir = cache_dir
        self._allow_download = allow_download
        self._open = load or self._from_fastembed
        self._lock = threading.Lock()
        self._model: PairModel | None = None
        self._failure: ModelUnavailableError | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return 1 + 4 · sigmoid(logit), in 1–5, for each text.

        Raises:
            ModelUnavailableError: If the model is not at hand.
        """
        logits = self._load().rerank(query, list(texts))
        return [1.0 + 4.0 / (1.0 + math.exp(-max(-60.0, float(logit)))) for logit in logits]

    def _load(self) -> PairModel:
        if self._model is not None:
            return self._model
        if not self._lock.acquire(blocking=False):
            raise ModelUnavailableError(f"the cross-encoder {self._name!r} is still being loaded")
        try:
            if self._failure is not None:
                raise self._failure
            if self._model is None:
                self._model = self._opened()
            return self._model
        finally:
            self._lock.release()

    def _opened(self) -> PairModel:
        try:
            return self._open()
        except Exception as exc:  # the libraries' errors share no base class
            self._failure = ModelUnavailableError(
                f"the cross-encoder {self._name!r} is not at hand: {exc}; put it into "
                "fastembed's cache, or set another rerank_model"
            )
            raise self._failure from exc

    def _from_fastembed(self) -> PairModel:
        import_fastembed()
        encoders = importlib.import_module("fastembed.rerank.cross_encoder")
        options: dict[str, Any] = {"local_files_only": not self._allow_download}
        if self._cache_dir is not None:
            options["cache_dir"] = str(self._cache_dir)
        model: PairModel = encoders.TextCrossEncoder(self._name, **options)
        return model
