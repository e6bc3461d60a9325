from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.embedding.bm25 import MAX_CHARACTERS, Bm25Embedder, is_question
from hindsight_core.errors import EmbeddingError, MissingExtraError
from hindsight_core.store.base import SparseVector

BM25 = Bm25Embedder()


def terms(text: str) -> set[int]:
    return set(BM25.embed_query(text).indices)


def test_english_words_meet_in_their_stem() -> None:
    assert terms("running") == terms("runs") == terms("RUN")
    assert terms("running") != terms("walking")


def test_chinese_is_segmented_so_that_a_word_is_found_inside_a_sentence() -> None:
    assert terms("数据库") <= terms("数据库连接失败时请重试")
    assert not terms("天气") & terms("数据库连接失败时请重试")


def test_mixed_text_is_found_by_either_language() -> None:
    both = terms("用 read_csv 读取销售数据")
    assert terms("read_csv") & both
    assert terms("销售") <= both


def test_a_query_weighs_every_term_alike_and_a_document_by_its_frequency() -> None:
    assert set(BM25.embed_query("fail fail database").values) == {1.0}
    [document] = BM25.embed_documents(["fail fail database"])
    weights = dict(zip(document.indices, document.values, strict=True))
    [fail], [database] = terms("fail"), terms("database")
    assert weights[fail] > weights[database] > 1


def test_a_stop_word_of_a_question_weighs_less_than_what_it_asks_about() -> None:
    vector = BM25.embed_query("what did the database do?")
    weights = dict(zip(vector.indices, vector.values, strict=True))
    [database] = terms("database")
    assert weights.pop(database) == 1
    assert weights
    assert all(0 < weight < 1 for weight in weights.values())


def test_a_question_of_stop_words_alone_is_still_a_question() -> None:
    vector = BM25.embed_query("what did they do?")
    assert set(vector.values) == {1.0}


def test_a_question_mark_of_any_script_makes_a_question() -> None:
    assert all(is_question(text) for text in ("why?", "为什么？", "لماذا؟", "why? \n"))
    assert not is_question("why")


def test_content_terms_leave_stop_words_out() -> None:
    assert BM25.content_terms("what did the database do") == terms("database")
    assert BM25.content_terms("the of and") == frozenset()


@pytest.mark.parametrize("text", ["", " \n", "..."])
def test_a_text_without_terms_gives_an_empty_vector(text: str) -> None:
    assert BM25.embed_query(text) == SparseVector()
    assert BM25.embed_documents([text]) == [SparseVector()]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None, categories=None), max_size=80))
def test_no_string_at_all_is_refused(text: str) -> None:
    [document] = BM25.embed_documents([text])
    assert len(document.indices) == len(document.values) == len(set(document.indices))
    assert set(BM25.embed_query(text).indices) == set(document.indices)


def test_lone_surrogates_and_nul_do_not_hide_the_rest() -> None:
    assert terms("database") <= terms("\ud800 database \x00 fail")


def test_of_a_very_long_text_both_ends_are_read() -> None:
    text = "alpha " + "filler " * MAX_CHARACTERS + " omega"
    assert terms("alpha omega") <= terms(text)
    [document] = BM25.embed_documents([text])
    assert len(document.indices) <= 6


def test_something_else_than_a_string_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="NoneType"):
        BM25.embed_query(None)  # type: ignore[arg-type]


def test_threads_get_the_same_vectors_as_one_alone() -> None:
    embedder = Bm25Embedder()
    texts = [f"lesson {n} about reading files" for n in range(50)]
    expected = embedder.embed_documents(texts)
    results: list[list[SparseVector]] = []
    threads = [
        threading.Thread(target=lambda: results.append(embedder.embed_documents(texts)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_where_the_engine_is_not_installed_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)
    with pytest.raises(MissingExtraError, match="pip install"):
        Bm25Embedder().embed_query("anything")


def test_what_the_engine_raises_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        def embed_query(self, text: str) -> None:
            raise Exception("boom")

    embedder = Bm25Embedder()
    monkeypatch.setattr(embedder, "_models", (Engine(), Engine()))
    with pytest.raises(EmbeddingError, match="'anything': boom"):
        embedder.embed_query("anything")
