from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from hindsight_core.models import Lesson
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import csv_run
from hindsight_core.trajectory import Outcome, Trajectory

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
USER = "user"


def run_of(*events: Any, outcome: str = "unknown", task: str = "Do the work") -> Trajectory:
    """Build a run of (tool, arguments, answer) triples and `USER`, where a person speaks."""
    steps = [Step("user", task)]
    for number, event in enumerate(events):
        if event == USER:
            steps.append(Step("user", "Please go on with the rest of it"))
            continue
        tool, arguments, answer = event
        call = ToolCall(f"c{number}", tool, arguments)
        steps.append(Step("assistant", "", (call,)))
        if answer is not None:
            steps.append(Step("tool_result", answer, tool_call_id=call.id, tool_name=tool))
    label: Any = outcome
    return Trajectory(run_id="r1", steps=tuple(steps), outcome=Outcome(label, "validator"))


def rules(run: Trajectory) -> list[Lesson]:
    reflected = RuleReflector().reflect(run, (), NOW)
    return [lesson for lesson in reflected.lessons if lesson.category == "rule"]


def only_rule(run: Trajectory) -> Lesson:
    (lesson,) = rules(run)
    return lesson


# ---- mended


def test_a_tool_that_failed_and_worked_with_another_argument_gives_a_rule() -> None:
    rule = only_rule(csv_run())
    error = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd4"
    assert rule.content == (
        f'When read_csv fails with "{error}", use encoding=gb18030 instead of utf-8; '
        "that made it work."
    )
    assert rule.applies_when == f'read_csv fails with "{error}"'
    assert rule.kind == "semantic"
    assert rule.source == "rule"
    assert rule.confidence is None
    assert rule.steps == (1, 2, 3, 4)
    assert rule.importance == pytest.approx(0.5)
    assert rule.context.tools_used == ("read_csv",)
    assert rule.context.parameters == {"path": "sales.csv", "encoding": "gb18030"}
    assert "path" not in rule.content


def test_several_failed_attempts_before_the_fix_are_folded_into_one_rule() -> None:
    failed = "UnicodeDecodeError: cannot decode byte 0xd4"
    run = run_of(
        ("read_csv", {"path": "a.csv", "encoding": "utf-8"}, failed),
        ("read_csv", {"path": "a.csv", "encoding": "latin-1"}, failed),
        ("read_csv", {"path": "a.csv", "encoding": "gb18030"}, "412 rows"),
    )
    rule = only_rule(run)
    assert "use encoding=gb18030 instead of utf-8 and latin-1" in rule.content
    assert rule.steps == (1, 2, 3, 4, 5, 6)


def test_a_fix_is_told_in_the_language_of_the_run() -> None:
    run = run_of(
        ("读取", {"路径": "销售.csv", "编码": "utf-8"}, "错误：无法解码"),
        ("读取", {"路径": "销售.csv", "编码": "gb18030"}, "412 行"),
        task="帮我统计销售总额",
    )
    assert only_rule(run).content == (
        "当 读取 报错“无法解码”时，把 编码 设为 gb18030，不要用 utf-8；这样就成功了。"
    )


def test_a_name_of_two_chinese_characters_shows_that_the_target_is_the_same() -> None:
    run = run_of(
        ("订票", {"日期": "明天", "到": "上海"}, "错误：日期格式必须是 YYYY-MM-DD"),
        ("订票", {"日期": "2026-11-30", "到": "上海"}, "成功"),
        task="订一张明天去上海的高铁票",
    )
    assert "2026-11-30" in only_rule(run).content
    one = run_of(
        ("book", {"date": "tomorrow", "seat": "A"}, "Error: date must be YYYY-MM-DD"),
        ("book", {"date": "2026-11-30", "seat": "A"}, "ok"),
    )
    assert rules(one) == []


def test_arguments_that_came_or_went_are_named() -> None:
    run = run_of(
        ("query", {"table": "sales", "limit": 5}, "Error: a region is required"),
        ("query", {"table": "sales", "region": "eu"}, "ok"),
    )
    content = only_rule(run).content
    assert "add region=eu" in content
    assert "leave out limit" in content


