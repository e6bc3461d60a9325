"""Counts that are kept: never another than the counter's own, and no more than a few thousand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.storage.chat_store import SimpleChatStore
from test_buffer import answer, user

from hindsight_core.adapting import kept_with
from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import HindsightMemory, counts
from hindsight_llamaindex.counts import KeptCounts, counter_of
from hindsight_llamaindex.messages import text_of, weight


@given(st.lists(st.text(st.characters(), max_size=20), max_size=12))
def test_a_kept_count_is_the_count(texts: list[str]) -> None:
    kept, asked = KeptCounts(), []

    def count(text: str) -> int:
        asked.append(text)
        return len(text) * 7

    for _ in range(2):
        for text in texts:
            assert kept.count(count, text) == len(text) * 7
    assert sorted(asked) == sorted(set(texts))


def test_lone_surrogates_are_counted_like_other_text() -> None:
    kept = KeptCounts()
    assert kept.count(len, "\ud83d") == 1
    assert kept.count(len, "\ud83d\udc00") == 2
    assert kept.count(len, "?") == 1


def test_only_the_last_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MAX_COUNTS", 3)
    kept, asked = KeptCounts(), []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    for text in ("a", "b", "c", "a", "d", "a", "b"):
        kept.count(count, text)
    assert asked == ["a", "b", "c", "d", "b"]
    assert len(kept) == 3


def test_a_failed_count_is_not_kept() -> None:
    kept = KeptCounts()

    def broken(text: str) -> int:
        raise ValueError(text)

    with pytest.raises(ValueError, match="word"):
        kept.count(broken, "word")
    assert kept.count(len, "word") == 4


def test_views_of_one_memory_share_their_counts_and_agree_with_it(h: Hindsight) -> None:
    text = "What views of one memory count is what it counts itself."
    mine, alices = counter_of(h), counter_of(h.for_user("alice"))
    assert mine(text) == alices(text) == h.count_tokens(text)
    before = len(kept_with(h, KeptCounts, KeptCounts))
    assert alices(text) == mine(text)
    assert len(kept_with(h, KeptCounts, KeptCounts)) == before


EDITS: list[Any] = [
    lambda message: setattr(message.blocks[0], "text", "word " * 90),
    lambda message: setattr(message, "blocks", [TextBlock(text="word " * 90)]),
    lambda message: message.blocks.append(TextBlock(text="word " * 90)),
    lambda message: message.additional_kwargs.update(note="word " * 90),
]


@pytest.mark.parametrize("edit", EDITS, ids=["text", "blocks", "block", "arguments"])
def test_a_message_that_is_edited_in_its_chat_store_is_counted_anew(
    h: Hindsight, edit: Any
) -> None:
    """A count kept with the message would send a window that is over its limit."""
    store = SimpleChatStore()
    memory = HindsightMemory.from_defaults(hindsight=h, chat_store=store, token_limit=60)
    for message in (user("one"), answer("1"), user("two"), answer("2"), user("three")):
        memory.put(message)
    assert [text_of(m) for m in memory.get()] == ["one", "1", "two", "2", "three"]
    edited: ChatMessage = store.store[memory.chat_store_key][1]
    edit(edited)
    sent = memory.get()
    assert [text_of(m) for m in sent] == ["two", "2", "three"]
    assert sum(weight(message, h.count_tokens) for message in sent) <= 60
    edited.blocks = [TextBlock(text="1")]
    edited.additional_kwargs.clear()
    assert [text_of(m) for m in memory.get()] == ["one", "1", "two", "2", "three"]


def test_another_tokenizer_counts_from_then_on(h: Hindsight) -> None:
    memory = HindsightMemory.from_defaults(hindsight=h, token_limit=40)
    memory.set([user("one"), answer("1"), user("two")])
    assert len(memory.get()) == 3
    memory.tokenizer = lambda text: range(30)
    assert [text_of(m) for m in memory.get()] == ["two"]
    memory.tokenizer = None
    assert len(memory.get()) == 3


def test_a_brief_takes_its_tokens_from_the_window(knowing: Hindsight) -> None:
    memory = HindsightMemory.from_defaults(hindsight=knowing, token_limit=2_000)
    question = user("Convert the recipe to my units")
    memory.set([user("one " * 50), answer("1"), question])
    brief = knowing.brief(text_of(question))
    assert brief.tokens == knowing.count_tokens(brief.text) > 0
    whole = sum(weight(m, knowing.count_tokens) for m in memory.get_all()) + brief.tokens
    for limit, count in ((whole, 3), (whole - 1, 1)):
        memory.token_limit = limit
        assert len(memory.get()) == count
