"""`hindsight reflect --from`: what became of the runs of a file, and what was wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_core import Reflection
from hindsight_core.cli import main
from hindsight_core.cli.reflecting import Tally
from hindsight_core.runs.readers import ReadProblem

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def reflect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["--path", str(tmp_path / "memory"), "reflect", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def call(number: int, encoding: str) -> dict[str, Any]:
    arguments = json.dumps({"path": "sales.csv", "encoding": encoding})
    function = {"name": "read_csv", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def answer(number: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "name": "read_csv", "content": text}


def tau_run(task: int, trial: int, reward: float) -> dict[str, Any]:
    """A run in the shape that tau-bench publishes."""
    messages = [
        {"role": "user", "content": f"Please load table {task} and add it up"},
        call(1, "utf-8"),
        answer(1, "Error: UnicodeDecodeError: invalid start byte"),
        call(2, "gb18030"),
        answer(2, "412 rows"),
        {"role": "assistant", "content": f"The total of table {task} is 18,250."},
    ]
    return {"task_id": task, "trial": trial, "reward": reward, "info": {}, "traj": messages}


def quiet_run() -> dict[str, Any]:
    return {"run_id": "quiet", "messages": [{"role": "user", "content": "hello"}]}


def write_lines(path: Path, *values: Any) -> str:
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def test_the_summary_counts_runs_memories_and_what_was_skipped(
    reflect: Command, tmp_path: Path
) -> None:
    first = write_lines(tmp_path / "a.jsonl", tau_run(1, 0, 1.0), "{broken", tau_run(2, 0, 0.0))
    second = write_lines(tmp_path / "b.jsonl", quiet_run())
    code, out, err = reflect("--from", first, second, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["runs_read"] == 3
    assert told["learned"] + told["nothing_to_learn"] == 3
    assert told["learned"] >= 2
    assert (told["failed"], told["already_known"], told["skipped"]) == (0, 0, 1)
    assert told["memories"]["semantic rule"] == 1
    assert told["memories"]["episodic experience"] >= 2
    assert (told["tokens_in"], told["tokens_out"]) == (0, 0)
    assert told["problems"][0]["line"] == 2
    assert f"skipped: {first}:2" in err.replace("\n", "")


def test_a_file_read_twice_teaches_nothing_twice(reflect: Command, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", tau_run(1, 0, 1.0), tau_run(2, 0, 1.0))
    reflect("--from", file)
    code, out, _ = reflect("--from", file, "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["runs_read"], told["already_known"], told["learned"]) == (2, 2, 0)
    assert told["memories"] == {}


def test_people_get_a_table_with_every_number(reflect: Command, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", tau_run(1, 0, 1.0))
    _, out, _ = reflect("--from", file)
    names = [line.split("  ")[0] for line in out.splitlines()]
    assert names == [
        "runs read",
        "already known",
        "learned",
        "nothing to learn",
        "failed",
        "tokens in",
        "tokens out",
        "seconds",
        "skipped",
        "memories",
    ]


def test_a_missing_file_does_not_keep_the_others_from_being_read(
    reflect: Command, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "a.jsonl", tau_run(1, 0, 1.0))
    code, out, err = reflect("--from", str(tmp_path / "none.jsonl"), file, "--json")
    assert code == 1
    assert json.loads(out)["runs_read"] == 1
    assert "none.jsonl" in err


def test_a_reflection_that_failed_is_named_and_kept_for_a_retry(
    reflect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lines(tmp_path / "a.jsonl", {**tau_run(1, 0, 1.0)})
    with monkeypatch.context() as patch:
        patch.setattr(
            "hindsight_core.reflection.rules.RuleReflector.reflect", _out_of_order, raising=True
        )
        code, out, err = reflect("--from", file, "--json")
    assert code == 1
    assert json.loads(out)["failed"] == 1
    assert "out of order" in err
    code, out, _ = reflect("--retry", "--json")
    assert code == 0
    assert json.loads(out)["learned"] == 1


def _out_of_order(*_: Any) -> Any:
    from hindsight_core.errors import ModelReplyError

    raise ModelReplyError("the reflector is out of order", raw_reply="?")


def test_only_the_first_problems_are_printed_one_by_one(reflect: Command, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", tau_run(1, 0, 1.0), *["{broken"] * 30)
    _, out, err = reflect("--from", file)
    assert len([line for line in err.splitlines() if line.startswith("skipped")]) == 20
    assert "and 10 more problems" in err
    assert "skipped" in out


def test_a_tally_adds_up_tokens_and_tells_failure_from_success() -> None:
    tally = Tally()
    tally.add(Reflection("r1", "nothing_to_learn", reason="nothing", tokens_in=10, tokens_out=2))
    assert tally.went_well
    tally.add(Reflection("r2", "failed", reason="no reply", tokens_in=5))
    summary = tally.summary(1.26)
    assert (summary["tokens_in"], summary["tokens_out"], summary["seconds"]) == (15, 2, 1.3)
    assert tally.failures == {"r2": "no reply"}
    assert not tally.went_well


def test_a_broken_line_is_no_failure_and_a_file_that_can_t_be_read_is() -> None:
    assert Tally(problems=[ReadProblem("a", 3, "broken")]).went_well
    assert Tally(problems=[ReadProblem("a", 0, "odd", is_lost=False)]).went_well
    assert not Tally(problems=[ReadProblem("a", 0, "missing")]).went_well