def test_long_nested_and_identifying_values_are_not_repeated() -> None:
    run = run_of(
        (
            "book",
            {"flights": ["HAT1"], "payment": [{"id": "c_1", "amount": 5}]},
            "Error: underpaid by 4",
        ),
        ("book", {"flights": ["HAT1"], "payment": [{"id": "c_1", "amount": 9}]}, "booked"),
        ("update", {"name": "Ada", "payment_id": "credit_card_123456"}, "Error: card was declined"),
        ("update", {"name": "Ada", "payment_id": "gift_card_998877"}, "updated"),
    )
    first, second = rules(run)
    assert first.content == (
        'When book fails with "underpaid by 4", change amount in payment; that made it work.'
    )
    assert second.content == (
        'When update fails with "card was declined", use payment_id=gift_card_… instead of '
        "credit_card_…; that made it work."
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"reservation_id": "AB12CD"}, {"reservation_id": "EF34GH"}),
        ({"query": "weather in Oslo"}, {"query": "weather in Rome"}),
        ({"command": "ls /missing"}, {"command": "pwd"}),
        ({"command": "cat notes.txt", "timeout": 5}, {"command": "cat other.txt", "timeout": 5}),
        ({"path": "a.csv "}, {"path": "A.csv"}),
        ({"path": "a.csv", "thought": "one"}, {"path": "a.csv", "thought": "two"}),
        ({"city": "Oslo"}, {"city": "Buenos Aires"}),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, {"a": "5", "b": "6", "c": "7", "d": "8"}),
        ({"command": "make all"}, {"command": ["make"]}),
        ({"path": "one.csv"}, {"path": ["one.csv"]}),
        ({"path": "x" * 400}, {"path": "x" * 401}),
        ({"code": "x" * 400, "lang": "python"}, {"code": "y" * 400, "lang": "python"}),
        ({"command": "pytest"}, {"command": "pip install pytest"}),
        ({"command": "pytest"}, {"command": "which pytest"}),
        ({"command": "pytest"}, {"command": "uv add pytest"}),
        ({"command": "pytest"}, {"command": "cd src && pytest"}),
        ({"command": "pytest"}, {"command": "python -m unittest"}),
        ({"command": "ls"}, {"command": "lsblk"}),
        ({"to": "Bob"}, {"to": "bobby@example.com"}),
        ({"to": "Al"}, {"to": "al@example.com"}),
        ({"path": "a", "mode": "x", "n": 1}, {"path": "a", "mode": "y", "n": 2}),
        ({"date": "tomorrow", "seat": "A"}, {"date": "2026-11-30", "seat": "A"}),
    ],
)
def test_another_target_and_trivial_changes_give_no_rule(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    run = run_of(("fetch", old, "Error: it is not there at all"), ("fetch", new, "fine"))
    assert all("mended" not in rule.tags for rule in rules(run))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("command", "python setup.py", "python3 setup.py"),
        ("command", "pytest tests", "pytest -x tests"),
        ("input", "flag{a b c}", "'flag{a b c}'"),
        ("path", "sales.csv", "data/sales.csv"),
        ("limit", 1000, 100),
        ("path", "data\\sales.csv", "data/sales.csv"),
        ("command", "pytest", "python -m pytest"),
        ("command", "pytest -x tests", "uv run pytest -x tests"),
        ("command", "sudo make", "make"),
        ("command", "pip", "pip3"),
        ("command", "run.sh", "./run.sh"),
        ("to", "Bob", "bob@example.com"),
        ("city", "York, North Yorkshire, England", "York"),
    ],
)
def test_another_form_of_the_same_request_gives_a_rule(name: str, old: Any, new: Any) -> None:
    run = run_of(("tool", {name: old}, "Error: refused for a reason"), ("tool", {name: new}, "ok"))
    assert f"use {name}={new} instead of {old}" in only_rule(run).content


