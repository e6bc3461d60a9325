"""fastembed's cross-encoder, which reads a query and a text together."""

from __future__ import annotations

import importlib
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from hindsight_core.embedding.folders import cache_folder
from hindsight_core.embedding.sources import (
    KnownModel,
    ModelFolder,
    fetch_model,
    fetched_model,
    import_fastembed,
)
from hindsight_core.errors import ConfigurationError, ModelUnavailableError

__all__ = ["CrossEncoder", "PairModel", "find_cross_encoder"]


class PairModel(Protocol):
    """What is used of fastembed's `TextCrossEncoder`."""

    def rerank(self, query: str, documents: Iterable[str]) -> Iterable[float]:
        """Return one logit for each document."""


class CrossEncoder:
    """Rates texts for a query with a model that is loaded when it is first needed.

    The model must be at hand, in our cache folder or fastembed's; it is fetched only where
    downloads are allowed and the hub answers. While it is being loaded other calls fail at
    once, and what can't be loaded is remembered, so that no later call waits for it.

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
                f"the cross-encoder {self._name!r} is not at hand: {exc}; fetch it once where "
                "there is a network, or set another rerank_model or rerank='off'"
            )
            raise self._failure from exc

    def _from_fastembed(self) -> PairModel:
        found = find_cross_encoder(
            self._name, cache_dir=self._cache_dir, allow_download=self._allow_download
        )
        model: PairModel = _encoders()(
            self._name, cache_dir=str(found.path.parent), specific_model_path=str(found.path)
        )
        return model


def find_cross_encoder(
    name: str, *, cache_dir: Path | None = None, allow_download: bool = True
) -> ModelFolder:
    """Return the folder with the files of a cross-encoder; it is not loaded.

    Args:
        name: Name of the model, in any letter case.
        cache_dir: Where fetched models are kept, `None` for the platform's cache folder.
        allow_download: Whether the hub may be asked for what is not there.

    Raises:
        ConfigurationError: If fastembed does not know it.
        ModelUnavailableError: If it is not there and can't be fetched; the message says why.
    """
    model, cache = _described(name), cache_folder(cache_dir)
    try:
        return fetched_model(model, cache)
    except ModelUnavailableError as absent:
        try:
            return fetch_model(model, cache, allow_download=allow_download)
        except ModelUnavailableError as exc:
            raise ModelUnavailableError(f"{absent}; {exc}") from exc


def _described(name: str) -> KnownModel:
    known = _encoders().list_supported_models()
    for entry in known:
        repository = entry["sources"].get("hf")
        if entry["model"].lower() == name.lower() and repository:
            files = (entry["model_file"], *entry.get("additional_files", ()))
            return KnownModel(entry["model"], 0, repository, files)
    names = ", ".join(entry["model"] for entry in known)
    raise ConfigurationError(f"rerank_model {name!r} is none that fastembed knows: {names}")


def _encoders() -> Any:
    import_fastembed()
    return importlib.import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
