"""Replies of reflection models: what real models write instead of the JSON that was asked for."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.errors import ModelReplyError
from hindsight_core.reflection.parse import (
    DEFAULT_IMPORTANCE,
    MAX_LESSON_LENGTH,
    MAX_LESSONS_READ,
    parse_reply,
    raw_text,
)

BARE = '{"lessons":[{"text":"Staging deploys need the VPN","importance":0.7}]}'
FENCED = f"```json\n{BARE}\n```"
VPN = "Staging deploys need the VPN"


def contents(reply: Any, finish_reason: str = "") -> list[str]:
    return [lesson["content"] for lesson in parse_reply(reply, finish_reason=finish_reason).lessons]


@pytest.mark.parametrize(
    "reply",
    [
        FENCED,
        f"Sure! Here is what I learned:\n{FENCED}\nLet me know if you want more detail.",
        f"Example of the format:\n```\nlessons: [...]\n```\nAnswer:\n{FENCED}",
        f"```\n{BARE}\n```",
        f"```json {BARE}```",
        f"Here it is: {BARE} I hope it helps.",
        f"[Note: one lesson only] {BARE}",
        f"\ufeff{BARE}",
        f"\u200b\n  {BARE}\x00",
        f"```json\n{BARE}",
    ],
    ids=[
        "fenced",
        "prose around a fence",
        "an example fence first",
        "a fence without a language",
        "a fence on one line",
        "prose without a fence",
        "a bracket in the prose",
        "a byte order mark",
        "invisible characters",
        "a fence that is never closed",
    ],
)
def test_wrapping_around_the_json_changes_nothing(reply: str) -> None:
    bare, wrapped = parse_reply(BARE), parse_reply(reply)
    assert wrapped.lessons == bare.lessons
    assert not wrapped.truncated
    assert contents(reply) == [VPN]


def test_a_fence_with_another_example_before_the_answer_does_not_count() -> None:
    draft = '```json\n{"lessons":[{"text":"a draft"}]}\n```'
    parsed = parse_reply(f"For example:\n{draft}\nMy answer is this:\n{FENCED}")
    assert [lesson["content"] for lesson in parsed.lessons] == [VPN]
    assert any("left aside" in note for note in parsed.notes)


def test_a_fence_inside_a_text_stays_in_it() -> None:
    text = "Answer with ```json fences, not with ``` alone"
    assert contents("Here:\n" + json.dumps({"lessons": [{"text": text}]})) == [text]


@pytest.mark.parametrize("finish_reason", ["length", "", "max_tokens", "stop"])
def test_a_reply_cut_inside_a_string_keeps_whole_lessons_only(finish_reason: str) -> None:
    cut = (
        '{"lessons":[{"text":"First, whole"},{"text":"Second, whole"},'
        '{"text":"Third is cut in the mid'
    )
    parsed = parse_reply(cut, finish_reason=finish_reason)
    assert [lesson["content"] for lesson in parsed.lessons] == ["First, whole", "Second, whole"]
    assert parsed.truncated
    assert any("whole elements were kept" in note for note in parsed.notes)


def test_no_cut_anywhere_ever_gives_a_lesson_that_was_not_whole() -> None:
    whole = json.dumps(
        {
            "goal": "Ship it",
            "decisions": [{"step": 1, "decision": "wait", "alternatives": ["go", "ask"]}],
            "lessons": [
                {"content": "First, [whole]", "tags": ["a"], "not_when": "on {Friday}"},
                {"content": 'Second, "quoted"', "steps": [1, 2], "not_when": "never"},
                {"content": "Third", "tags": ["b", "c"], "not_when": "at night"},
            ],
        }
    )
    full = parse_reply(whole).lessons
    for length in range(1, len(whole)):
        try:
            parsed = parse_reply(whole[:length], finish_reason="length")
        except ModelReplyError:
            continue
        assert parsed.lessons == full[: len(parsed.lessons)], whole[:length]
        assert parsed.truncated


def test_a_cut_fenced_reply_keeps_its_whole_lessons() -> None:
    cut = '```json\n{"lessons":[{"text":"First, whole"},{"text":"Second is cu'
    parsed = parse_reply(cut, finish_reason="length")
    assert [lesson["content"] for lesson in parsed.lessons] == ["First, whole"]


def test_a_cut_list_without_an_object_keeps_its_whole_lessons() -> None:
    cut = '[{"text":"First","tags":["x"]},{"text":"Second","tags":["y"],"not_w'
    assert contents(cut, "length") == ["First"]


def test_a_lone_lesson_that_was_cut_is_not_taken_without_its_condition() -> None:
    with pytest.raises(ModelReplyError):
        parse_reply('{"text":"Restart it","tags":["x"],"not_wh', finish_reason="length")


def test_a_reply_cut_before_its_first_lesson_is_told_apart_from_nothing_learned() -> None:
    parsed = parse_reply(
        '{"goal":"Ship","decisions":[],"lessons":[{"text":"ha', finish_reason="length"
    )
    assert parsed.lessons == ()
    assert parsed.truncated


def test_a_sound_reply_that_hit_the_cap_afterwards_is_marked_and_kept() -> None:
    parsed = parse_reply(f"{BARE}\nLet me also expl", finish_reason="length")
    assert [lesson["content"] for lesson in parsed.lessons] == [VPN]
    assert parsed.truncated


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            '{"lessons":[{"text":"Build fails\nwhen cache is cold"}]}',
            "Build fails\nwhen cache is cold",
        ),
        ('{"lessons":[{"text":"a","importance":0.5,},],}', "a"),
        (
            '{"lessons":[{"text":"Team rule „build once" applies to images"}]}',
            'Team rule „build once" applies to images',
        ),
        (
            '{"lessons":[{"text":"Say "yes", then wait","importance":0.5}]}',
            'Say "yes", then wait',
        ),
        ("{'lessons':[{'text':'Use the VPN','importance':None,'ok':True}]}", "Use the VPN"),
        ("{'lessons':[{'text':\"it's fine\"}]}", "it's fine"),
        ("{'lessons':[{'text':'say \"hi\" to it'}]}", 'say "hi" to it'),
        (
            '{"lessons":[ // the first\n{"text":"see http://a.example/b#c"} /* end */ ]}',
            "see http://a.example/b#c",
        ),
        ('{"lessons":[{"text":"None of it works","importance":None}]}', "None of it works"),
        (
            "{&quot;lessons&quot;:[{&quot;text&quot;:&quot;a &amp; b&quot;}]}",
            "a & b",
        ),
        ("{“lessons”：[{“text”：“先连 VPN”}]}", "先连 VPN"),
        ('{lessons:[{text:"unquoted keys"}]}', "unquoted keys"),
        ('{"lessons":[{"text":"no closers"}', "no closers"),
        ('{"lessons":[{"text":"wrong closer"]}', "wrong closer"),
        ('{"lessons":[{"text":"caf\\u00e9 \\ud83d\\ude00",}]}', "café 😀"),
        ('{"lessons":[{"text":"use {\\"city\\": \\"Oslo\\"}",}]}', 'use {"city": "Oslo"}'),
        ('{"lessons":[{"text":"C:\\\\temp\\\\x",}]}', "C:\\temp\\x"),
    ],
    ids=[
        "a raw newline",
        "trailing commas",
        "a quote inside a text",
        "quotes and a comma inside a text",
        "single quotes, None and True",
        "an apostrophe",
        "double quotes inside single ones",
        "comments",
        "None as a value and as a word",
        "HTML-escaped quotes",
        "Chinese quotes and colons",
        "keys without quotes",
        "missing brackets at the end",
        "a wrong bracket",
        "escapes beside a slip",
        "escaped quotes beside a slip",
        "backslashes beside a slip",
    ],
)
def test_a_small_slip_is_repaired_and_the_text_comes_back_unchanged(
    reply: str, expected: str
) -> None:
    assert contents(reply) == [expected]
    assert contents(f"Here:\n```json\n{reply}\n```\n") == [expected]


def test_repairs_are_told() -> None:
    assert parse_reply('{"lessons":[{"text":"a",}],}').notes == ("slips in the JSON were repaired",)
    assert parse_reply(BARE).notes == ()


@pytest.mark.parametrize(
    "reply",
    [
        '{"lessons":[{"text":"first" second": "third}]}',
        '{"lessons":[{"text":"Use "a", then "b": done","importance":0.5}]}',
        "{“lessons”: [{“text”: “he said “hi” there”}]}",
        '{"lessons":[{"text":"a","text":"b",}]}',
    ],
)
def test_a_repair_that_would_change_or_lose_a_text_is_refused(reply: str) -> None:
    with pytest.raises(ModelReplyError):
        parse_reply(reply)


def test_json_inside_a_json_string_is_unwrapped() -> None:
    once = json.dumps(BARE)
    assert contents(once) == contents(json.dumps(once)) == [VPN]
    assert contents(json.dumps({"lessons": json.dumps([{"text": VPN}])})) == [VPN]
    assert contents(json.dumps({"result": BARE})) == [VPN]


def test_two_objects_one_after_the_other_are_joined() -> None:
    other = '{"lessons":[{"text":"Second"}]}'
    parsed = parse_reply(f"{BARE}\n{other}")
    assert [lesson["content"] for lesson in parsed.lessons] == [VPN, "Second"]
    assert any("joined" in note for note in parsed.notes)


def test_two_objects_with_goals_keep_both_lists_of_lessons() -> None:
    first = '{"goal":"a","lessons":[{"text":"First"}]}'
    second = '{"goal":"b","lessons":[{"text":"Second"}]}'
    parsed = parse_reply(f"{first}\n\n{second}")
    assert [lesson["content"] for lesson in parsed.lessons] == ["First", "Second"]
    assert parsed.goal == "b"


def test_one_lesson_a_line_is_read() -> None:
    assert contents('{"text":"First"}\n{"text":"Second"}') == ["First", "Second"]


def test_repeated_keys_lose_no_list_and_are_told() -> None:
    parsed = parse_reply('{"lessons":[{"text":"a"}],"lessons":[{"text":"b","text":"c"}]}')
    assert [lesson["content"] for lesson in parsed.lessons] == ["a", "c"]
    assert "the key 'lessons' stands twice in one object" in parsed.notes


def test_a_bad_lesson_is_skipped_with_a_note_and_the_good_ones_stay() -> None:
    reply = {
        "lessons": [
            {"text": "good"},
            {"text": None},
            {"statement": "an alias"},
            {"words": "unknown field"},
            {"content": ["not text"]},
            {"content": True},
            7,
            None,
            "bare text",
        ]
    }
    parsed = parse_reply(json.dumps(reply))
    assert [x["content"] for x in parsed.lessons] == ["good", "an alias", "bare text"]
    skipped = [note for note in parsed.notes if "skipped" in note]
    assert len(skipped) == 6
    assert skipped[0] == "lesson 2: skipped, it has no text; its fields are 'text'"


@pytest.mark.parametrize(
    ("value", "importance", "flagged"),
    [
        ('"85%"', 0.85, False),
        ('"high"', 0.8, False),
        ('"0,8"', 0.8, False),
        ("85", 1.0, True),
        ("-3", 0.0, True),
        ("null", DEFAULT_IMPORTANCE, False),
        ("true", DEFAULT_IMPORTANCE, True),
        ("NaN", DEFAULT_IMPORTANCE, True),
        ("1e400", DEFAULT_IMPORTANCE, True),
        ("[0.7]", DEFAULT_IMPORTANCE, True),
        ('"8/10"', 0.8, False),
        ('"1/0"', DEFAULT_IMPORTANCE, True),
        ('"Very_High"', 0.95, False),
        ('"高"', 0.8, False),
        ('"85 percent"', 0.85, False),
        ('"120%"', 1.0, True),
        ('"quite a lot"', DEFAULT_IMPORTANCE, True),
        ('"NaN"', DEFAULT_IMPORTANCE, True),
        ("-Infinity", DEFAULT_IMPORTANCE, True),
        ("9" * 5_000, DEFAULT_IMPORTANCE, True),
        ("{}", DEFAULT_IMPORTANCE, True),
    ],
)
def test_a_number_in_any_dress_becomes_a_share_or_the_default(
    value: str, importance: float, flagged: bool
) -> None:
    reply = (
        f'{{"lessons":[{{"text":"a","importance":{value},"confidence":{value}}},'
        '{"text":"b","importance":0.6}]}'
    )
    parsed = parse_reply(reply)
    assert parsed.lessons[0]["importance"] == pytest.approx(importance)
    confidence = parsed.lessons[0]["confidence"]
    assert confidence is None or math.isfinite(confidence)
    assert any(note.startswith("lesson 1: importance") for note in parsed.notes) == flagged
    assert parsed.lessons[1]["importance"] == 0.6


def test_an_absent_rating_is_the_default_without_a_note() -> None:
    parsed = parse_reply('{"lessons":[{"text":"a"}]}')
    assert parsed.lessons[0]["importance"] == DEFAULT_IMPORTANCE
    assert parsed.lessons[0]["confidence"] is None
    assert parsed.notes == ()


def test_a_hundred_lessons_are_capped_with_a_note() -> None:
    reply = json.dumps({"lessons": [{"text": f"Lesson {n}"} for n in range(100)]})
    parsed = parse_reply(reply)
    assert len(parsed.lessons) == MAX_LESSONS_READ
    assert f"{100 - MAX_LESSONS_READ} of 100 lessons were not read" in parsed.notes


def test_a_lesson_of_50_000_characters_is_skipped_with_a_note() -> None:
    reply = json.dumps({"lessons": [{"text": "x" * 50_000}, {"text": "short"}]})
    parsed = parse_reply(reply)
    assert [lesson["content"] for lesson in parsed.lessons] == ["short"]
    assert parsed.notes == ("lesson 1: skipped, its 50,000 characters are too long for one lesson",)
    assert len("short") < MAX_LESSON_LENGTH


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_nesting_does_not_crash(depth: int) -> None:
    for reply in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth):
        with pytest.raises(ModelReplyError):
            parse_reply(reply)


def test_a_deeply_nested_object_that_is_already_parsed_does_not_crash() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(value)
    assert caught.value.raw_reply == "<list that can't be written as JSON>"
    while value:  # taken apart by hand, since freeing it at once would recurse
        value = value[0]


def test_keys_in_chinese_are_understood() -> None:
    reply = {
        "目标": "部署服务",
        "任务类型": "operations",
        "经验": [
            {"内容": "部署前先连 VPN", "类别": "规则", "重要性": "高", "条件": "部署到测试环境"}
        ],
        "失败": [{"步骤": 2, "问题": "连接被拒绝", "补救": "连接 VPN"}],
    }
    parsed = parse_reply(json.dumps(reply, ensure_ascii=False))
    lesson = parsed.lessons[0]
    assert (lesson["content"], lesson["category"], lesson["importance"]) == (
        "部署前先连 VPN",
        "rule",
        0.8,
    )
    assert lesson["applies_when"] == "部署到测试环境"
    assert parsed.goal == "部署服务"
    assert parsed.failures == ({"step": 2, "what": "连接被拒绝", "fix": "连接 VPN"},)


def test_content_blocks_are_joined_and_thinking_is_ignored() -> None:
    thinking = {"type": "thinking", "thinking": '{"lessons":[{"text":"a draft"}]}'}
    one = [thinking, {"type": "text", "text": BARE}]
    two = [{"type": "text", "text": BARE[:20]}, {"type": "text", "text": BARE[20:]}]
    assert contents(one) == contents(two) == contents(["", BARE]) == [VPN]


def test_an_object_that_is_already_parsed_is_used_as_it_is() -> None:
    parsed = json.loads(BARE)
    assert parse_reply(parsed).lessons == parse_reply(parsed["lessons"]).lessons
    assert contents(parsed) == [VPN]


def test_a_parsed_list_of_typed_lessons_is_not_taken_for_content_blocks() -> None:
    assert contents([{"type": "rule", "text": "Use the VPN"}]) == ["Use the VPN"]


@pytest.mark.parametrize("reply", ["", "   ", None, "\ufeff\n", "<think>hm</think>", [], "``` ```"])
def test_an_empty_reply_is_an_error_and_not_nothing_learned(reply: Any) -> None:
    if reply == []:
        assert parse_reply(reply).lessons == ()
        return
    with pytest.raises(ModelReplyError, match=r"empty|no readable JSON"):
        parse_reply(reply)


@pytest.mark.parametrize(
    "reply", ["{}", "[]", '{"lessons":[]}', '{"lessons":null}', {}, "```json\n[]\n```"]
)
def test_nothing_learned_is_a_valid_answer(reply: Any) -> None:
    parsed = parse_reply(reply)
    assert parsed.lessons == ()
    assert not parsed.truncated


@pytest.mark.parametrize(
    "reply",
    [
        "I could not find anything.",
        "null",
        "42",
        '"text"',
        '{"answer":"no"}',
        '["a","b"]',
        [1, 2],
        7,
        '{"lessons":"none"}',
    ],
)
def test_what_holds_no_lessons_is_an_error_with_the_raw_reply(reply: Any) -> None:
    with pytest.raises(ModelReplyError) as caught:
        parse_reply(reply)
    assert caught.value.raw_reply == raw_text(reply)


@pytest.mark.parametrize(
    "reply",
    [
        f"<think>Maybe {{}} or [1] or {BARE[:30]}</think>\n{BARE}",
        f'<thinking>\n{{"lessons":[{{"text":"a draft"}}]}}\n</thinking>{FENCED}',
        f'The draft is {{"lessons":[]}}, better:</think>{BARE}',
    ],
)
def test_thinking_in_tags_is_dropped(reply: str) -> None:
    assert contents(reply) == [VPN]


def test_a_thinking_tag_inside_a_lesson_stays() -> None:
    text = "Strip <think>…</think> before parsing"
    assert contents(json.dumps({"lessons": [{"text": text}]})) == [text]
    assert contents('{"lessons":[{"text":"' + text + '",}]}') == [text]


def test_all_four_parts_are_read() -> None:
    reply = {
        "goal": "Total the sales",
        "task_type": "data_analysis",
        "decisions": [
            {
                "step": 3,
                "decision": "Use GB18030",
                "reason": "UTF-8 failed",
                "alternatives": ["latin-1"],
                "expected": "It opens",
            },
            "Read it whole",
        ],
        "failures": [{"step": "2", "what": "UnicodeDecodeError", "fix": "other encoding"}],
        "lessons": [
            {
                "content": "Use GB18030",
                "category": "rule",
                "steps": [2, "4", "[5]", -1, 2.5, None],
                "tags": "csv",
                "valid_until": "2026-03-01",
                "supersedes": ["m1", 2, None],
                "confidence": 0.9,
            }
        ],
    }
    parsed = parse_reply(reply)
    assert parsed.goal == "Total the sales"
    assert parsed.task_type == "data_analysis"
    assert parsed.decisions[0]["alternatives"] == ("latin-1",)
    assert parsed.decisions[1]["decision"] == "Read it whole"
    assert parsed.failures[0]["step"] == 2
    lesson = parsed.lessons[0]
    assert lesson["steps"] == (2, 4, 5)
    assert lesson["tags"] == ("csv",)
    assert lesson["supersedes"] == ("m1", "2", "null")
    assert lesson["confidence"] == 0.9


def test_lists_by_category_are_read_with_their_category() -> None:
    parsed = parse_reply({"rules": ["Use the VPN"], "preferences": [{"text": "Metric units"}]})
    assert [(x["category"], x["content"]) for x in parsed.lessons] == [
        ("rule", "Use the VPN"),
        ("preference", "Metric units"),
    ]


def test_a_rule_in_two_fields_becomes_one_sentence() -> None:
    parsed = parse_reply(
        {
            "rules": [
                {"when": "a deploy fails", "do": "check the VPN"},
                {"条件": "部署失败", "做法": "检查 VPN"},
            ]
        }
    )
    assert [lesson["content"] for lesson in parsed.lessons] == [
        "When a deploy fails, check the VPN",
        "当部署失败时，检查 VPN",
    ]


def test_an_unknown_category_is_noted_and_left_open() -> None:
    parsed = parse_reply({"lessons": [{"text": "a", "category": "wisdom"}]})
    assert parsed.lessons[0]["category"] == ""
    assert parsed.notes == ("lesson 1: category 'wisdom' is not known",)


def test_operations_without_a_text_are_skipped_by_name() -> None:
    parsed = parse_reply(
        {
            "ops": [
                {"op": "supersede", "id": "12"},
                {"op": "supersede", "id": None},
                {"op": "delete", "id": "00000000-0000-4000-8000-000000000000"},
                {"op": "supersede", "id": "3", "text": "new"},
            ]
        }
    )
    assert [(x["content"], x["supersedes"]) for x in parsed.lessons] == [("new", ("3",))]
    assert len(parsed.notes) == 3
    assert "asking to supersede '12'" in parsed.notes[0]
    assert "asking to delete '00000000-0000-4000-8000-000000000000'" in parsed.notes[2]


def test_what_can_not_be_stored_is_replaced() -> None:
    assert contents('{"lessons":[{"text":"a\\ud800b\\u0000c"}]}') == ["a\ufffdbc"]


def test_raw_text_keeps_a_reply_verbatim() -> None:
    assert raw_text(" {x ") == " {x "
    assert raw_text(None) == ""
    assert json.loads(raw_text({"ключ": [1]})) == {"ключ": [1]}


@given(st.text(max_size=400) | st.text(alphabet="{}[]\":,\\ntl`<>thik /'a0", max_size=200))
@settings(max_examples=400, deadline=None)
def test_arbitrary_text_gives_a_reply_or_a_reply_error(text: str) -> None:
    try:
        parsed = parse_reply(text)
    except ModelReplyError:
        return
    assert all(isinstance(lesson["content"], str) for lesson in parsed.lessons)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["lessons", "text", "content", "tags", "steps", "rules", "goal", "x", "op"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON_VALUES)
@settings(max_examples=300, deadline=None)
def test_arbitrary_parsed_values_give_a_reply_or_a_reply_error(value: Any) -> None:
    try:
        parsed = parse_reply(value)
    except ModelReplyError:
        return
    for lesson in parsed.lessons:
        assert 0.0 <= lesson["importance"] <= 1.0
        assert lesson["confidence"] is None or 0.0 <= lesson["confidence"] <= 1.0


LESSON_TEXTS = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=80
).filter(lambda text: text.strip() == text and text)


@given(
    texts=st.lists(LESSON_TEXTS, min_size=1, max_size=5),
    before=st.sampled_from(["", "Sure!\n", "\ufeff", "```json\n", "Here [is] it:\n```\n"]),
    after=st.sampled_from(["", "\n", "\n```", "\n```\nDone."]),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 2]),
)
@settings(max_examples=200, deadline=None)
def test_texts_round_trip_through_json_with_noise_around_it(
    texts: list[str], before: str, after: str, ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps(
        {"lessons": [{"content": text} for text in texts]}, ensure_ascii=ascii_only, indent=indent
    )
    assert contents(before + body + after) == texts


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "reply",
    [
        '{"lessons":[' * 20_000,
        '"' * 200_000,
        "{" * 200_000,
        '{"a":"' + 'b" ' * 60_000,
        "`" * 200_000,
        '{"lessons":[{"text":"' + "x" * 1_000_000,
    ],
)
def test_hostile_replies_are_read_in_bounded_time(reply: str) -> None:
    with pytest.raises(ModelReplyError):
        parse_reply(reply, finish_reason="length")
