"""The demo's agent: real files, real errors, and a policy that knows nothing but its brief."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_core.demo import (
    Action,
    call_tool,
    demo_tasks,
    encoding_from_brief,
    run_agent,
    write_sales_files,
)
from hindsight_core.models import Brief

TEACHES, SIMILAR, UNRELATED = demo_tasks()
ADVICE = "- When read_csv reports UnicodeDecodeError, use encoding=gb18030 instead of utf-8 (0.7)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sales_files(tmp_path)
    return tmp_path


def count_words(text: str) -> int:
    return len(text.split())


def test_the_files_are_not_utf8_and_the_tool_raises_what_python_raises(folder: Path) -> None:
    with pytest.raises(UnicodeDecodeError):
        call_tool(folder, "read_csv", {"path": TEACHES.file, "encoding": "utf-8"})
    read = call_tool(folder, "read_csv", {"path": TEACHES.file, "encoding": "gb18030"})
    assert read.startswith("3 rows; columns: ")


def test_without_a_brief_the_agent_fails_twice_and_then_finds_the_encoding(folder: Path) -> None:
    seen: list[tuple[Action, bool]] = []
    run = run_agent(
        TEACHES,
        Brief(),
        folder=folder,
        run_id="run-1",
        count_tokens=count_words,
        watch=lambda action, result, failed: seen.append((action, failed)),
    )
    assert run.cost.failed_calls == 2
    assert [failed for _, failed in seen] == [True, True, False, False, False]
    assert run.trajectory.outcome.label == "success"
    assert run.trajectory.outcome.source == "validator"
    assert [step.is_error for step in run.trajectory.steps if step.kind == "tool_result"] == [
        True,
        True,
        False,
        False,
    ]


def test_with_advice_in_the_brief_the_agent_is_right_at_once(folder: Path) -> None:
    brief = Brief(text=ADVICE, tokens=20)
    run = run_agent(SIMILAR, brief, folder=folder, run_id="run-2", count_tokens=count_words)
    assert run.cost.failed_calls == 0
    assert run.cost.tool_calls == 2
    assert run.trajectory.outcome.label == "success"


def test_wrong_advice_costs_a_call_and_is_survived(folder: Path) -> None:
    brief = Brief(text=ADVICE.replace("gb18030", "utf-16"), tokens=20)
    run = run_agent(SIMILAR, brief, folder=folder, run_id="run-2", count_tokens=count_words)
    assert run.trajectory.steps[1].tool_calls[0].arguments["encoding"] == "utf-16"
    assert run.trajectory.outcome.label == "success"


def test_the_tokens_of_the_brief_are_counted_in_every_step(folder: Path) -> None:
    def cost(text: str) -> int:
        run = run_agent(
            UNRELATED, Brief(text=text), folder=folder, run_id="run-3", count_tokens=count_words
        )
        return run.cost.tokens

    assert cost("five words of a brief ") == cost("") + 5


def test_the_brief_is_not_recorded(folder: Path) -> None:
    run = run_agent(
        SIMILAR, Brief(text=ADVICE), folder=folder, run_id="run-2", count_tokens=count_words
    )
    assert all("When read_csv reports" not in step.text for step in run.trajectory.steps)


def test_an_unrelated_task_needs_no_tool_and_its_outcome_stays_unknown(folder: Path) -> None:
    run = run_agent(
        UNRELATED, Brief(text=ADVICE), folder=folder, run_id="run-3", count_tokens=count_words
    )
    assert run.cost.tool_calls == 0
    assert run.trajectory.outcome.label == "unknown"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ADVICE, "gb18030"),
        ("read_csv worked with encoding='gb18030'", "gb18030"),
        ('read_csv: {"encoding": "shift_jis"}', "shift_jis"),
        ("read_csv fails with UTF-8", ""),
        ("write_csv: use encoding=gb18030", ""),
        ("read_csv: use encoding=klingon", ""),
        ("", ""),
    ],
)
def test_the_policy_reads_an_encoding_only_where_the_brief_recommends_one(
    text: str, encoding: str
) -> None:
    assert encoding_from_brief(text) == encoding
