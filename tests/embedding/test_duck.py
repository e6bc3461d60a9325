from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from hindsight_core.embedding.duck import as_embedder
from hindsight_core.errors import ConfigurationError, EmbeddingError
from hindsight_core.testing import HashingEmbedder


class LangChainLike:
    def __init__(self, vector: Any = (3.0, 4.0)) -> None:
        self.vector = vector
        self.calls: list[Any] = []

    def embed_documents(self, texts: list[str]) -> list[Any]:
        self.calls.append(texts)
        return [self.vector for _ in texts]

    def embed_query(self, text: str) -> Any:
        self.calls.append(text)
        return self.vector


class LlamaIndexLike:
    """Has `__call__` as well, which takes nodes; its embedding methods must win."""

    model_name = "bge-m3"

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 0.0] for text in texts]

    def get_query_embedding(self, query: str) -> list[float]:
        return [0.0, float(len(query))]

    def __call__(self, nodes: list[Any]) -> list[Any]:
        raise AssertionError("not for texts")


def letters(texts: list[str]) -> list[list[float]]:
    return [[float(text.count("a")), float(text.count("b")), 1.0] for text in texts]


def test_a_dense_embedder_passes_through_untouched() -> None:
    embedder = HashingEmbedder()
    assert as_embedder(embedder) is embedder
    assert embedder.calls == []


def test_langchain_methods_are_recognized_and_vectors_become_unit_length() -> None:
    embedder = as_embedder(LangChainLike())
    assert embedder.embed_documents(["one", "two"]) == [(0.6, 0.8), (0.6, 0.8)]
    assert embedder.embed_query("one") == (0.6, 0.8)
    assert (embedder.name, embedder.dimension) == ("LangChainLike-2", 2)


def test_llama_index_methods_are_recognized_and_keep_queries_apart_from_texts() -> None:
    embedder = as_embedder(LlamaIndexLike())
    assert embedder.embed_documents(["text"]) == [(1.0, 0.0)]
    assert embedder.embed_query("text") == (0.0, 1.0)
    assert (embedder.name, embedder.dimension) == ("bge-m3", 2)


def test_a_function_is_an_embedder_named_after_itself() -> None:
    embedder = as_embedder(letters)
    assert embedder.name == "letters-3"
    assert embedder.embed_query("xyz") == (0.0, 0.0, 1.0)
    assert embedder.embed_documents(["aa", "b"])[1] == pytest.approx(
        (0, 1 / math.sqrt(2), 1 / math.sqrt(2))
    )


@pytest.mark.parametrize("attribute", ["model_name", "model", "model_id"])
def test_the_name_of_the_model_is_taken_where_there_is_one(attribute: str) -> None:
    inner = LangChainLike()
    setattr(inner, attribute, "text-embedding-3-small")
    assert as_embedder(inner).name == "text-embedding-3-small"
    assert as_embedder(inner, name="mine").name == "mine"


@pytest.mark.parametrize("name", ["unknown", " ", None, object()])
def test_a_name_that_says_nothing_is_not_taken(name: Any) -> None:
    inner = LangChainLike()
    inner.model_name = name  # type: ignore[attr-defined]
    assert as_embedder(inner).name == "LangChainLike-2"


def test_the_width_is_probed_once_even_by_many_threads() -> None:
    inner = LangChainLike()
    embedder = as_embedder(inner)
    threads = [threading.Thread(target=lambda: embedder.dimension) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    embedder.embed_query("x")
    assert len(inner.calls) == 2


def test_no_texts_need_no_model() -> None:
    inner = LangChainLike()
    assert as_embedder(inner).embed_documents([]) == []
    assert inner.calls == []


def test_a_blank_text_never_reaches_the_model() -> None:
    inner = LangChainLike()
    embedder = as_embedder(inner)
    with pytest.raises(EmbeddingError, match="blank"):
        embedder.embed_query("  ")
    with pytest.raises(EmbeddingError, match="text 1 is blank"):
        embedder.embed_documents(["x", ""])
    assert inner.calls == []


@pytest.mark.parametrize("vector", [None, (), "ab", (1.0, math.nan), [[1.0]]])
def test_what_is_no_vector_is_refused(vector: Any) -> None:
    with pytest.raises(EmbeddingError, match="LangChainLike returned"):
        as_embedder(LangChainLike(vector)).embed_query("x")


def test_a_vector_of_zeros_has_no_direction_and_stays() -> None:
    assert as_embedder(LangChainLike((0.0, 0.0))).embed_query("x") == (0.0, 0.0)


def test_a_model_that_changes_its_width_is_caught() -> None:
    inner = LangChainLike()
    embedder = as_embedder(inner)
    embedder.embed_query("x")
    inner.vector = (1.0, 2.0, 3.0)
    with pytest.raises(EmbeddingError, match=r"expected \(2,\)"):
        embedder.embed_documents(["x"])


@pytest.mark.parametrize(
    ("reply", "says"),
    [(lambda texts: None, "NoneType"), (lambda texts: [], "0 vectors"), (lambda texts: 3, "int")],
)
def test_a_function_that_returns_no_list_of_vectors_is_refused(reply: Any, says: str) -> None:
    with pytest.raises(EmbeddingError, match=says):
        as_embedder(reply).embed_query("x")


def test_a_batch_that_is_no_list_is_refused() -> None:
    embedder = as_embedder(lambda texts: [[1.0]] if texts == ["dimension"] else 3)
    with pytest.raises(EmbeddingError, match="int instead of a list"):
        embedder.embed_documents(["x"])


def test_what_the_model_raises_is_translated_with_its_cause() -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise TimeoutError("no answer")

    with pytest.raises(EmbeddingError, match="broken could not embed 1 texts: no answer") as caught:
        as_embedder(broken).embed_query("x")
    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.parametrize("obj", [None, 3, "model", object()])
def test_anything_else_is_refused_with_what_was_expected(obj: Any) -> None:
    with pytest.raises(ConfigurationError, match="embed_documents and embed_query"):
        as_embedder(obj)


def test_a_class_is_not_an_instance() -> None:
    with pytest.raises(ConfigurationError, match="pass an instance"):
        as_embedder(LangChainLike)
