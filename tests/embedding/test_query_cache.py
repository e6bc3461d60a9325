from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.embedding.cache import CacheCounts, CachedQueries
from hindsight_core.errors import EmbeddingError
from hindsight_core.testing import HashingEmbedder


def test_a_query_asked_twice_is_embedded_once(embedder: HashingEmbedder) -> None:
    cached = CachedQueries(embedder, 2)
    assert cached.embed_query("a b") == cached.embed_query("a b")
    assert embedder.calls == [("a b",)]
    assert cached.counts == CacheCounts(hits=1, misses=1, size=1)


def test_a_size_of_zero_keeps_nothing(embedder: HashingEmbedder) -> None:
    cached = CachedQueries(embedder, 0)
    cached.embed_query("a")
    cached.embed_query("a")
    assert cached.counts == CacheCounts(hits=0, misses=2, size=0)


def test_documents_and_the_model_pass_through(embedder: HashingEmbedder) -> None:
    cached = CachedQueries(embedder, 2)
    assert cached.embed_documents(["a"]) == embedder.embed_documents(["a"])
    assert (cached.name, cached.dimension, cached.inner) == ("hashing", 64, embedder)
    assert cached.counts.size == 0


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_query_never_reaches_the_embedder(query: str, embedder: HashingEmbedder) -> None:
    with pytest.raises(EmbeddingError, match="blank"):
        CachedQueries(embedder, 2).embed_query(query)
    assert embedder.calls == []


def test_a_failure_is_not_kept(embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = CachedQueries(embedder, 2)
    with monkeypatch.context() as patch:

        def fail(text: str) -> None:
            raise EmbeddingError("down")

        patch.setattr(embedder, "embed_query", fail)
        with pytest.raises(EmbeddingError, match="down"):
            cached.embed_query("a")
    assert cached.embed_query("a") == embedder.embed_query("a")


@given(st.lists(st.sampled_from("abcde"), max_size=40), st.integers(0, 4))
def test_it_keeps_what_was_used_last_as_a_plain_list_would(queries: list[str], size: int) -> None:
    cached = CachedQueries(HashingEmbedder(dimension=4), size)
    kept: list[str] = []
    hits = 0
    for query in queries:
        hits += query in kept
        kept = [*(other for other in kept if other != query), query][-size:] if size else []
        cached.embed_query(query)
    assert cached.counts == CacheCounts(hits=hits, misses=len(queries) - hits, size=len(kept))


def test_threads_share_it(embedder: HashingEmbedder) -> None:
    cached = CachedQueries(embedder, 3)

    def ask() -> None:
        for number in range(200):
            cached.embed_query(f"q{number % 5}")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = cached.counts
    assert counts.hits + counts.misses == 800
    assert counts.size == 3


def test_it_knows_as_much_of_the_window_as_its_embedder(embedder: HashingEmbedder) -> None:
    class Windowed(HashingEmbedder):
        def exceeds_window(self, text: str) -> bool:
            return len(text) > 5

    assert not CachedQueries(embedder, 2).exceeds_window("any text")
    assert CachedQueries(Windowed(), 2).exceeds_window("any text")
