"""Adapters for embedders made elsewhere, recognized by their methods, not by their class."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.vectors import unit_vectors, usable_text, usable_texts
from hindsight_core.errors import ConfigurationError, EmbeddingError
from hindsight_core.store.base import Vector

__all__ = ["ForeignEmbedder", "as_embedder"]

PROBE = "dimension"
"""The text whose vector shows how wide the vectors are."""
NAME_ATTRIBUTES = ("model_name", "model", "model_id")
NO_NAMES = frozenset({"", "unknown"})


class ForeignEmbedder:
    """An embedder behind another library's methods; made by `as_embedder`.

    Vectors are checked and scaled to unit length; a vector of zeros stays as it is. The width
    is found by embedding one short text, once, when it is first asked for.

    It is as safe to use from several threads as what it wraps.
    """

    def __init__(
        self,
        documents: Callable[[list[str]], Any],
        query: Callable[[str], Any],
        *,
        label: str,
        is_named: bool,
    ) -> None:
        self._documents = documents
        self._query = query
        self._label = label
        self._is_named = is_named
        self._dimension = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the model, or the name of the class and the width where it has none.

        Raises:
            EmbeddingError: If it has no name and its width can't be found.
        """
        return self._label if self._is_named else f"{self._label}-{self.dimension}"

    @property
    def dimension(self) -> int:
        """Width of the vectors.

        Raises:
            EmbeddingError: If the first text can't be embedded.
        """
        with self._lock:
            if not self._dimension:
                self._dimension = len(self._one(PROBE, width=0))
            return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts to be stored, in order.

        Raises:
            EmbeddingError: If a text is blank, the model fails or what it returns are not
                vectors of finite numbers, one for each text, all of one width.
        """
        usable = usable_texts(texts)
        if not usable:
            return []
        return self._checked(
            lambda: self._documents(usable), count=len(usable), width=self.dimension
        )

    def embed_query(self, text: str) -> Vector:
        """Embed one query.

        Raises:
            EmbeddingError: As in `embed_documents`.
        """
        return self._one(usable_text(text), width=self.dimension)

    def _one(self, text: str, *, width: int) -> Vector:
        return self._checked(lambda: [self._query(text)], count=1, width=width)[0]

    def _checked(self, call: Callable[[], Any], *, count: int, width: int) -> list[Vector]:
        try:
            rows = call()
        except Exception as exc:
            raise EmbeddingError(f"{self._label} could not embed {count} texts: {exc}") from exc
        if not hasattr(rows, "__iter__"):
            raise EmbeddingError(
                f"{self._label} returned {type(rows).__name__} instead of a list of vectors"
            )
        return unit_vectors(rows, count=count, dimension=width, model=self._label)


def as_embedder(obj: Any, *, name: str = "") -> DenseEmbedder:
    """Return `obj` as a dense embedder.

    Accepts what already is one; an object with `embed_documents` and `embed_query` (LangChain)
    or with `get_text_embedding_batch` and `get_query_embedding` (LlamaIndex); or a function
    from a list of texts to a list of vectors.

    Args:
        obj: The embedder.
        name: What to store with the data, by default the object's `model_name`, `model` or
            `model_id`, else its class or function name and the width. Name two models that
            would share the latter, or one can read what the other wrote, without sense.

    Raises:
        ConfigurationError: If it is none of these.
    """
    if isinstance(obj, type):
        raise ConfigurationError(f"{obj.__name__} is a class; pass an instance of it")
    if not name and _conforms(obj):
        embedder: DenseEmbedder = obj
        return embedder
    documents, query = _methods(obj)
    named = name or _model_name(obj)
    label = named or getattr(obj, "__name__", "") or type(obj).__name__
    return ForeignEmbedder(documents, query, label=label, is_named=bool(named))


def _methods(obj: Any) -> tuple[Callable[[list[str]], Any], Callable[[str], Any]]:
    if _has(obj, "embed_documents", "embed_query"):
        return obj.embed_documents, obj.embed_query
    if _has(obj, "get_text_embedding_batch", "get_query_embedding"):
        return obj.get_text_embedding_batch, obj.get_query_embedding
    if callable(obj):
        return obj, lambda text: _only(obj([text]))
    raise ConfigurationError(
        f"{type(obj).__name__} is not an embedder: expected embed_documents and embed_query "
        "(LangChain), get_text_embedding_batch and get_query_embedding (LlamaIndex), or a "
        "function from a list of texts to a list of vectors"
    )


def _only(rows: Any) -> Any:
    if len(rows) != 1:
        raise EmbeddingError(f"{len(rows)} vectors for 1 text")
    return rows[0]


def _conforms(obj: Any) -> bool:
    # Looked up on the class: a property that loads a model must not run here.
    described = all(
        hasattr(type(obj), name) or name in getattr(obj, "__dict__", {})
        for name in ("name", "dimension")
    )
    return described and _has(obj, "embed_documents", "embed_query")


def _has(obj: Any, *methods: str) -> bool:
    return all(callable(getattr(obj, method, None)) for method in methods)


def _model_name(obj: Any) -> str:
    for attribute in NAME_ATTRIBUTES:
        value = getattr(obj, attribute, None)
        if isinstance(value, str) and value.strip().lower() not in NO_NAMES:
            return value.strip()
    return ""