def test_a_kept_path_of_one_letter_shows_that_the_target_is_the_same() -> None:
    run = run_of(
        ("read_csv", {"path": "a", "encoding": "utf-8"}, "Error: cannot decode byte 0xd4"),
        ("read_csv", {"path": "a", "encoding": "gb18030"}, "412 rows"),
    )
    assert "use encoding=gb18030 instead of utf-8" in only_rule(run).content


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({}, {"headers": {"Authorization": "Bearer abc"}}, "give headers with Authorization;"),
        (
            {"headers": {"Accept": "*/*"}},
            {"headers": {"Accept": "*/*", "X-Region": "eu", "Authorization": "Bearer abc"}},
            "give headers with X-Region and Authorization;",
        ),
        ({"opts": {"a": 1, "b": 1}}, {"opts": {"a": 1, "b": 2}}, "change b in opts;"),
        ({"rows": [{"n": 1}]}, {"rows": [{"n": 1}, {"n": 2}]}, "change rows;"),
        ({"rows": [1]}, {"rows": [2]}, "change rows;"),
        ({"opts": {}}, {"opts": dict.fromkeys("abcd", 1)}, "change opts;"),
        ({}, {"opts": {"a key\nwith lines": 1}}, "give opts;"),
        ({"opts": {"a": 1, "b": 2}}, {"opts": {"a": 1}}, "change opts;"),
        ({}, {"payment_id": "gift_card_998877"}, "add payment_id=gift_card_…;"),
        (
            {"payment_id": "gift_card_1112"},
            {"payment_id": "gift_card_9988"},
            "use another gift_card_… as payment_id;",
        ),
        ({"payment_id": "cash"}, {"payment_id": "gift_card_9988"}, "change payment_id;"),
        ({"payment_id": "gift_card_9988"}, {"payment_id": "A77"}, "change payment_id;"),
        ({"payment_id": 5}, {"payment_id": 7}, "change payment_id;"),
        ({"user_id": "ada_king_1234"}, {"user_id": "bob_hill_1234"}, "change user_id;"),
    ],
)
def test_the_kind_or_the_keys_of_a_value_are_told_and_not_the_value(
    old: Mapping[str, Any], new: Mapping[str, Any], told: str
) -> None:
    same = {"place": "Harbor Street"}
    run = run_of(
        ("send", {**same, **old}, "Error: refused by policy"), ("send", {**same, **new}, "ok")
    )
    content = only_rule(run).content
    assert f'"refused by policy", {told}' in content
    assert "Bearer" not in content


def test_the_keys_of_a_value_are_told_in_chinese() -> None:
    run = run_of(
        ("发送", {"地址": "港口街"}, "错误：未登录"),
        ("发送", {"地址": "港口街", "headers": {"Authorization": "x"}}, "完成"),
        ("改单", {"地址": "港口街", "单": {"数量": 1}}, "错误：数量太少"),
        ("改单", {"地址": "港口街", "单": {"数量": 2}}, "完成"),
        task="帮我把文件发送出去",
    )
    first, second = rules(run)
    assert "提供带有 Authorization 的 headers" in first.content
    assert "修改 单 里的 数量" in second.content


def test_a_fix_without_an_old_value_worth_telling_names_the_new_one() -> None:
    run = run_of(
        ("read", {"path": "a.csv", "mode": "fast"}, "Error: mode fast is gone"),
        ("read", {"path": "a.csv"}, "Error: a mode is required"),
        ("read", {"path": "a.csv", "mode": "safe"}, "rows"),
    )
    rule = only_rule(run)
    assert rule.content == (
        'When read fails with "a mode is required", add mode=safe; that made it work.'
    )
    assert len(rule.steps) == 6


def test_values_of_every_kind_are_kept_short_and_safe() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    run = run_of(
        ("set", {"key": "color", "n": 2**70, "x": 0.5}, "Error: too large a number"),
        ("set", {"key": "color", "n": 7, "x": 0.5, "on": True, "deep": deep}, "done"),
    )
    rule = only_rule(run)
    assert "change n" in rule.content
    assert "add on=true" in rule.content
    assert "give deep;" in rule.content
    assert rule.context.parameters["deep"] == "list"


