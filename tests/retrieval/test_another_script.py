"""Queries in a script that the default embedding model can't read."""

from __future__ import annotations

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.retrieval.profiles import PROFILES

UNRELATED = (
    "The deploy to production failed with TimeoutError: no response after 30 s",
    "When http_get fails with 401 Unauthorized, give headers; that made it work",
    "The user's timezone is CET",
    "Never deploy on Friday",
    "Run the tests with -q",
    "The user is vegetarian",
    "The task was: What's 2+2? The agent answered without tools",
    "The report goes to Bob Miller, not to Bob Smith",
    "用户要求：以后金额都用人民币表示",
    "当 read_csv 报错时，加上 encoding=gbk",
    "含税的总额才是用户要的",
    "高铁票的日期格式是 YYYY-MM-DD",
    "服务器在上海机房",
    "The nightly backup writes to the second disk",
    "The staging database is rebuilt every Monday",
)


def test_a_brief_in_chinese_holds_what_shares_its_words_and_nothing_in_english(
    h: Hindsight,
) -> None:
    h.store_many([{"content": content} for content in UNRELATED])
    h.store("上次推荐一道菜时，用户对花生过敏，清蒸鲈鱼合适")
    told = [result.memory.content for result in h.brief("推荐一道菜").retrieved]
    assert told == ["上次推荐一道菜时，用户对花生过敏，清蒸鲈鱼合适"]


@pytest.mark.parametrize("query", ["🚀", "👩‍💻 🎉", "???", "—"])
def test_a_query_without_letters_and_terms_has_an_empty_brief_in_every_profile(
    h: Hindsight, query: str
) -> None:
    h.store("用户喜欢用微信联系")
    h.store("The user likes to be called")
    for profile in PROFILES:
        assert h.brief(query, profile=profile).text == ""
    found = h.retrieve(query)
    assert len(found) == 2
    assert [result.relevance for result in found] == [0.0, 0.0]


def test_a_number_is_a_query_of_its_own(h: Hindsight) -> None:
    h.store("The server listens on 8080")
    assert "8080" in h.brief("8080").text
