"""Messages of every shape become steps, and nothing reads "None"."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.content import clean_text, clean_value, read_arguments
from hindsight_core.errors import TrajectoryError
from hindsight_core.failure_signs import looks_like_error
from hindsight_core.messages import steps_from_messages
from hindsight_core.steps import Step


def call(name: str = "search", call_id: Any = "c1", arguments: Any = '{"q": "x"}') -> dict:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def assistant(*calls: Any, **more: Any) -> dict:
    return {"role": "assistant", "tool_calls": list(calls), **more}


def tool(content: Any, call_id: Any = "c1", **more: Any) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def kinds(steps: tuple[Step, ...]) -> list[str]:
    return [step.kind for step in steps]


# Roles and content


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("human", "user"),
        ("assistant", "assistant"),
        ("ai", "assistant"),
        (" User ", "user"),
    ],
)
def test_each_role_has_its_kind(role: str, kind: str) -> None:
    assert steps_from_messages([{"role": role, "content": "hi"}]) == (Step(kind, "hi"),)


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}, {"content": []}])
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_a_message_without_content_has_no_text(role: str, content: dict) -> None:
    step, *_ = steps_from_messages([{"role": role, **content}])
    assert step.text == ""


@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_an_assistant_that_only_calls_tools_is_its_calls(content: dict) -> None:
    (step, note) = steps_from_messages([assistant(call(), **content)])
    assert step.text == ""
    assert step.tool_calls[0].arguments == {"q": "x"}
    assert note.kind == "note"
    assert "None" not in repr(step.text) + note.text


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "text": "a"}, None, "b"], "a\nb"),
        ([{"text": "a"}], "a"),
        ([{"type": "text", "text": {"value": "a"}}], "a"),
        ([{"type": "text", "text": None}], "[text]"),
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}], "[image]"),
        ([{"type": "image", "source": {"data": "AAAA"}}], "[image]"),
        ([{"type": "file", "filename": "sales.csv"}], "[file sales.csv]"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "reasoning", "text": "hm"}], ""),
        ([{"type": "refusal", "refusal": "I can't"}], "I can't"),
        ([{"type": "hologram", "data": "AAAA"}], "[hologram]"),
        ([{"block_type": "text", "text": "a"}], "a"),
        (7, "7"),
        ({"rows": 3}, '{"rows": 3}'),
        ([1, 2], "[1, 2]"),
        ([{"rows": 3}], '[{"rows": 3}]'),
    ],
)
def test_content_blocks_become_text(blocks: Any, text: str) -> None:
    (step,) = steps_from_messages([{"role": "user", "content": blocks}])
    assert step.text == text


def test_a_refusal_beside_the_content_is_the_text() -> None:
    (step,) = steps_from_messages([{"role": "assistant", "content": None, "refusal": "I can't"}])
    assert step.text == "I can't"


def test_llama_style_blocks_stand_in_for_content() -> None:
    message = {"role": "assistant", "blocks": [{"block_type": "text", "text": "hi"}]}
    assert steps_from_messages([message])[0].text == "hi"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"role": "wizard"}, "message 1 has the role 'wizard'"),
        ({"role": None}, "message 1 has the role None"),
        ({}, "message 1 has the role None"),
        ("hi", "message 1 is 'hi'"),
        (None, "message 1 is None"),
        ({"role": "assistant", "tool_calls": "search"}, "message 1 has tool_calls 'search'"),
        ({"role": "assistant", "tool_calls": {"a": 1}}, "message 1 has tool_calls {'a': 1}"),
        ({"role": "assistant", "tool_calls": ["search"]}, "message 1 is 'search'"),
        ({"role": "x" * 500}, "message 1 has the role 'xxx"),
    ],
)
def test_what_is_no_message_is_refused_by_index_and_value(message: Any, said: str) -> None:
    with pytest.raises(TrajectoryError) as caught:
        steps_from_messages([{"role": "user"}, message])
    assert str(caught.value).startswith(said)
    assert len(str(caught.value)) < 220


@pytest.mark.parametrize("messages", [None, "hi", {"role": "user"}, 5, b"hi"])
def test_messages_must_be_a_list(messages: Any) -> None:
    with pytest.raises(TrajectoryError, match="not a list"):
        steps_from_messages(messages)


def test_a_generator_of_messages_is_read() -> None:
    assert kinds(steps_from_messages({"role": "user"} for _ in range(2))) == ["user", "user"]


def test_no_messages_are_no_steps() -> None:
    assert steps_from_messages([]) == ()


# Calls


@pytest.mark.parametrize(
    "told",
    [
        call(),
        call(arguments={"q": "x"}),
        {"name": "search", "args": {"q": "x"}, "id": "c1"},
        {"name": "search", "arguments": '{"q": "x"}', "id": "c1"},
        {"tool_name": "search", "tool_kwargs": {"q": "x"}, "tool_id": "c1"},
    ],
)
def test_every_form_of_a_call_says_the_same(told: dict) -> None:
    step = steps_from_messages([assistant(told)])[0]
    (made,) = step.tool_calls
    assert (made.id, made.name, made.arguments) == ("c1", "search", {"q": "x"})


def test_a_custom_tool_call_keeps_its_input() -> None:
    told = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    (made,) = steps_from_messages([assistant(told)])[0].tool_calls
    assert (made.name, made.arguments) == ("shell", {"input": "ls"})


def test_the_old_function_call_finds_its_result_by_name() -> None:
    steps = steps_from_messages(
        [
            {"role": "assistant", "function_call": {"name": "add", "arguments": '{"a": 1}'}},
            {"role": "function", "name": "add", "content": "2"},
        ]
    )
    assert kinds(steps) == ["assistant", "tool_result"]
    assert steps[1].tool_call_id == steps[0].tool_calls[0].id == "call_0_0"
    assert steps[1].tool_name == "add"


@pytest.mark.parametrize("bad", ['{"q": ', "[1, 2]", "ls -la", "7"])
def test_arguments_that_are_no_object_are_kept_raw(bad: str) -> None:
    (made,) = steps_from_messages([assistant(call(arguments=bad))])[0].tool_calls
    assert made.arguments == {"_raw": bad}


def test_arguments_nested_without_end_are_kept_raw() -> None:
    bomb = '{"a":' * 100_000
    assert read_arguments(bomb) == {"_raw": bomb}
    json.dumps(read_arguments('{"a":' * 500 + "1" + "}" * 500))


@pytest.mark.parametrize("nothing", [None, "", "  ", {}])
def test_no_arguments_are_an_empty_mapping(nothing: Any) -> None:
    (made,) = steps_from_messages([assistant(call(arguments=nothing))])[0].tool_calls
    assert made.arguments == {}


def test_odd_argument_values_become_json_safe() -> None:
    odd = {"nan": float("nan"), 1: b"abc", "set": {1}, "when": datetime(2026, 1, 1, tzinfo=UTC)}
    assert clean_value(odd) == {
        "nan": "nan",
        "1": "[3 bytes]",
        "set": [1],
        "when": "2026-01-01 00:00:00+00:00",
    }
    assert read_arguments(7) == {"_raw": "7"}


def test_a_call_without_a_name_is_an_unknown_tool() -> None:
    (made,) = steps_from_messages([assistant({"id": "c1", "function": {"name": None}})])[
        0
    ].tool_calls
    assert made.name == "unknown_tool"


# Pairing


def test_results_in_any_order_stand_by_their_calls_in_call_order() -> None:
    steps = steps_from_messages(
        [
            assistant(call("a", "c1"), call("b", "c2"), call("c", "c3")),
            tool("three", "c3"),
            tool("Error: two", "c2"),
            tool("one", "c1"),
        ]
    )
    assert [(s.tool_name, s.text, s.is_error) for s in steps[1:]] == [
        ("a", "one", False),
        ("b", "Error: two", True),
        ("c", "three", False),
    ]


def test_calls_and_results_without_ids_pair_by_name_then_by_order() -> None:
    steps = steps_from_messages(
        [
            assistant(call("a", None), call("b", None), call("a", "")),
            tool("of b", None, name="b"),
            tool("first of a", None),
            tool("second of a", None, name="a"),
        ]
    )
    ids = [made.id for made in steps[0].tool_calls]
    assert ids == ["call_0_0", "call_0_1", "call_0_2"]
    assert [(s.tool_call_id, s.text) for s in steps[1:]] == [
        ("call_0_0", "first of a"),
        ("call_0_1", "of b"),
        ("call_0_2", "second of a"),
    ]


def test_a_result_with_an_id_may_answer_a_call_without_one() -> None:
    steps = steps_from_messages([assistant(call("a", None)), tool("x", "abc")])
    assert kinds(steps) == ["assistant", "tool_result"]
    assert steps[1].tool_call_id == "call_0_0"


def test_ids_that_come_again_in_a_later_turn_are_told_apart() -> None:
    turn = [assistant(call("a", "call_0")), tool("x", "call_0")]
    steps = steps_from_messages(turn * 3)
    assert [s.tool_call_id for s in steps if s.kind == "tool_result"] == [
        "call_0",
        "call_0#2",
        "call_0#3",
    ]
    assert "note" not in kinds(steps)


def test_two_results_of_one_call_keep_their_order() -> None:
    steps = steps_from_messages([assistant(call()), tool("first"), tool("second")])
    assert [(s.text, s.tool_call_id) for s in steps[1:]] == [("first", "c1"), ("second", "c1")]


def test_a_trimmed_thread_notes_what_is_missing() -> None:
    steps = steps_from_messages(
        [
            tool("stray", "c0"),
            {"role": "user", "content": "go"},
            assistant(call("a", "c1"), call("b", "c2")),
            tool("done", "c2"),
            {"role": "user", "content": "and?"},
        ]
    )
    assert kinds(steps) == [
        "tool_result",
        "note",
        "user",
        "assistant",
        "tool_result",
        "note",
        "user",
    ]
    assert steps[0].tool_call_id == ""
    assert steps[1].text == "this result answers no recorded call"
    assert (steps[5].text, steps[5].tool_call_id) == ("no result recorded for a", "c1")


def test_a_result_of_another_tool_is_not_taken_for_the_open_call() -> None:
    steps = steps_from_messages([assistant(call("a", None)), tool("x", None, name="b")])
    assert sorted(kinds(steps)) == ["assistant", "note", "note", "tool_result"]
    assert {s.text for s in steps if s.kind == "note"} == {
        "this result answers no recorded call",
        "no result recorded for a",
    }


def test_a_result_that_comes_late_is_still_paired() -> None:
    steps = steps_from_messages([assistant(call()), {"role": "user"}, tool("late")])
    assert kinds(steps) == ["assistant", "user", "tool_result"]
    assert steps[2].tool_call_id == "c1"


def test_ids_in_a_list_are_understood() -> None:
    steps = steps_from_messages(
        [assistant(call()), {"role": "tool", "content": "x", "tool_call_ids": ["c1"]}]
    )
    assert steps[1].tool_call_id == "c1"


def test_blocks_of_tool_use_and_tool_result_are_calls_and_results() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "r"}],
    }
    steps = steps_from_messages(
        [
            {"role": "assistant", "content": [{"type": "text", "text": "looking"}, use]},
            {"role": "user", "content": [result, {"type": "text", "text": "go on"}]},
            {"role": "assistant", "content": [{**use, "id": "t2"}]},
            {"role": "user", "content": [{**result, "tool_use_id": "t2", "is_error": True}]},
        ]
    )
    assert kinds(steps) == ["assistant", "tool_result", "user", "assistant", "tool_result"]
    assert steps[0].text == "looking"
    assert (steps[1].text, steps[1].tool_name, steps[1].is_error) == ("r", "search", False)
    assert steps[4].is_error


def test_a_call_told_as_block_and_as_call_counts_once() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "x"}}
    steps = steps_from_messages([assistant(call(), content=[use])])
    assert len(steps[0].tool_calls) == 1


@given(
    st.lists(
        st.one_of(
            st.builds(
                lambda ids: assistant(*[call("t", i) for i in ids]),
                st.lists(st.sampled_from(["c1", "c2", None, ""]), max_size=3),
            ),
            st.builds(tool, st.text(max_size=5), st.sampled_from(["c1", "c2", "c9", None])),
            st.just({"role": "user", "content": "u"}),
        ),
        max_size=12,
    )
)
def test_call_ids_are_unique_and_every_call_is_answered_or_noted(messages: list[dict]) -> None:
    steps = steps_from_messages(messages)
    ids = [made.id for step in steps for made in step.tool_calls]
    assert len(ids) == len(set(ids))
    told = {s.tool_call_id for s in steps if s.kind in ("tool_result", "note")}
    assert set(ids) <= told
    assert told <= {*ids, ""}
    results = [s for s in steps if s.kind == "tool_result"]
    assert len(results) == sum(m["role"] == "tool" for m in messages)
    assert steps == steps_from_messages(messages)


# Failure


ERRORS = [
    "Error: payment amount does not add up, total price is 305, but paid 255",
    "Error: not enough seats on flight HAT139",
    "ERROR: no such table",
    "  error: pathspec 'x' did not match",
    "fatal: not a git repository",
    "ValueError: bad date",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd4",
    "requests.exceptions.ConnectionError: refused",
    "ToolException('boom')",
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: 3',
    'wait\nTraceback (most recent call last):\n  File "a.py"\nsqlite3.OperationalError: locked\n',
    '  File "a.py", line 3\n    def (:\n        ^\nSyntaxError: invalid syntax',
    '{"error": "not found"}',
    '{"error": {"code": 4, "message": "no"}}',
    '{"error": true}',
    '{"status": "error", "data": null}',
    '{"status": 404}',
    '{"status_code": 503, "text": "busy"}',
    '{"isError": true, "content": []}',
    '{"success": false}',
    '{"ok": false}',
    "HTTP 404",
    "HTTP/1.1 500 Internal Server Error",
    "HTTP error 429: slow down",
    "404 Client Error: Not Found for url: http://example.org",
    "502 Bad Gateway",
    "status code: 403",
    "Error executing tool search: timeout",
    "Command failed with exit code 2",
    "Process exited with code 127",
    "bash: foo: command not found",
    "cat: x.txt: No such file or directory",
    "错误：余额不足",
    "psycopg2.errors.InsufficientPrivilege: permission denied for table users",
    "sqlalchemy.exc.OperationalError: (psycopg2) server closed\n[SQL: select 1]",
    "connecting\nsqlalchemy.exc.OperationalError: server closed the connection\n[SQL: select 1]",
    "bash: pytest: command not found\nexit code 127",
    "3 files\nbash: line 4: jq: command not found",
    "zsh: command not found: jq",
    "Exit code: 1\nfatal: not a git repository",
    "checking\nfatal: not a git repository (or any of the parent directories): .git",
    "[exit 1] make: *** [Makefile:3: all] Error 2",
    "cc -c a.c\na.c:1: oops\nmake[1]: *** [Makefile:3: a.o] Error 1",
    "two lines\nof output\n[exit 2]",
    "Exit status: -9",
    "<returncode>1</returncode>\n<output>\nno\n</output>",
    "npm ERR! code ENOENT\nnpm ERR! syscall open",
    "curl: (7) Failed to connect to localhost port 80",
    "ERROR 1045 (28000): Access denied for user 'app'@'localhost'",
    "Permission denied (publickey).",
    "rate limit exceeded",
    "Rate limit exceeded. Try again in 20 s.",
    "Not authorized",
    "Not authorized to cancel this booking",
    "文件不存在",
    "请求失败，状态码 500",
    "权限不足",
    "Forbidden",
    "Too many requests, slow down",
    '{\n  "rows": 1\n}\nexit code 1',
    '{"exit_code": 2, "stdout": ""}',
]

FINE = [
    "",
    "412 rows",
    "No errors were found.",
    "The page explains how to fix Error: 404 in a browser",
    "Errors are listed below; there are none",
    "error rate is 0.02",
    "Error handling in Python\nA guide to ValueError: what it means",
    '{"error": null, "rows": 3}',
    '{"error": "", "rows": 3}',
    '{"error": 0.02, "rmse": 1.5}',
    '{"status": "ok"}',
    '{"status": 200}',
    '{"status": "delayed", "flight": "HAT1"}',
    '{"success": true}',
    '{"items": [{"error": "x"}]}',
    "{not json: error}",
    "[1, 2]",
    "404 hotels found in Paris",
    "500 rows inserted",
    "HTTP 200 OK",
    "Command exited with code 0",
    "Process exited with exit code: 0",
    "status code: 200",
    'log:\nTraceback (most recent call last):\n  File "a"\nValueError: x\nrecovered, 3 rows',
    "1:import errno\n2:raise ValueError('x')",
    "没有错误",
    "The file says: command not found\nbut the command was found",
    "done\nexit code 0",
    "Exit code: 0\nfatal errors: none",
    "first try\nexit code: 1\nsecond try\nexit code: 0",
    "#!/bin/sh\nset -e\ntest -f a || {\n  exit 1\n}",
    "The tool ends with exit code 1 if a file is missing.",
    "What npm ERR! means\nA guide for beginners, with curl: (7) explained",
    "Use `sqlalchemy.exc.OperationalError: ...` to tell them apart",
    "psycopg2.errors.InsufficientPrivilege\nRaised when a role lacks a right",
    "Permission denied is what ssh says when the key is not known to the server.",
    "Permission denied\nA page about permissions\nChapter one",
    "Rate limit exceeded responses carry a header",
    "Forbidden: a novel about a city",
    "Too many requests for refunds came in",
    "Not authorized purchases are listed below",
    "how to read\nnpm ERR! lines\nbegins here\nand goes on\nfor a while",
    "文件不存在时会自动创建",
    "请求失败率为 0.2%",
    "用户问：订单不存在怎么办",
    '{"exit_code": 0, "stdout": "x"}',
]


@pytest.mark.parametrize("text", ERRORS)
def test_a_tool_text_that_is_an_error_is_told_as_one(text: str) -> None:
    assert looks_like_error(text)
    steps = steps_from_messages([assistant(call()), tool(text)])
    assert steps[1].is_error


@pytest.mark.parametrize("text", FINE)
def test_a_tool_text_that_speaks_of_errors_is_none(text: str) -> None:
    assert not looks_like_error(text)


@pytest.mark.parametrize("sign", [{"status": "error"}, {"is_error": True}, {"status": "failed"}])
def test_a_declared_error_is_one_whatever_it_says(sign: dict) -> None:
    assert steps_from_messages([assistant(call()), tool("fine", **sign)])[1].is_error


@pytest.mark.parametrize("sign", [{"status": "success"}, {"is_error": False}, {"status": None}])
def test_a_declared_success_is_none(sign: dict) -> None:
    assert not steps_from_messages([assistant(call()), tool("fine", **sign)])[1].is_error


def test_an_error_message_of_the_assistant_is_no_tool_error() -> None:
    (step,) = steps_from_messages([{"role": "assistant", "content": "Error: I can't"}])
    assert not step.is_error


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "Error",
        "error executing ",
        "{",
        "tool ",
        "x.",
        "x: ",
        "[exit ",
        "\n",
        "\n\t",
        "\n ",
    ],
)
def test_a_hostile_tool_text_is_judged_quickly(unit: str) -> None:
    looks_like_error(unit * (1_000_000 // len(unit)))


# Text


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("é中文😀", "é中文😀"),
    ],
)
def test_text_is_cleaned_by_one_rule(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean
    (step, _) = steps_from_messages([assistant(call(raw, raw, {raw: [raw]}), content=raw)])
    (made,) = step.tool_calls
    assert (step.text, made.name, made.arguments) == (clean, clean, {clean: [clean]})


@given(st.text(st.characters(codec=None)))
def test_clean_text_can_always_be_encoded_and_is_a_fixed_point(text: str) -> None:
    once = clean_text(text)
    once.encode("utf-8")
    assert "\0" not in once
    assert clean_text(once) == once


# Other carriers


class Role(Enum):
    USER = "user"


@dataclass
class Function:
    name: str = "search"
    arguments: str = '{"q": "x"}'


@dataclass
class Call:
    id: str = "c1"
    function: Function = field(default_factory=Function)


@dataclass
class Plain:
    role: Any
    content: Any = None
    tool_calls: Any = None


class Dumping:
    def model_dump(self) -> dict:
        return {"role": "assistant", "content": None, "tool_calls": [call()]}


class DumpingNonsense:
    def model_dump(self) -> str:
        return "nonsense"


def test_objects_with_attributes_are_messages() -> None:
    steps = steps_from_messages([Plain(Role.USER, "hi"), Plain("assistant", tool_calls=[Call()])])
    assert steps[0] == Step("user", "hi")
    assert steps[1].tool_calls[0].arguments == {"q": "x"}


def test_objects_that_dump_themselves_are_messages() -> None:
    assert steps_from_messages([Dumping()])[0].tool_calls[0].name == "search"


def test_an_object_that_dumps_nonsense_is_refused() -> None:
    with pytest.raises(TrajectoryError, match="message 0 is"):
        steps_from_messages([DumpingNonsense()])


@pytest.mark.parametrize(
    ("more", "agent"),
    [
        ({"name": "planner"}, ""),
        ({"agent": "planner"}, "planner"),
        ({"metadata": {"agent": "planner"}}, "planner"),
        ({"metadata": {"agent": None}}, ""),
        ({"metadata": "x"}, ""),
    ],
)
def test_only_a_declared_agent_is_one(more: dict, agent: str) -> None:
    (step,) = steps_from_messages([{"role": "assistant", "content": "x", **more}])
    assert step.agent == agent


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-05T10:00:00+01:00", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T09:00:00Z", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        (1_767_603_600, datetime(2026, 1, 5, 9, tzinfo=UTC)),
        (datetime(2026, 1, 5, 9, tzinfo=UTC), datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T10:00:00", None),
        ("yesterday", None),
        (float("inf"), None),
        (1e300, None),
        (True, None),
        ([2026], None),
    ],
)
def test_a_time_is_kept_where_it_is_beyond_doubt(value: Any, moment: datetime | None) -> None:
    (step,) = steps_from_messages([{"role": "user", "content": "x", "timestamp": value}])
    assert step.at == moment
