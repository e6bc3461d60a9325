"""Late interaction: every token of a query looks for the nearest token of a text.

The token vectors are the last hidden states of the very model that embeds, which was not
trained for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hindsight_core.embedding.offline import WINDOW
from hindsight_core.embedding.sources import describe_model, find_model, import_fastembed
from hindsight_core.settings import Settings

__all__ = ["Cost", "LateInteraction", "TokenVectors", "model_tokens"]

Tokens: TypeAlias = NDArray[np.float16]
TokenVectors: TypeAlias = Callable[[str], Tokens]
"""Gives the unit-length vectors of a text's tokens, one row each."""
KEPT_TEXTS = 4_096
"""Texts whose token vectors are held in memory: those of one set."""
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Cost:
    """What a re-ranker costs.

    Attributes:
        milliseconds: Per query.
        megabytes: Per memory that is stored.
        results: Results that were rated.
    """

    milliseconds: float
    megabytes: float
    results: int


class LateInteraction:
    """Rates texts by the mean, over the query's tokens, of the nearest token's cosine.

    That is MaxSim of ColBERT (Khattab and Zaharia, 2020), divided by the query's length.

    Args:
        tokens: Gives token vectors; those of texts are kept in memory, as a store would.
    """

    name = "late interaction of the embedder's tokens"

    def __init__(self, tokens: TokenVectors) -> None:
        self._query = tokens
        self._text = lru_cache(KEPT_TEXTS)(tokens)

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the rating of each text, −1 to 1."""
        asked = self._query(query).astype(np.float32)
        return [_nearest(asked, self._text(text)) for text in texts]

    def cost(self, query: str, texts: Sequence[str]) -> Cost:
        """Return what rating `texts` takes once their token vectors are there.

        The query's own are a by-product of embedding it.
        """
        asked = self._query(query).astype(np.float32)
        kept = [self._text(text) for text in texts]
        start = time.perf_counter()
        for one in kept:
            _nearest(asked, one)
        took = (time.perf_counter() - start) * 1e3
        size = sum(one.nbytes for one in kept) / max(1, len(kept)) / MEGABYTE
        return Cost(took, size, len(texts))


def model_tokens() -> TokenVectors:
    """Return the token vectors of the default model, through fastembed.

    Raises:
        ModelUnavailableError: If the model is not at hand.
    """
    known = describe_model(Settings().embedding_model)
    found = find_model(Settings(), known)
    model: Any = import_fastembed().TextEmbedding(
        known.name, cache_dir=str(found.path.parent), specific_model_path=str(found.path)
    )
    model.model.tokenizer.enable_truncation(WINDOW)

    def tokens(text: str) -> Tokens:
        output = model.model.onnx_embed([text or " "])
        states = np.asarray(output.model_output)[0][np.asarray(output.attention_mask)[0] > 0]
        # Without [CLS] and [SEP], which say nothing of their own, unless there is nothing else.
        states = states[1:-1] if len(states) > 2 else states
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        unit: Tokens = (states / np.maximum(lengths, 1e-9)).astype(np.float16)
        return unit

    return tokens


def _nearest(asked: NDArray[np.float32], text: Tokens) -> float:
    return float((asked @ text.astype(np.float32).T).max(axis=1).mean())
