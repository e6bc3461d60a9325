"""What goes into an embedder and what must come out: usable texts, unit-length vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hindsight_core.errors import EmbeddingError
from hindsight_core.store.base import Vector

__all__ = ["unit_vectors", "usable_text", "usable_texts", "well_formed"]


def well_formed(text: str) -> str:
    """Return `text` as valid Unicode: surrogate pairs joined, lone surrogates replaced.

    Python strings that come out of broken JSON or file names may hold surrogates, which no
    tokenizer accepts.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def usable_text(text: str) -> str:
    """Return `text` in valid Unicode.

    Raises:
        EmbeddingError: If it is not a string or has nothing but white space in it: a blank
            text has no meaning that a vector could point at.
    """
    return usable_texts((text,))[0]


def usable_texts(texts: Sequence[str]) -> list[str]:
    """Return `texts` in valid Unicode, in order.

    Raises:
        EmbeddingError: If one of them is not a string or is blank; the message says which.
    """
    if isinstance(texts, str):
        raise EmbeddingError(f"expected a list of texts, got one string {texts[:60]!r}")
    usable = []
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise EmbeddingError(
                f"text {position} is {type(text).__name__}, not a string; pass its text"
            )
        if not text.strip():
            raise EmbeddingError(f"text {position} is blank ({text[:20]!r}); nothing to embed")
        usable.append(well_formed(text))
    return usable


def unit_vectors(rows: Iterable[Any], *, count: int, dimension: int, model: str) -> list[Vector]:
    """Check what a model returned and scale every vector to unit length.

    Args:
        rows: One sequence of numbers for each text, arrays included.
        count: How many there must be.
        dimension: How wide each must be; 0 takes the width of the first.
        model: Name of the model, for messages.

    Returns:
        Tuples of floats with Euclidean length 1. A vector of zeros has no direction and stays
        as it is; it is equally unlike everything.

    Raises:
        EmbeddingError: If there are more or fewer vectors, one has another width, or one holds
            something that is not a finite number.
    """
    import numpy as np

    listed = list(rows)
    if len(listed) != count:
        raise EmbeddingError(f"{model} returned {len(listed)} vectors for {count} texts")
    vectors: list[Vector] = []
    for position, row in enumerate(listed):
        try:
            array = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError) as exc:
            raise EmbeddingError(
                f"{model} returned {type(row).__name__} instead of numbers for text {position}"
            ) from exc
        dimension = dimension or array.size
        if array.ndim != 1 or array.size != dimension or not array.size:
            raise EmbeddingError(
                f"{model} returned shape {array.shape} for text {position}, "
                f"expected ({dimension},); is it the model that the store was written with?"
            )
        if not np.isfinite(array).all():
            raise EmbeddingError(f"{model} returned NaN or infinity for text {position}")
        norm = float(np.linalg.norm(array))
        vectors.append(tuple((array / norm if norm else array).tolist()))
    return vectors
