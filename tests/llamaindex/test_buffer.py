"""The window over a conversation: within its limit, and never a call apart from its result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llamaindex_fakes import said

from hindsight_llamaindex.buffer import window
from hindsight_llamaindex.messages import call_ids, result_id, text_of, to_dict, weight


def words(text: str) -> int:
    return len(text.split())


def weigh(message: ChatMessage) -> int:
    return weight(message, words)


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def answer(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def call(*ids: str | None, text: str = "", **arguments: Any) -> ChatMessage:
    blocks: list[Any] = [TextBlock(text=text)] if text else []
    blocks += [
        ToolCallBlock(tool_call_id=one, tool_name="search", tool_kwargs=arguments) for one in ids
    ]
    return ChatMessage(role="assistant", blocks=blocks)


def openai_call(*ids: str) -> ChatMessage:
    calls = [
        {"id": one, "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
        for one in ids
    ]
    return ChatMessage(role="assistant", additional_kwargs={"tool_calls": calls})


def result(call_id: str | None, text: str = "found") -> ChatMessage:
    kwargs = {} if call_id is None else {"tool_call_id": call_id}
    return ChatMessage(role="tool", content=text, additional_kwargs=kwargs)


def test_all_that_fits_is_sent_as_copies() -> None:
    messages = [user("a"), answer("b")]
    sent = window(messages, 100, weigh)
    assert said(sent) == [("user", "a"), ("assistant", "b")]
    block = sent[0].blocks[0]
    assert isinstance(block, TextBlock)
    block.text = "changed by an agent's state prompt"
    sent[0].additional_kwargs["x"] = 1
    assert text_of(messages[0]) == "a"
    assert messages[0].additional_kwargs == {}


def test_the_oldest_turns_go_first_and_whole() -> None:
    messages = [user("one"), answer("1"), user("two"), answer("2"), user("three")]
    assert said(window(messages, 15, weigh)) == [
        ("user", "two"),
        ("assistant", "2"),
        ("user", "three"),
    ]


def test_a_message_larger_than_the_limit_is_sent_alone() -> None:
    messages = [user("a"), answer("b"), user("word " * 50)]
    assert [m.role.value for m in window(messages, 10, weigh)] == ["user"]
    assert window([], 10, weigh) == []


def test_instructions_at_the_beginning_stay_while_they_fit() -> None:
    messages = [ChatMessage(role="system", content="be kind"), user("one"), answer("1"), user("2")]
    assert said(window(messages, 11, weigh))[0] == ("system", "be kind")
    assert said(window(messages, 5, weigh)) == [("user", "2")]


def test_of_the_newest_turn_the_oldest_calls_go_and_the_question_stays() -> None:
    messages = [
        user("q"),
        call("c1"),
        result("c1", "x " * 40),
        call("c2"),
        result("c2"),
        answer("a"),
    ]
    sent = window(messages, 30, weigh)
    assert [call_ids(m) for m in sent] == [[], ["c2"], [], []]
    assert said(sent)[0] == ("user", "q")


def test_two_hundred_words_of_arguments_count() -> None:
    messages = [user("q"), call("c1", text="word " * 200), result("c1"), answer("a"), user("next")]
    messages[1] = call("c1", query="word " * 200)
    sent = window(messages, 50, weigh)
    assert sum(weigh(m) for m in sent) <= 50
    assert said(sent)[-1] == ("user", "next")
    assert not any(call_ids(m) for m in sent)


def test_a_result_without_a_call_and_a_call_without_a_result_are_not_sent() -> None:
    messages = [result("c0"), user("q"), call("c1", "c2"), result("c2"), user("next")]
    sent = window(messages, 1_000, weigh)
    assert [(m.role.value, call_ids(m), result_id(m)) for m in sent] == [
        ("user", [], ""),
        ("assistant", ["c2"], ""),
        ("tool", [], "c2"),
        ("user", [], ""),
    ]
    assert [call_ids(m) for m in messages if call_ids(m)] == [["c1", "c2"]]


def test_calls_in_the_form_of_openai_are_repaired_as_well() -> None:
    sent = window([user("q"), openai_call("c1", "c2"), result("c1")], 1_000, weigh)
    assert [call_ids(m) for m in sent] == [[], ["c1"], []]


def test_a_call_at_the_end_is_left_out_and_its_words_stay() -> None:
    sent = window([user("q"), call("c1", text="Let me look.")], 1_000, weigh)
    assert said(sent) == [("user", "q"), ("assistant", "Let me look.")]
    assert said(window([user("q"), call("c1")], 1_000, weigh)) == [("user", "q")]
    assert said(window([user("q"), openai_call("c1")], 1_000, weigh)) == [("user", "q")]


@pytest.mark.parametrize(
    ("calls", "results", "texts"),
    [
        (["c1", "c2"], [("c2", "two"), ("c1", "one")], ["one", "two"]),
        (["c1"], [("c1", "first"), ("c1", "again")], ["first"]),
        ([None], [(None, "x")], ["x"]),
        (["c1", "c2"], [(None, "x"), (None, "y")], ["x", "y"]),
        ([None], [("c9", "x")], ["x"]),
    ],
    ids=["out of order", "twice", "no ids", "no ids in the results", "no id in the call"],
)
def test_each_call_gets_one_result_in_the_order_of_the_calls(
    calls: list[str | None], results: list[tuple[str | None, str]], texts: list[str]
) -> None:
    messages = [user("q"), call(*calls), *(result(i, text) for i, text in results)]
    sent = window(messages, 1_000, weigh)
    assert [text for role, text in said(sent) if role == "tool"] == texts


PIECES = st.sampled_from(
    [
        user("question of some words"),
        answer("an answer"),
        answer(""),
        call("c1"),
        call("c1", "c2", query="many words in here"),
        openai_call("c3"),
        result("c1"),
        result("c2", "text " * 9),
        result(None),
        result("c3"),
        ChatMessage(role="system", content="rule"),
    ]
)


@given(st.lists(PIECES, max_size=14), st.integers(1, 60))
def test_any_window_is_paired_ordered_and_within_its_limit(
    messages: list[ChatMessage], limit: int
) -> None:
    sent = window(messages, limit, weigh)
    open_calls: list[str] = []
    for message in sent:
        if message.role is MessageRole.TOOL:
            assert open_calls, "a result without a call"
            open_calls.pop(0)
        else:
            assert not open_calls, "a call without a result"
            open_calls = call_ids(message)
    assert not open_calls
    sizes = [weigh(message) for message in sent]
    is_one_group = len(sent) == 1 + len(call_ids(sent[0])) if sent else True
    assert sum(sizes) <= limit or is_one_group
    texts = [text_of(message) for message in sent if message.role is MessageRole.USER]
    assert (
        texts == [text_of(m) for m in messages if m.role is MessageRole.USER][-len(texts) or 99 :]
    )


def groups_of(messages: list[ChatMessage]) -> list[list[ChatMessage]]:
    """Return what goes together of a conversation, by windows over one group at a time."""
    groups: list[list[ChatMessage]] = []
    start = 0
    for end in range(1, len(messages) + 1):
        if end == len(messages) or messages[end].role is not MessageRole.TOOL:
            groups.append(window(messages[start:end], 10_000, weigh))
            start = end
    return [group for group in groups if group]


def eager_window(messages: list[ChatMessage], limit: int) -> list[ChatMessage]:
    """Return the window over turns without instructions, looked for from the longest on."""
    groups = groups_of(messages)
    begins = [n for n, group in enumerate(groups) if n == 0 or group[0].role is MessageRole.USER]
    for begin in begins:
        whole = [message for group in groups[begin:] for message in group]
        if sum(map(weigh, whole)) <= limit:
            return whole
    last = groups[begins[-1] :] if begins else []
    head = last[:1] if last and last[0][0].role is MessageRole.USER else []
    for begin in range(len(head), len(last)):
        part = [message for group in head + last[begin:] for message in group]
        if sum(map(weigh, part)) <= limit:
            return part
    return [message for group in head or last[-1:] for message in group]


@given(
    st.lists(PIECES.filter(lambda m: m.role is not MessageRole.SYSTEM), max_size=14),
    st.integers(1, 60),
)
def test_a_window_from_the_end_is_the_longest_that_fits(
    messages: list[ChatMessage], limit: int
) -> None:
    def shown(sent: list[ChatMessage]) -> list[dict[str, Any]]:
        return [message.model_dump() for message in sent]

    assert shown(window(messages, limit, weigh)) == shown(eager_window(messages, limit))


def test_a_conversation_is_looked_through_only_as_far_as_it_is_sent() -> None:
    weighed: list[str] = []

    def watched(message: ChatMessage) -> int:
        weighed.append(text_of(message))
        return weigh(message)

    messages = [m for n in range(500) for m in (user(f"question {n}"), answer(f"answer {n}"))]
    sent = window(messages, 30, watched)
    assert [text_of(m) for m in sent] == [
        "question 498",
        "answer 498",
        "question 499",
        "answer 499",
    ]
    assert len(weighed) == 6


def test_what_is_sent_is_what_was_weighed_whoever_edits_the_original() -> None:
    messages = [user("one"), answer("1"), user("two")]

    def edited(message: ChatMessage) -> int:
        for original in messages:
            original.blocks = [TextBlock(text="word " * 1_000)]
            original.additional_kwargs["note"] = "word " * 1_000
        return weigh(message)

    sent = window(messages, 100, edited)
    assert [text_of(m) for m in sent if len(text_of(m)) < 10] == ["two"]
    assert sum(weigh(m) for m in sent) <= 100


def test_a_question_that_is_not_sent_begins_no_turn() -> None:
    asked_by_call = openai_call("c9")
    asked_by_call.role = MessageRole.USER
    messages = [user("one"), answer("1"), asked_by_call, answer("2")]
    assert [text_of(m) for m in window(messages, 1_000, weigh)] == ["one", "1", "2"]
    assert [text_of(m) for m in window(messages, 10, weigh)] == ["one", "2"]


def test_instructions_give_way_to_a_question_that_does_not_fit_beside_them() -> None:
    rule = ChatMessage(role="system", content="rule")
    question = ChatMessage(role="user", content="question of some words")
    for limit in (weigh(rule), weigh(question), weigh(rule) + weigh(question) - 1):
        assert [text_of(m) for m in window([rule, question], limit, weigh)] == [text_of(question)]
    both = window([rule, question], weigh(rule) + weigh(question), weigh)
    assert [text_of(m) for m in both] == ["rule", "question of some words"]


def test_what_is_counted_is_what_is_sent() -> None:
    thinking = ChatMessage(
        role="assistant",
        blocks=[ThinkingBlock(content="three small words"), TextBlock(text="two words")],
    )
    assert weigh(thinking) == 4 + 5
    assert weigh(ChatMessage(role="user", blocks=[ImageBlock(url="http://x/y.png")])) == 4 + 256
    assert weigh(openai_call("c1")) > 4
    noted = ChatMessage(role="user", content="a", additional_kwargs={"session_id": "s", "n": "b c"})
    assert weigh(noted) == 4 + 1 + 3
    assert weigh(ChatMessage(role="assistant", blocks=[])) == 4


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(role="assistant", blocks=[]),
        ChatMessage(role="assistant", content=None),
        ChatMessage(role="assistant", content=""),
        ChatMessage(role="tool", content=""),
    ],
)
def test_nothing_reads_none(message: ChatMessage) -> None:
    assert text_of(message) == ""
    assert to_dict(message)["content"] == ""
    assert window([user("q"), message], 1_000, weigh)[0].role is MessageRole.USER


def test_a_message_becomes_a_dict_with_its_calls() -> None:
    assert to_dict(call("c1", text="Look", q="x"), agent="sub") == {
        "role": "assistant",
        "content": "Look",
        "tool_calls": [{"id": "c1", "name": "search", "arguments": {"q": "x"}}],
        "agent": "sub",
    }
    assert to_dict(ChatMessage(role="chatbot", content="x"))["role"] == "assistant"
    assert to_dict(result("c1"))["tool_call_id"] == "c1"
    strange = ChatMessage(role="assistant", additional_kwargs={"tool_calls": ["?", 3]})
    assert to_dict(strange) == {"role": "assistant", "content": ""}