def test_a_failure_long_before_the_success_is_not_mended_by_it() -> None:
    noise = [("look", {"page": n}, f"page {n}") for n in range(30)]
    run = run_of(
        ("read", {"path": "a.csv", "mode": "x"}, "Error: unknown mode"),
        *noise,
        ("read", {"path": "a.csv", "mode": "r"}, "rows"),
    )
    assert rules(run) == []


@pytest.mark.parametrize(
    ("answer", "essence"),
    [
        ("bash: pytest: command not found\nexit code 127", "bash: pytest: command not found"),
        ("Exit code: 127\npytest is nowhere to be seen", "pytest is nowhere to be seen"),
        ("[exit 127]\npytest is nowhere to be seen", "pytest is nowhere to be seen"),
    ],
)
def test_what_a_shell_said_beside_its_exit_code_is_quoted(answer: str, essence: str) -> None:
    run = run_of(
        ("bash", {"command": "pytest"}, answer),
        ("bash", {"command": "python -m pytest"}, "3 passed\nexit code 0"),
        outcome="success",
    )
    assert only_rule(run).content == (
        f'When bash fails with "{essence}", use command=python -m pytest instead of pytest; '
        "that made it work."
    )


def test_an_exit_code_alone_gives_no_rule() -> None:
    run = run_of(
        ("bash", {"command": "pytest"}, "Exit code: 1"),
        ("bash", {"command": "python -m pytest"}, "3 passed"),
    )
    assert rules(run) == []


def test_an_error_that_says_nothing_gives_no_rule() -> None:
    run = run_of(
        ("go", {"target": "shelf", "speed": "fast"}, "Error: something went wrong"),
        ("go", {"target": "shelf", "speed": "slow"}, "arrived"),
    )
    assert rules(run) == []


@pytest.mark.parametrize(
    "error",
    [
        "Error: request timed out after 30 s",
        "requests.exceptions.ReadTimeout: HTTPConnectionPool",
        "Error: connection refused by the host",
        "HTTP 429: slow down",
        "503 Service Unavailable",
        "Error: status code 500 from upstream",
        "错误：请求超时",
        "请求失败，状态码 502",
    ],
)
def test_what_a_busy_service_says_is_not_mended_by_other_arguments(error: str) -> None:
    run = run_of(("fetch", {"url": "http://a"}, error), ("fetch", {"url": "http://b"}, "page"))
    assert rules(run) == []


def test_a_wrong_timeout_argument_is_no_busy_service() -> None:
    run = run_of(
        ("fetch", {"url": "http://a", "timeout": 500}, "Error: timeout must be at most 60"),
        ("fetch", {"url": "http://a", "timeout": 60}, "page"),
    )
    assert "use timeout=60 instead of 500" in only_rule(run).content


def test_a_busy_service_before_a_real_failure_is_left_out_of_its_fix() -> None:
    run = run_of(
        ("read", {"table": "sales", "mode": "fast"}, "Error: connection reset by peer"),
        ("read", {"table": "sales", "mode": "slow"}, "Error: mode slow is gone"),
        ("read", {"table": "sales", "mode": "safe"}, "rows"),
    )
    rule = only_rule(run)
    assert "use mode=safe instead of slow;" in rule.content
    assert rule.steps == (3, 4, 5, 6)


@pytest.mark.parametrize(
    ("outcome", "task", "ending"),
    [
        ("failure", "Do the work", "; that got past this error."),
        ("success", "Do the work", "; that made it work."),
        ("failure", "帮我统计销售总额", "；这样就不再报这个错。"),
    ],
)
def test_a_fix_found_in_a_failed_run_only_got_past_its_error(
    outcome: str, task: str, ending: str
) -> None:
    run = run_of(
        ("read", {"path": "sales.csv", "mode": "x"}, "Error: unknown mode"),
        ("read", {"path": "sales.csv", "mode": "r"}, "rows"),
        outcome=outcome,
        task=task,
    )
    assert only_rule(run).content.endswith(ending)


# ---- after another tool, unstable


