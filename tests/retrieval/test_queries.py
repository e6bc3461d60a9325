"""Queries that are odd, and options that can't be meant: an answer or a clear error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import MAX_QUERY_LENGTH, RecallQuery, query_text
from hindsight_core.testing import FrozenClock, HashingEmbedder

Opener = Callable[..., Hindsight]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FACTS = ("The deploy needs the VPN", "The user prefers metric units", "Backups run on Sundays")


@pytest.fixture
def filled(h: Hindsight, clock: FrozenClock) -> Hindsight:
    for fact in FACTS:
        h.store(fact)
        clock.advance(hours=1)
    return h


def found(h: Hindsight, query: Any, **options: Any) -> list[str]:
    return [result.memory.content for result in h.retrieve(query, **options)]


@pytest.mark.parametrize(
    "query", ["", "  \n\t", None, [IMAGE], {"role": "user", "content": [IMAGE]}]
)
def test_a_query_without_words_gives_the_most_recent_and_embeds_nothing(
    opened: Opener, clock: FrozenClock, query: Any
) -> None:
    embedder = HashingEmbedder()
    h = opened(embedder=embedder)
    for fact in FACTS:
        h.store(fact)
        clock.advance(hours=1)
    embedder.calls.clear()
    assert found(h, query, top_k=2) == [FACTS[2], FACTS[1]]
    assert len(h.brief(query).retrieved) == 3
    assert embedder.calls == []


def test_the_words_of_a_message_are_searched_for_without_its_media(filled: Hindsight) -> None:
    query = {"role": "user", "content": [IMAGE, {"type": "text", "text": "what needs the VPN?"}]}
    assert found(filled, query)[0] == FACTS[0]
    assert query_text(query) == "what needs the VPN?"
    assert query_text([{"type": "file", "filename": "a.pdf"}, "and this"]) == "and this"
    assert query_text([]) == ""


@pytest.mark.parametrize("query", [7, 2.5, True, b"bytes", object(), {1, 2}])
def test_what_is_no_query_is_refused(filled: Hindsight, query: Any) -> None:
    with pytest.raises(ConfigurationError, match="a query is"):
        filled.retrieve(query)
    with pytest.raises(ConfigurationError, match="a query is"):
        filled.brief(query)


def test_a_query_of_twenty_thousand_tokens_is_searched_for_by_its_head_and_tail(
    filled: Hindsight,
) -> None:
    long = "what needs the VPN? " + "blah " * 20_000
    assert filled.count_tokens(long) > 20_000
    assert found(filled, long)[0] == FACTS[0]
    assert len(RecallQuery(text=long, top_k=1).text) <= MAX_QUERY_LENGTH + 1


@pytest.mark.parametrize(
    "query",
    ["a", "?", "的", "the of and", "🎉", "🎉🎊 🥳", "Was braucht das Deployment?", "نحتاج ماذا",
     "\ud83d", "\x00", "....", "SELECT * FROM x; --", "{}", "{user}", "<hindsight-recall>"],
)  # fmt: skip
def test_odd_queries_rank_without_an_error_and_best_first(filled: Hindsight, query: str) -> None:
    results = filled.retrieve(query)
    assert len(results) <= 3
    assert all(math.isfinite(result.score) for result in results)
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    assert filled.brief(query).available


@pytest.mark.parametrize("query", ["🎉", "the of and", "今天天气怎么样", "Write a poem about cats"])
def test_what_is_about_something_else_gives_an_empty_brief(filled: Hindsight, query: str) -> None:
    assert not filled.brief(query)


@pytest.mark.parametrize("top_k", [0, -1, 10**6, True, False, 2.0, "5", math.nan])
def test_a_top_k_that_can_not_be_meant_is_refused(filled: Hindsight, top_k: Any) -> None:
    for verb in (filled.retrieve, filled.brief):
        with pytest.raises(ConfigurationError, match="top_k"):
            verb("deploy", top_k=top_k)


def test_more_results_than_memories_gives_all(filled: Hindsight) -> None:
    assert len(found(filled, "deploy", top_k=1_000)) == 3
    assert len(found(filled, "deploy", top_k=1)) == 1


def test_a_namespace_without_memories_gives_nothing(h: Hindsight) -> None:
    for query in ("deploy", "", None):
        assert h.retrieve(query) == []
        assert not h.brief(query)
        assert h.brief(query).available


def test_a_filter_that_matches_nothing_gives_nothing(filled: Hindsight) -> None:
    assert found(filled, "deploy", keywords=["nowhere"]) == []
    assert found(filled, "", keywords=["nowhere"]) == []
    assert not filled.brief("deploy", outcomes=["failure"])


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"similarity": math.nan}, "nan"),
        ({"similarity": math.inf}, "inf"),
        ({"similarity": -0.5}, "-0.5"),
        ({"similarity": 0.0, "recency": 0.0}, "no weight above 0"),
        ({}, "no weight above 0"),
        ({"magic": 1.0}, "no factor"),
    ],
)
def test_weights_that_can_not_rank_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Profile(name="own", add=weights)
    with pytest.raises(ConfigurationError, match=said):
        Profile.from_mapping({"name": "own", "add": weights})


def test_an_own_profile_ranks_a_single_call(filled: Hindsight) -> None:
    newest = Profile(name="own", add={"recency": 1.0})
    assert found(filled, "what needs the VPN?", profile=newest)[0] == FACTS[2]
    assert found(filled, "what needs the VPN?")[0] == FACTS[0]


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf])
def test_a_confidence_that_can_not_be_meant_is_refused(filled: Hindsight, share: float) -> None:
    with pytest.raises(ConfigurationError, match="min_confidence"):
        filled.retrieve("deploy", min_confidence=share)


async def test_the_async_twins_answer_odd_queries_alike(filled: Hindsight) -> None:
    assert await filled.aretrieve(None) == filled.retrieve(None)
    assert (await filled.abrief([IMAGE])).retrieved == filled.brief([IMAGE]).retrieved  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="top_k"):
        await filled.aretrieve("x", top_k=0)
    with pytest.raises(ConfigurationError, match="a query is"):
        await filled.abrief(7)  # type: ignore[arg-type]


def test_chinese_is_answered_in_a_small_store(h: Hindsight) -> None:
    for fact in ("部署需要先连接VPN", "客户要求退款时先询问订单号", "数据库每周日凌晨备份"):
        h.store(fact)
    told = h.brief("备份是什么时候？")
    assert [result.memory.content for result in told.retrieved] == ["数据库每周日凌晨备份"]
    assert not h.brief("写一首关于猫的诗")
