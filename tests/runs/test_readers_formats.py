"""The published formats of agent benchmarks, and logs written as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import TrajectoryError
from hindsight_core.runs.readers import ReadProblem, read_run, read_runs
from hindsight_core.trajectory import Outcome, Trajectory


def read(path: Path) -> tuple[list[Trajectory], list[ReadProblem]]:
    problems: list[ReadProblem] = []
    return list(read_runs(path, on_problem=problems.append)), problems


# tau-bench


def tau(reward: Any = 1.0, **more: Any) -> dict:
    return {
        "task_id": 7,
        "reward": reward,
        "info": {
            "task": {
                "instruction": "You are mia. You secretly want a window seat.",
                "actions": [{"name": "book", "kwargs": {"seat": "GOLDEN"}}],
            },
            "reward_info": {"actions": [{"name": "book", "kwargs": {"seat": "GOLDEN"}}]},
        },
        "traj": [
            {"role": "system", "content": "# Policy"},
            {"role": "user", "content": "Book me a flight"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_a",
                        "type": "function",
                        "function": {"name": "book", "arguments": '{"seat": "12B"}'},
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "call_a",
                "name": "book",
                "content": "Error: not enough seats on flight HAT139",
            },
            {"role": "assistant", "content": "It is full."},
            {"role": "user", "content": "###STOP###"},
        ],
        "trial": 2,
        **more,
    }


def test_tau_bench_results_are_runs_without_what_only_the_benchmark_knows(tmp_path: Path) -> None:
    path = tmp_path / "airline.json"
    path.write_text(json.dumps([tau(), tau(0.0, trial=3)]), encoding="utf-8")
    found, problems = read(path)
    assert problems == []
    assert [r.run_id for r in found] == ["tau-airline-task7-trial2", "tau-airline-task7-trial3"]
    first = found[0]
    assert first.task == "Book me a flight"
    assert [s.kind for s in first.steps] == [
        *("system", "user", "assistant", "tool_result", "assistant")
    ]
    assert first.steps[3].is_error
    assert first.steps[2].tool_calls[0].arguments == {"seat": "12B"}
    for secret in ("secretly", "GOLDEN", "STOP"):
        assert secret not in repr(found)


@pytest.mark.parametrize(
    ("reward", "label", "source"),
    [
        (1.0, "success", "validator"),
        (1, "success", "validator"),
        (0.9999999, "success", "validator"),
        (0.0, "failure", "validator"),
        (0.5, "partial", "validator"),
        (None, "unknown", "rule"),
        (True, "unknown", "rule"),
        (float("nan"), "unknown", "rule"),
        ("1.0", "unknown", "rule"),
    ],
)
def test_a_reward_is_an_outcome(reward: Any, label: str, source: str) -> None:
    outcome = read_run(tau(reward)).outcome
    assert (outcome.label, outcome.source) == (label, source)


def test_a_tau_bench_run_that_crashed_says_so() -> None:
    found = read_run(tau(0.0, traj=[], info={"error": "RateLimitError", "traceback": "…"}))
    assert found.outcome == Outcome("failure", "exception", "RateLimitError")
    assert [(s.kind, s.text) for s in found.steps] == [("error", "RateLimitError")]


# SWE-agent


def swe(status: Any = "submitted", **more: Any) -> dict:
    return {
        "environment": "swe_main",
        "trajectory": [
            {
                "action": "open a.py\n",
                "observation": "[File: a.py (3 lines total)]",
                "thought": "Look first.\n",
                "response": "Look first.\n```\nopen a.py\n```",
                "state": "{}",
            },
            {
                "action": "edit 1:1\nreturn (\nend_of_edit\n",
                "observation": "Your proposed edit has introduced new syntax error(s). Retry.",
                "thought": "Fix.",
            },
            {
                "action": "python a.py",
                "observation": "Traceback (most recent call last):\n"
                '  File "a.py", line 1\nValueError: x',
                "thought": "",
            },
            {"action": "ls -F", "observation": "a.py", "thought": "List."},
            {"action": "", "observation": "Your output was not formatted", "response": "hm"},
            {"action": "submit", "observation": "", "thought": "Done."},
        ],
        "history": [
            {"role": "system", "content": "SETTING: You are a programmer.", "agent": "main"},
            {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True},
            {
                "role": "user",
                "content": "We solve this issue.\nISSUE:\nRounding is off\n\n"
                "INSTRUCTIONS:\nOne command at a time.",
                "agent": "main",
            },
            {"role": "assistant", "content": "Look first.", "agent": "main"},
            {"role": "user", "content": "[File: a.py]", "agent": "main"},
        ],
        "info": {"exit_status": status, "submission": "diff --git"},
        **more,
    }


def test_a_swe_agent_trajectory_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "repo-1867.traj"
    path.write_text(json.dumps(swe(), indent=2), encoding="utf-8")
    (found,), problems = read(path)
    assert problems == []
    assert found.run_id == "swe-repo-1867"
    assert found.task == "Rounding is off"
    assert found.task_type == "coding"
    assert found.tools_used == ("open", "edit", "bash", "submit")
    calls = [dict(c.arguments) for s in found.steps for c in s.tool_calls]
    assert calls == [
        {"input": "a.py"},
        {"input": "1:1\nreturn (\nend_of_edit"},
        {"command": "python a.py"},
        {"command": "ls -F"},
        {},
    ]
    assert [s.is_error for s in found.steps if s.kind == "tool_result"] == [
        *(False, True, True, False, False)
    ]
    assert [s.text for s in found.steps if s.kind == "note"] == ["Your output was not formatted"]
    assert "demonstration" not in repr(found)
    assert all(s.agent == "" for s in found.steps)


@pytest.mark.parametrize(
    ("status", "label", "source"),
    [
        ("submitted", "unknown", "rule"),
        ("submitted (exit_cost)", "incomplete", "rule"),
        ("exit_cost", "incomplete", "rule"),
        ("exit_context", "incomplete", "rule"),
        ("exit_api_error", "incomplete", "exception"),
        ("exit_forfeit", "abandoned", "rule"),
        ("skipped", "abandoned", "rule"),
        (None, "incomplete", "rule"),
        ("", "incomplete", "rule"),
    ],
)
def test_an_exit_status_never_claims_success(status: Any, label: str, source: str) -> None:
    outcome = read_run(swe(status)).outcome
    assert (outcome.label, outcome.source) == (label, source)


def test_a_swe_agent_trajectory_without_history_is_read() -> None:
    found = read_run(swe(history=None, info=None), stem="x")
    assert (found.run_id, found.task) == ("swe-x", "")
    assert found.outcome.label == "incomplete"


def test_the_task_of_a_prompt_without_an_issue_is_what_stands_before_the_instructions() -> None:
    history = [{"role": "user", "content": "Find the flag.\n\nINSTRUCTIONS:\nGo."}]
    assert read_run(swe(history=history)).task == "Find the flag."


# Reflexion


def reflexion(outcome: Any = "correct", **more: Any) -> dict:
    return {
        "trial": 3,
        "question": "Which film came first?",
        "outcome": outcome,
        "gold_answer": "GOLDEN",
        "reflections": ["I was stuck REFLECTED"],
        "steps": [
            {"kind": "thought", "n": 1, "text": "Search the first."},
            {"kind": "action", "n": 1, "text": "Search[Film A (1990)]"},
            {"kind": "observation", "n": 1, "text": "Could not find [Film A]. Similar: ['A']"},
            {"kind": "thought", "n": 2, "text": "Answer."},
            {"kind": "action", "n": 2, "text": "Finish[A]"},
            {"kind": "observation", "n": 2, "text": "Answer is CORRECT"},
        ],
        **more,
    }


@pytest.mark.parametrize(
    ("told", "label", "source"),
    [
        ("correct", "success", "validator"),
        ("incorrect", "failure", "validator"),
        ("halted", "incomplete", "validator"),
        ("partial", "partial", "rule"),
        (None, "unknown", "rule"),
    ],
)
def test_a_reflexion_row_is_a_run(told: Any, label: str, source: str) -> None:
    found = read_run(reflexion(told), stem="hotpot")
    assert (found.outcome.label, found.outcome.source) == (label, source)
    assert found.run_id.startswith("hotpot-trial3-")
    assert found.task == "Which film came first?"
    assert [s.kind for s in found.steps] == [
        *("user", "assistant", "tool_result", "assistant", "tool_result")
    ]
    assert found.steps[1].text == "Search the first."
    assert found.steps[1].tool_calls[0].name == "Search"
    assert found.steps[1].tool_calls[0].arguments == {"input": "Film A (1990)"}
    assert [s.is_error for s in found.steps if s.kind == "tool_result"] == [True, False]
    assert "GOLDEN" not in repr(found)
    assert "REFLECTED" not in repr(found)


def test_trials_of_one_question_have_their_own_ids() -> None:
    ids = {read_run(reflexion(trial=t, question=q)).run_id for t in (1, 2) for q in "ab"}
    assert len(ids) == 4


def test_a_row_that_ends_in_thought_keeps_it() -> None:
    steps = [{"kind": "thought", "text": "hm"}, {"kind": "action", "text": "Search[x]"}]
    found = read_run(reflexion(steps=[*steps, {"kind": "thought", "text": "what now"}]))
    assert [(s.kind, s.text) for s in found.steps[1:]] == [
        ("assistant", "hm"),
        ("note", "no result recorded for Search"),
        ("assistant", "what now"),
    ]


# Logs as text

REACT = """Question: Where is Oslo?
Thought 1: I search.
Action 1: Search[Oslo]
Observation 1: Oslo is the capital.
It lies in Norway.
> quoted line
Thought: Known now.
Final Answer: Norway
"""

INPUT = """Thought: I need the weather
Action: get weather
Action Input: {"city": "Oslo"}
Observation: Error: no such city
Action: get weather
Action Input: Bergen
Observation: rain
"""

GAME = """You are in the middle of a room. Looking quickly around you, you see a drawer 1.
Your task is to: put some keychain on drawer.
> Think: To solve the task, find a keychain.
> ActionPath: Start
> go to shelf 3
Nothing happens.
> take keychain 1 from shelf 1
You pick up the keychain 1.
It is small.
> look
"""


def test_a_react_log_is_a_run(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(REACT, encoding="utf-8")
    (found,), problems = read(path)
    assert problems == []
    assert found.task == "Where is Oslo?"
    assert [(s.kind, s.text) for s in found.steps] == [
        ("user", "Where is Oslo?"),
        ("assistant", "I search."),
        ("tool_result", "Oslo is the capital.\nIt lies in Norway.\n> quoted line"),
        ("assistant", "Known now.\nNorway"),
    ]
    assert found.steps[1].tool_calls[0].arguments == {"input": "Oslo"}
    assert found.outcome == Outcome()
    assert found.run_id == read(path)[0][0].run_id


def test_actions_with_input_lines_are_calls_with_arguments() -> None:
    found = read_run(INPUT)
    calls = [(c.name, dict(c.arguments)) for s in found.steps for c in s.tool_calls]
    assert calls == [("get weather", {"city": "Oslo"}), ("get weather", {"input": "Bergen"})]
    assert [(s.tool_name, s.is_error) for s in found.steps if s.kind == "tool_result"] == [
        ("get weather", True),
        ("get weather", False),
    ]


def test_a_chinese_log_is_a_run() -> None:
    found = read_run("问题：奥斯陆在哪里？\n思考：先搜索\n行动：Search[奥斯陆]\n观察：挪威首都\n")
    assert found.task == "奥斯陆在哪里？"
    assert [s.text for s in found.steps] == ["奥斯陆在哪里？", "先搜索", "挪威首都"]


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (True, Outcome("success", "validator", "result True")),
        (False, Outcome("failure", "validator", "result False")),
        (0, Outcome("failure", "validator", "result 0")),
        (None, Outcome()),
    ],
)
def test_a_game_is_a_run(result: Any, outcome: Outcome) -> None:
    found = read_run({"name": "pick/trial_1", "result": result, "traj": GAME})
    assert found.run_id == "pick/trial_1"
    assert found.outcome == outcome
    assert found.task == "put some keychain on drawer."
    assert [s.kind for s in found.steps] == [
        *("user", "assistant", "tool_result", "assistant", "tool_result", "assistant", "note")
    ]
    assert found.steps[1].text == "To solve the task, find a keychain.\nStart"
    calls = [(c.name, dict(c.arguments)) for s in found.steps for c in s.tool_calls]
    assert calls == [
        ("go", {"input": "to shelf 3"}),
        ("take", {"input": "keychain 1 from shelf 1"}),
        ("look", {}),
    ]
    assert [(s.text, s.is_error) for s in found.steps if s.kind == "tool_result"] == [
        ("Nothing happens.", True),
        ("You pick up the keychain 1.\nIt is small.", False),
    ]


def test_a_log_of_several_tasks_is_cut_where_they_start(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"\n{REACT}\n{REACT.replace('Oslo', 'Bergen')}", encoding="utf-8")
    found, problems = read(path)
    assert [r.task for r in found] == ["Where is Oslo?", "Where is Bergen?"]
    assert problems == []
    path.write_text(GAME + GAME.replace("keychain", "mug"), encoding="utf-8")
    assert [r.task for r in read(path)[0]] == [
        "put some keychain on drawer.",
        "put some mug on drawer.",
    ]


def test_a_log_that_begins_like_json_is_still_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("[INFO] start\n" + REACT, encoding="utf-8")
    assert [r.task for r in read(path)[0] if r.task] == ["Where is Oslo?"]


def test_a_format_that_is_asked_for_reads_a_log_without_actions(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("Thought: only this\n", encoding="utf-8")
    (found,) = read_runs(path, format="react")
    assert [s.text for s in found.steps] == ["only this"]
    with pytest.raises(TrajectoryError, match="neither JSON nor a log"):
        read(path)


def test_rows_of_a_game_are_read_by_line_and_broken_ones_told(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    rows = [json.dumps({"name": f"g{i}", "result": True, "traj": GAME}) for i in range(3)]
    path.write_text("\n".join([rows[0], rows[1][:50], rows[2]]), encoding="utf-8")
    found, problems = read(path)
    assert [r.run_id for r in found] == ["g0", "g2"]
    assert [p.line for p in problems] == [2]


def test_an_observation_that_answers_no_action_is_a_note() -> None:
    found = read_run("Observation: hello\nThought: hm\nAction: look\nObservation: a\n")
    assert [s.kind for s in found.steps] == ["note", "assistant", "tool_result"]


@pytest.mark.parametrize("value", [{"traj": 5}, {"name": "x"}, 5])
def test_a_row_without_a_log_is_refused(value: Any) -> None:
    with pytest.raises(TrajectoryError, match="no text under 'traj'"):
        read_run(value, format="react")