def test_the_same_call_that_worked_after_another_tool_names_that_tool() -> None:
    run = run_of(
        ("search", {"q": "x"}, "Error: no session is open"),
        ("open_session", {"user": "ada"}, "opened"),
        ("search", {"q": "x"}, "3 hits"),
    )
    rule = only_rule(run)
    assert rule.content == (
        'When search fails with "no session is open", call open_session first; '
        "the same call then worked."
    )
    assert rule.tags == ("prepared",)


def test_a_call_that_worked_after_an_edit_teaches_nothing_about_the_edit() -> None:
    run = run_of(
        ("bash", {"command": "python a.py"}, "Traceback (most recent call last):\nNameError: x"),
        ("edit", {"text": "x = 1"}, "saved"),
        ("bash", {"command": "python a.py"}, "1"),
    )
    assert rules(run) == []


def test_the_same_call_that_fails_and_works_is_unstable() -> None:
    run = run_of(
        ("fetch", {"url": "http://a"}, "Error: connection reset by peer"),
        ("think", {"thought": "try again"}, ""),
        ("fetch", {"url": "http://a"}, "Error: connection reset by peer"),
        ("fetch", {"url": "http://a"}, "page"),
    )
    rule = only_rule(run)
    assert rule.content == (
        'fetch is unstable: the same call failed 2 times with "connection reset by peer" and '
        "then worked unchanged. Try it again before changing anything."
    )
    assert rule.tags == ("unstable",)


def test_a_call_that_works_after_the_user_spoke_is_not_unstable() -> None:
    run = run_of(
        ("fetch", {"url": "http://a"}, "Error: not signed in"),
        USER,
        ("fetch", {"url": "http://a"}, "page"),
    )
    assert rules(run) == []


# ---- loops


def test_the_same_call_with_the_same_result_three_times_is_a_loop() -> None:
    run = run_of(*[("search", {"query": "x"}, "no news")] * 3)
    rule = only_rule(run)
    assert rule.content == (
        "Calling search 3 times with the same arguments (query=x) gave the same result each "
        "time; change the arguments or the approach instead."
    )
    assert rule.tags == ("loop", "warning")
    assert rule.outcome == "failure"
    assert rules(run_of(*[("search", {"query": "x"}, "no news")] * 2)) == []


def test_a_loop_of_failures_is_one_warning_not_two() -> None:
    run = run_of(*[("open", {"target": "fridge"}, "Error: the door is locked")] * 40)
    rule = only_rule(run)
    assert 'failed each time with "the door is locked"' in rule.content
    assert "40 times" in rule.content
    assert len(rule.steps) <= 12


@pytest.mark.parametrize(
    "events",
    [
        [
            ("poll", {}, "pending"),
            ("poll", {}, "pending"),
            ("poll", {}, "pending"),
            ("poll", {}, "done"),
        ],
        [("poll", {}, "same"), USER, ("poll", {}, "same"), USER, ("poll", {}, "same")],
        [("think", {}, "")] * 5,
        [("poll", {"n": n}, "same") for n in range(5)],
        [("poll", {}, None)] * 4,
    ],
)
def test_waiting_asking_again_and_thinking_are_no_loops(events: list[Any]) -> None:
    assert rules(run_of(*events)) == []


# ---- never mended


def test_an_error_that_was_never_mended_becomes_a_warning() -> None:
    run = run_of(
        ("deploy", {"target": "prod"}, "Error: quota exceeded for region eu"),
        ("deploy", {"target": "prod", "force": True}, "Error: quota exceeded for region eu"),
        outcome="failure",
    )
    rule = only_rule(run)
    assert rule.content == (
        'deploy failed 2 times, last with "quota exceeded for region eu", and the run found no '
        "way around it; not solved yet."
    )
    assert rule.outcome == "failure"
    assert "warning" in rule.tags


@pytest.mark.parametrize("outcome", ["success", "abandoned", "incomplete"])
def test_a_failure_that_did_not_matter_or_was_cut_off_gives_no_warning(outcome: str) -> None:
    run = run_of(("deploy", {"target": "prod"}, "Error: quota exceeded"), outcome=outcome)
    assert rules(run) == []


