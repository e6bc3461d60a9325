"""What of a long memory stands in a brief."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hindsight_core import Hindsight
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.retrieval.excerpt import MAX_LINE_LENGTH, Excerpts
from hindsight_core.testing import HashingEmbedder

FILLER = "The meeting went on about the seating plan for the summer party and its budget. "
LONG = (
    "Notes from the release meeting. "
    + FILLER * 15
    + "The staging database listens on port 6543, not on the usual one. "
    + FILLER * 15
)
WORDS = Bm25Embedder()


def test_a_brief_shows_the_sentence_that_was_asked_for_wherever_it_stands(tmp_path: Path) -> None:
    with Hindsight.open(tmp_path, namespace="acme", embedder=HashingEmbedder()) as hindsight:
        hindsight.store(LONG)
        brief = hindsight.brief("Which port does the staging database use?", abstain=False)
    assert "listens on port 6543" in brief.text
    assert "Notes from the release meeting." in brief.text


def test_a_short_text_stays_as_it_is() -> None:
    assert Excerpts("port", WORDS.content_terms)("a\n b") == "a b"


def test_a_long_text_that_says_it_at_the_beginning_is_cut_at_a_word() -> None:
    text = "The port is 6543. " + FILLER * 30
    cut = Excerpts("Which port?", WORDS.content_terms)(text)
    assert cut.endswith(" …")
    assert text.startswith(cut.removesuffix(" …"))
    assert len(cut) > MAX_LINE_LENGTH * 0.9


def test_a_query_without_terms_shows_the_beginning() -> None:
    for query in ("", "??", "the of and"):
        cut = Excerpts(query, WORDS.content_terms)(LONG)
        assert LONG.startswith(cut.removesuffix(" …"))


def test_the_end_of_a_text_has_no_ellipsis_behind_it() -> None:
    text = FILLER * 20 + "The port is 6543."
    assert Excerpts("Which port?", WORDS.content_terms)(text).endswith("The port is 6543.")


def test_a_sentence_longer_than_a_line_is_cut_itself() -> None:
    text = FILLER * 12 + "The port " + "and again " * 200 + "is 6543."
    cut = Excerpts("Which port?", WORDS.content_terms)(text)
    assert "The port and again" in cut
    assert cut.endswith(" …")


def test_chinese_sentences_are_told_apart() -> None:
    filler = "会议讨论了夏季聚会的座位安排和预算。"
    text = filler * 60 + "测试数据库监听端口6543。" + filler * 60
    cut = Excerpts("测试数据库的端口是多少", WORDS.content_terms)(text)
    assert "监听端口6543" in cut


@given(
    st.lists(st.sampled_from([*"aé 中。.?!\n…", "port", " 6543. "]), max_size=1_500).map("".join),
    st.sampled_from(["port", "中", "", "6543 port"]),
)
def test_an_excerpt_is_never_longer_than_a_line_and_holds_nothing_that_is_not_there(
    text: str, query: str
) -> None:
    cut = Excerpts(query, WORDS.content_terms)(text)
    assert len(cut) <= MAX_LINE_LENGTH + 2
    plain = " ".join(text.split())
    for part in cut.removesuffix(" …").split(" … "):
        assert part.strip() in plain or part == cut
