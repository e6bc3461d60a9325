"""The text of a run for a model."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_core.embedding.tokens import open_token_counter
from hindsight_core.reflection.compress import LONG_RUN_SHARE, SHORT_RUN_TOKENS, compress
from hindsight_core.reflection.excerpts import (
    error_lines,
    excerpt,
    passage_of,
    replace_blobs,
    telling_line,
)
from hindsight_core.reflection.loops import find_loops
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import csv_run
from hindsight_core.trajectory import Outcome, Trajectory


def letters(text: str) -> int:
    """A quarter of the characters, as models count roughly."""
    return -(-len(text) // 4)


def run(*steps: Step, task: str = "", outcome: Outcome | None = None) -> Trajectory:
    return Trajectory(
        run_id="run_1", steps=steps, task=task, outcome=outcome or Outcome("success", "validator")
    )


def call(name: str, call_id: str = "c1", /, **arguments: object) -> Step:
    return Step("assistant", tool_calls=(ToolCall(call_id, name, arguments),))


def result(text: str, name: str = "search", call_id: str = "c1", failed: bool = False) -> Step:
    return Step("tool_result", text, tool_call_id=call_id, tool_name=name, is_error=failed)


def text_of(trajectory: Trajectory, budget: int = 8_000) -> str:
    return compress(trajectory, budget_tokens=budget, count_tokens=letters)


def long_run(steps: int = 200, words: int = 60) -> Trajectory:
    """A run of different calls with results of some length, one of which failed and was mended."""
    made: list[Step] = [Step("user", "Find every invoice that was paid twice")]
    for number in range(steps // 2):
        made.append(call("query", f"c{number}", page=number, table="invoices"))
        text = " ".join(f"row{number}x{word}" for word in range(words))
        failed = number == 40
        text = "OperationalError: no such column: paid_at" if failed else text
        made.append(result(text, "query", f"c{number}", failed))
    made.append(Step("assistant", "Invoices 17 and 23 were paid twice."))
    return run(*made)


def test_a_short_run_is_given_whole_with_positions() -> None:
    assert text_of(csv_run()).splitlines() == [
        "[0] user: Load sales.csv and tell me the total",
        '[1] calls read_csv({"path": "sales.csv", "encoding": "utf-8"})',
        "[2] read_csv failed: UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd4",
        (
            "[3] assistant: It is not UTF-8; trying GB18030. → calls "
            'read_csv({"path": "sales.csv", "encoding": "gb18030"})'
        ),
        "[4] read_csv returned: 412 rows",
        "[5] final answer: The total is 18,250.",
        "outcome: success (says validator)",
    ]


def test_a_long_run_comes_to_about_a_quarter_of_its_tokens() -> None:
    trajectory = long_run()
    whole = letters("\n".join(step.text for step in trajectory.steps))
    text = text_of(trajectory, budget=100_000)
    assert whole > 4 * SHORT_RUN_TOKENS
    assert 0.2 <= letters(text) / whole <= 0.3
    assert 0.2 <= LONG_RUN_SHARE <= 0.3


def test_task_errors_and_final_answer_survive_a_tight_budget() -> None:
    text = text_of(long_run(), budget=200)
    assert "[0] user: Find every invoice that was paid twice" in text
    assert "OperationalError: no such column: paid_at" in text
    assert "final answer: Invoices 17 and 23 were paid twice." in text
    assert "outcome: success" in text
    assert re.search(r"\(\d+ of 203 entries left out for length\)", text)


def test_a_huge_log_and_an_image_stay_within_8k_tokens_of_a_real_counter() -> None:
    count = open_token_counter("o200k_base", allow_download=False)
    log = "\n".join(f"12:00:{n % 60:02d} worker {n} did item {n * 7}" for n in range(130_000))
    log = log[: len(log) // 2] + "\nERROR: disk quota exceeded on /data\n" + log[len(log) // 2 :]
    assert len(log) > 4_500_000
    image = "The chart is data:image/png;base64," + "iVBORw0KGgo" * 27_000 + " as you see."
    steps = list(long_run().steps)
    steps[3] = result(log, "query", "c1")
    steps[5] = result(image, "query", "c2")
    text = compress(run(*steps), budget_tokens=8_000, count_tokens=count)
    assert count(text) <= 8_000
    assert "ERROR: disk quota exceeded on /data" in text
    assert re.search(r"\[image/png data, \d+ KB\]", text)
    assert "iVBORw0KGgoiVBORw0KGgo" not in text
    assert "as you see." in text
    assert "Invoices 17 and 23 were paid twice." in text
    assert re.search(r"\[[\d,]+ characters, cut\]", text)


def test_a_counter_never_gets_more_than_some_kilobytes_of_one_step() -> None:
    seen: list[int] = []

    def count(text: str) -> int:
        seen.append(len(text))
        return letters(text)

    steps = (Step("user", "Read it"), call("read"), result("word " * 1_000_000, "read"))
    compress(run(*steps), budget_tokens=2_000, count_tokens=count)
    assert max(seen) <= 20_000


@pytest.mark.timeout(20)
def test_thousands_of_steps_and_twenty_megabytes_are_no_trouble() -> None:
    log = "some log line with words in it, failed\n" * 500_000
    steps = (Step("user", "x"), call("f"), result(log, "f"), *long_run(4_000).steps)
    assert letters(text_of(run(*steps))) <= 8_000


@pytest.mark.parametrize("letter", ["a", " ", "字", "\n", "/"])
def test_a_megabyte_of_one_letter_is_no_trouble(letter: str) -> None:
    text = text_of(run(Step("user", "Go"), call("f"), result(letter * 1_000_000, "f")))
    assert letters(text) <= 8_000


def test_encoded_data_is_replaced_in_text_and_arguments() -> None:
    blob = "QUJD" * 100
    wrapped = "\n".join(["ab12" * 19] * 5) + "\nQUI="
    trajectory = run(
        Step("user", f"See {blob} please"),
        call("upload", data=f"data:application/pdf;base64,{blob}", name="a.pdf"),
        result(f"-----BEGIN-----\n{wrapped}\n-----END-----", "upload"),
    )
    text = text_of(trajectory)
    assert "See [encoded data, 400 characters] please" in text
    assert '{"data": "[application/pdf data, 428 characters]", "name": "a.pdf"}' in text
    assert "-----BEGIN-----\n[encoded data, 389 characters]\n-----END-----" in text


def test_long_names_and_paths_are_not_taken_for_data() -> None:
    path = "/".join(["folder.name"] * 40)
    words = "supercalifragilistic-" * 5 + "word"
    assert replace_blobs(f"{path} {words}") == f"{path} {words}"


def test_a_loop_is_folded_with_its_count() -> None:
    rounds = [
        s for n in range(20) for s in (call("poll", f"c{n}", id=7), result("busy", "poll", f"c{n}"))
    ]
    text = text_of(
        run(Step("user", "Wait for job 7"), *rounds, Step("assistant", "It never ended."))
    )
    assert text.splitlines() == [
        "[0] user: Wait for job 7",
        '[1] calls poll({"id": 7})',
        "[2] poll returned: busy",
        "[3–40] the 2 steps before, repeated 19 more times without change",
        "[41] final answer: It never ended.",
        "outcome: success (says validator)",
    ]


def test_calls_that_differ_in_one_argument_are_no_loop() -> None:
    rounds = [
        s for n in range(3) for s in (call("poll", f"c{n}", id=n), result("busy", "poll", f"c{n}"))
    ]
    assert find_loops(rounds) == ()


def test_a_single_step_said_three_times_is_a_loop_and_twice_is_not() -> None:
    step = Step("assistant", "Let me think")
    assert find_loops([step] * 2) == ()
    (loop,) = find_loops([Step("user", "x"), *[step] * 3])
    assert (loop.after, loop.period, loop.count, loop.repeated) == (1, 1, 2, range(2, 4))


def test_the_final_answer_is_shown_even_inside_a_loop() -> None:
    text = text_of(run(Step("user", "x"), *[Step("assistant", "I can't")] * 4))
    assert "[4] final answer: I can't" in text


def test_a_call_without_a_result_says_so() -> None:
    text = text_of(run(Step("user", "x"), call("search", q="y")))
    assert '[1] calls search({"q": "y"}) → no result recorded' in text


def test_a_result_without_a_call_says_so() -> None:
    text = text_of(run(Step("user", "x"), result("found", "search", "c9")))
    assert "[1] search (call not recorded) returned: found" in text


def test_calls_made_side_by_side_keep_their_results_apart() -> None:
    calls = tuple(ToolCall(f"c{n}", "get", {"n": n}) for n in (1, 2))
    text = text_of(
        run(
            Step("user", "x"),
            Step("assistant", tool_calls=calls),
            result("two", "get", "c2"),
            result("boom", "get", "c1", failed=True),
        )
    )
    assert '[1] calls (1) get({"n": 1}); (2) get({"n": 2})' in text
    assert "[2] (2) get returned: two" in text
    assert "[3] (1) get failed: boom" in text


def test_nothing_reads_none_when_fields_are_empty() -> None:
    empty = (
        Step("user", ""),
        Step("assistant", ""),
        call(""),
        result("", ""),
        result("", "", "", failed=True),
        Step("error", ""),
        Step("note", "no result recorded"),
        call("f", "c2", value=None),
    )
    text = text_of(run(*empty, outcome=Outcome()))
    assert "None" not in text
    assert "a tool({})" in text
    assert "a tool returned: nothing" in text
    assert 'f({"value": null})' in text


def test_what_a_sub_agent_does_is_labeled_and_never_the_users_word() -> None:
    text = text_of(
        run(
            Step("user", "Plan my week"),
            Step("user", "Summarise file X", agent="reader"),
            Step("assistant", "X is about tea", agent="reader"),
        )
    )
    assert "[1] sub-agent reader: asked by the agent above it: Summarise file X" in text
    assert "[2] sub-agent reader: assistant: X is about tea" in text
    assert "user: Summarise" not in text


def test_instructions_are_not_the_users_word() -> None:
    text = text_of(run(Step("system", "Be brief."), Step("user", "Hi")))
    assert "[0] instructions to the agent: Be brief." in text


def test_a_task_that_no_step_says_stands_first() -> None:
    assert text_of(run(Step("assistant", "Done"), task="Clean up")).startswith("task: Clean up\n")


def test_an_empty_run_gives_its_outcome() -> None:
    assert text_of(run(outcome=Outcome("failure", "exception", "boom"))) == (
        "outcome: failure (says exception): boom"
    )


def test_a_traceback_is_named_by_its_last_line() -> None:
    lines = "\n".join(f'  File "a{n}.py", line {n}, in f' for n in range(200))
    trace = f"Traceback (most recent call last):\n{lines}\nValueError: bad month 13"
    assert telling_line(trace) == "ValueError: bad month 13"
    trajectory = run(Step("user", "x"), call("f"), result(trace, "f", failed=True))
    assert "[2] f failed: ValueError: bad month 13 | Traceback" in text_of(trajectory, budget=90)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("starting\nfatal: not a repository\nbye", "fatal: not a repository"),
        ("nothing special\nsecond line", "nothing special"),
        ("连接\n错误：超时\n完", "错误：超时"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_error_is_found(text: str, expected: str) -> None:
    assert telling_line(text) == expected


def test_the_first_and_last_distinct_error_lines_are_kept() -> None:
    log = "\n".join(f"error {n}: {chr(97 + n % 26)} is bad" for n in range(26_000))
    kept = error_lines(log)
    assert len(kept) == 6
    assert kept[0] == "error 0: a is bad"
    assert len(set(kept)) == 6


def test_an_excerpt_says_how_much_there_was() -> None:
    text = excerpt(passage_of("a " * 250 + " middle " + "b " * 250), 100)
    assert text.startswith("a a a")
    assert text.endswith("b b b")
    assert "[1,007 characters, cut]" in text
    assert excerpt(passage_of("short"), 100) == "short"


STEPS = st.lists(
    st.builds(
        Step,
        kind=st.sampled_from(["system", "user", "assistant", "tool_result", "error", "note"]),
        text=st.text(max_size=30).flatmap(
            lambda text: st.sampled_from([text, text * 40, f"{text}\nerror: {text}" * 20])
        ),
        tool_calls=st.lists(
            st.builds(ToolCall, st.sampled_from(["c1", "c2", "c3"]), st.text(max_size=5)),
            max_size=2,
        ).map(tuple),
        tool_call_id=st.sampled_from(["", "c1", "c2"]),
        tool_name=st.sampled_from(["", "f", "g"]),
        is_error=st.booleans(),
        agent=st.sampled_from(["", "", "inner"]),
    ),
    max_size=25,
)
COUNTERS: list[Callable[[str], int]] = [len, letters, lambda text: len(text.split())]


@given(steps=STEPS, budget=st.integers(0, 3_000), counter=st.sampled_from(COUNTERS))
@settings(max_examples=200, deadline=None)
def test_no_run_is_ever_over_budget(
    steps: list[Step], budget: int, counter: Callable[[str], int]
) -> None:
    text = compress(run(*steps), budget_tokens=budget, count_tokens=counter)
    assert counter(text) <= budget


@pytest.mark.parametrize("budget", [1, 5, 20, 60])
def test_a_budget_of_a_few_tokens_is_kept_too(budget: int) -> None:
    text = text_of(long_run(), budget=budget)
    assert letters(text) <= budget
    assert text