def test_a_tool_that_worked_later_has_no_open_failure() -> None:
    run = run_of(
        ("read", {"path": "one.txt"}, "Error: file is locked by a writer"),
        ("read", {"path": "something/else.md"}, "text"),
        outcome="failure",
    )
    assert rules(run) == []


def test_what_another_tool_did_with_the_same_arguments_is_not_called_unsolved() -> None:
    run = run_of(
        ("read_file", {"path": "config.toml"}, "Error: the file is binary, use read_bytes"),
        ("read_bytes", {"path": "config.toml"}, "12 bytes"),
    )
    assert rules(run) == []
    other = run_of(
        ("read_file", {"path": "config.toml"}, "Error: the file is binary, use read_bytes"),
        ("read_bytes", {"path": "notes.txt"}, "12 bytes"),
    )
    assert "not solved yet" in only_rule(other).content


def test_a_search_without_a_hit_is_no_open_failure() -> None:
    run = run_of(
        ("search", {"query": "Livesey Hall"}, "Error: Could not find [Livesey Hall]"),
        outcome="failure",
    )
    assert rules(run) == []


# ---- what counts as an error


@pytest.mark.parametrize(
    ("answer", "essence"),
    [
        ("Error: payment does not add up", "payment does not add up"),
        ("Wrong password!", "Wrong password!"),
        ('{"error": {"message": "no such table: sales"}}', "no such table: sales"),
        ('{"status": "error", "detail": "disk full on node"}', "disk full on node"),
        (
            "boot\nTraceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'",
            "KeyError: 'x'",
        ),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("Your proposed edit has introduced new syntax error(s).\nline 3", "introduced new syntax"),
        ("错误：余额不足", "余额不足"),
    ],
)
def test_what_reads_as_a_failure_is_quoted_in_one_line(answer: str, essence: str) -> None:
    rule = only_rule(run_of(("tool", {"n": 1}, answer), outcome="failure"))
    assert essence in rule.content


@pytest.mark.parametrize(
    "answer",
    [
        "412 rows, 3 of them with errors in the comment column",
        '{"error": null, "rows": 3}',
        '{"errors": 0}',
        "def handle_error(error): ...",
        "",
        "[]",
    ],
)
def test_what_only_speaks_of_errors_is_none(answer: str) -> None:
    assert rules(run_of(("tool", {"n": 1}, answer), outcome="failure")) == []


def test_results_are_paired_by_id_even_when_they_arrive_out_of_order() -> None:
    calls = (
        ToolCall("a", "get", {"key": "one", "mode": "x"}),
        ToolCall("b", "get", {"key": "two"}),
    )
    run = Trajectory(
        run_id="r1",
        steps=(
            Step("user", "Fetch both keys"),
            Step("assistant", "", calls),
            Step("tool_result", "fine", tool_call_id="b", tool_name="get"),
            Step("tool_result", "Error: unknown mode given", tool_call_id="a", tool_name="get"),
            Step("assistant", "", (ToolCall("c", "get", {"key": "one", "mode": "y"}),)),
            Step("tool_result", "fine", tool_call_id="c", tool_name="get"),
        ),
    )
    rule = only_rule(run)
    assert "use mode=y instead of x" in rule.content
    assert rule.steps == (1, 3, 4, 5)


def test_results_without_an_id_go_to_the_oldest_open_call_of_their_tool() -> None:
    run = Trajectory(
        run_id="r1",
        steps=(
            Step("user", "Fetch the key"),
            Step("assistant", "", (ToolCall("a", "get", {"key": "one", "mode": "x"}),)),
            Step("tool_result", "Error: unknown mode given", tool_name="get"),
            Step("assistant", "", (ToolCall("b", "get", {"key": "one", "mode": "y"}),)),
            Step("tool_result", "fine", tool_name="get"),
            Step("tool_result", "stray", tool_name="other"),
        ),
    )
    assert only_rule(run).steps == (1, 2, 3, 4)
