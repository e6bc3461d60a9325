"""Files of runs: every broken piece is told, and none takes a neighbor with it."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError, TrajectoryError
from hindsight_core.runs.readers import FORMATS, ReadProblem, read_run, read_runs
from hindsight_core.trajectory import Outcome, Trajectory

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: str | bytes, name: str = "runs.data") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def read(path: Path, **options: Any) -> tuple[list[Trajectory], list[ReadProblem]]:
    problems: list[ReadProblem] = []
    return list(read_runs(path, on_problem=problems.append, **options)), problems


def talk(text: str = "hi") -> list[dict]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": f"re {text}"}]


def run(run_id: str = "r1", text: str = "hi", **more: Any) -> dict:
    return {"run_id": run_id, "messages": talk(text), **more}


# Shapes of files


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(run()),
        json.dumps(run(), indent=2),
        json.dumps([run()]),
        json.dumps([run()], indent=2),
        json.dumps([run()]) + "\n\n",
        "\n\n  " + json.dumps(run()) + "\n",
        "\ufeff" + json.dumps(run()),
        json.dumps(run()).replace("\n", "\r\n"),
        json.dumps(run(), indent=2).replace("\n", "\r\n"),
    ],
)
def test_one_run_is_read_however_it_is_laid_out(write: Write, content: str) -> None:
    (found,), problems = read(write(content))
    assert problems == []
    assert (found.run_id, found.task) == ("r1", "hi")
    assert [s.text for s in found.steps] == ["hi", "re hi"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_messages_is_one_run(write: Write, indent: int | None) -> None:
    (found,), _ = read(write(json.dumps(talk(), indent=indent)))
    assert len(found.steps) == 2


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(json.dumps(run(f"r{i}")) for i in range(3)),
        "\r\n\r\n".join(json.dumps(run(f"r{i}")) for i in range(3)) + "\r\n",
        json.dumps([run(f"r{i}") for i in range(3)]),
        json.dumps([run(f"r{i}") for i in range(3)], indent=2),
        "\n".join(json.dumps(run(f"r{i}"), indent=2) for i in range(3)),
        "[\n" + ",\n".join(json.dumps(run(f"r{i}")) for i in range(3)) + "\n]",
        json.dumps([run("r0"), run("r1")]) + "\n" + json.dumps(run("r2")),
    ],
)
def test_several_runs_are_read_in_order(write: Write, content: str) -> None:
    found, problems = read(write(content))
    assert [r.run_id for r in found] == ["r0", "r1", "r2"]
    assert problems == []


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.txt", "a", "日志.log"])
def test_the_name_of_the_file_says_nothing(write: Write, name: str) -> None:
    assert len(read(write(json.dumps(run()), name))[0]) == 1


def test_lines_are_read_as_the_file_goes(write: Write) -> None:
    path = write(json.dumps(run("first")) + "\n" + json.dumps(run("second")) + "\n")
    runs = read_runs(path)
    assert next(runs).run_id == "first"


# Problems


def test_a_broken_line_does_not_lose_the_rest(write: Write) -> None:
    lines = [json.dumps(run("a")), '{"run_id": "b", "mess', "", "5", json.dumps(run("c"))]
    path = write("\n".join(lines))
    found, problems = read(path)
    assert [r.run_id for r in found] == ["a", "c"]
    assert [(p.file, p.line, p.is_lost) for p in problems] == [
        (str(path), 2, True),
        (str(path), 4, True),
    ]
    assert problems[0].reason.startswith("not JSON (")
    assert "5 is no run" in problems[1].reason
    assert str(problems[0]).startswith(f"{path}:2: ")


def test_a_broken_first_line_does_not_lose_the_rest(write: Write) -> None:
    lines = ['{"run_id": "a", "mess', json.dumps(run("b")), json.dumps(run("c"))]
    found, problems = read(write("\n".join(lines)))
    assert [r.run_id for r in found] == ["b", "c"]
    assert [p.line for p in problems] == [1]


def test_a_list_that_was_cut_off_gives_what_is_complete(write: Write) -> None:
    text = json.dumps([run("a"), run("b"), run("c")], indent=1)
    found, problems = read(write(text[:-80]))
    assert [r.run_id for r in found] == ["a", "b"]
    (problem,) = problems
    assert problem.line > 1
    assert problem.is_lost


def test_a_list_that_lacks_only_its_end_says_so(write: Write) -> None:
    found, problems = read(write(json.dumps([run("a"), run("b")], indent=1)[:-2]))
    assert len(found) == 2
    assert "cut off" in problems[0].reason


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"run_id": "x", "messages": []}, "no steps"),
        ({"run_id": "x", "messages": [{"role": "wizard"}]}, "message 0 has the role 'wizard'"),
        ({"foo": 1, "bar": 2}, "keys"),
        (run("x", outcome="great"), "outcome 'great' is not known"),
        (run("x", outcome="success", outcome_source="oracle"), "source 'oracle' is not known"),
        (run("x", outcome=["success"]), "not known"),
        ({"trace": []}, "no steps"),
        ({"trace": [5]}, "trace step 0 is 5"),
        ({"traj": [], "reward": 1.0}, "no steps"),
        ({"trajectory": [], "info": {}}, "no steps"),
        ({"trajectory": [5]}, "turn 0 is 5"),
        ({"steps": [], "question": "q"}, "no steps"),
        ({"steps": ["x"], "question": "q"}, "step 0 is 'x'"),
        ({"traj": "nothing of note", "name": "n"}, "no thought, action or answer"),
        ([], None),
        (None, "None is no run"),
        ("a text", "no thought"),
    ],
)
def test_a_value_that_is_no_run_is_told_and_the_next_one_read(
    write: Write, value: Any, said: str | None
) -> None:
    path = write(json.dumps(run("a")) + "\n" + json.dumps(value) + "\n" + json.dumps(run("b")))
    found, problems = read(path)
    assert [r.run_id for r in found] == ["a", "b"]
    assert [p.line for p in problems] == ([2] if said else [])
    assert all(said in p.reason and len(p.reason) < 250 for p in problems if said)


def test_problems_are_logged_when_nobody_asks(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(json.dumps(run("a")) + "\n{broken\n")
    with caplog.at_level(logging.WARNING):
        assert len(list(read_runs(path))) == 1
    assert f"{path}:2: not JSON" in caplog.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        (" \n\t\n", "is empty"),
        ("[]", "holds no run"),
        ("{broken", "not JSON"),
        ("just some prose about errors\n", "neither JSON nor a log"),
        ('"text"', "neither JSON nor a log"),
        ("[1, 2]", "1 is no run"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":\n' * 100_000, "nested too deep"),
        (b"\x80\x81\xfe\xff", "neither UTF-8 nor GB18030"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text"),
    ],
)
def test_a_file_without_a_run_is_refused(write: Write, content: str | bytes, said: str) -> None:
    path = write(content)
    with pytest.raises(TrajectoryError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_directory_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="does not exist"):
        read_runs(tmp_path / "none.json")
    with pytest.raises(TrajectoryError, match="is a directory"):
        read_runs(tmp_path)


def test_a_file_in_place_of_a_directory_is_refused(write: Write) -> None:
    with pytest.raises(TrajectoryError, match="can't be read"):
        read_runs(write("{}") / "runs.json")


def test_an_unknown_format_is_refused_by_name(write: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"'xml'.*tau-bench"):
        read_runs(write("{}"), format="xml")
    assert FORMATS[0] == "auto"


def test_a_format_that_is_asked_for_is_not_guessed(write: Write) -> None:
    value = {"messages": talk(), "trace": [{"action": "a", "output": "x"}]}
    path = write(json.dumps(value))
    assert read(path)[0][0].steps[0].text == "hi"
    assert read(path, format="trace")[0][0].tools_used == ("a",)
    with pytest.raises(TrajectoryError, match="'traj'"):
        read(path, format="tau-bench")


# Encodings


@pytest.mark.parametrize(
    ("encoding", "noted"), [("utf-8", 0), ("utf-8-sig", 0), ("gb18030", 1), ("utf-16", 1)]
)
@pytest.mark.parametrize("indent", [None, 2])
def test_encodings_in_use_are_read(
    write: Write, encoding: str, noted: int, indent: int | None
) -> None:
    text = json.dumps(run(text="把菜谱换算成公制"), ensure_ascii=False, indent=indent)
    (found,), problems = read(write(text.encode(encoding)))
    assert found.task == "把菜谱换算成公制"
    assert len(problems) == noted
    assert all(encoding in p.reason and not p.is_lost for p in problems)


def test_a_damaged_line_of_utf8_is_read_and_told(write: Write) -> None:
    good = json.dumps(run("a", "价格"), ensure_ascii=False).encode()
    bad = json.dumps(run("b", "x-y"), ensure_ascii=False).encode().replace(b"x-y", b"x\xe4y")
    (first, second), problems = read(write(good + b"\n" + bad))
    assert (first.task, second.task) == ("价格", "x\ufffdy")
    assert [(p.line, p.is_lost) for p in problems] == [(2, False)]


# Ids


def test_runs_without_ids_get_the_same_ones_every_time(write: Write) -> None:
    content = "\n".join(json.dumps({"messages": talk(text)}) for text in "abc")
    first, _ = read(write(content, "one"))
    second, _ = read(write(content, "two"))
    assert [r.run_id for r in first] == [r.run_id for r in second]
    assert len({r.run_id for r in first}) == 3
    assert all(r.run_id.startswith("run_") and len(r.run_id) == 36 for r in first)


def test_the_id_of_a_run_depends_on_all_that_happened() -> None:
    base = {"messages": talk()}
    variants = [
        base,
        {**base, "outcome": "success"},
        {**base, "task": "t"},
        {**base, "session_id": "s"},
        {"messages": talk("ho")},
        {"messages": [*talk(), *talk()]},
    ]
    assert len({read_run(value).run_id for value in variants}) == len(variants)
    assert read_run({**base, "metadata": {"a": 1}}).run_id == read_run(base).run_id


def test_ids_that_come_again_are_told_apart_and_told(write: Write) -> None:
    ids = ["a", "a", "a#2", "a", "b", "a"]
    content = "\n".join(json.dumps(run(run_id)) for run_id in ids)
    found, problems = read(write(content))
    assert [r.run_id for r in found] == ["a", "a#2", "a#2#2", "a#3", "b", "a#4"]
    assert [p.line for p in problems] == [2, 3, 4, 6]
    assert not any(p.is_lost for p in problems)


@given(st.lists(st.sampled_from(["a", "a#2", "a#2#2", "b", None]), min_size=1, max_size=12))
def test_ids_in_a_file_are_unique_and_stable(ids: list[str | None]) -> None:
    lines = [json.dumps({"run_id": i, "messages": talk()}) for i in ids]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text("\n".join(lines), encoding="utf-8")
        first, second = read(path)[0], read(path)[0]
    assert len({r.run_id for r in first}) == len(ids)
    assert first == second


# Runs as messages and traces


def test_everything_that_is_told_of_a_run_is_kept(write: Write) -> None:
    value = run(
        outcome="failure",
        outcome_source="user",
        outcome_reason="wrong units",
        task="convert",
        task_type="writing",
        session_id="s1",
        started_at="2026-01-05T10:00:00+01:00",
        ended_at="2026-01-05T09:30:00Z",
        metadata={"a": [1, None], "nan": float("nan")},
    )
    (found,), problems = read(write(json.dumps(value)))
    assert problems == []
    assert found == Trajectory(
        run_id="r1",
        steps=found.steps,
        outcome=Outcome("failure", "user", "wrong units"),
        task="convert",
        task_type="writing",
        session_id="s1",
        started_at=datetime(2026, 1, 5, 9, tzinfo=UTC),
        ended_at=datetime(2026, 1, 5, 9, 30, tzinfo=UTC),
        metadata={"a": [1, None], "nan": "nan"},
    )


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({}, Outcome()),
        ({"outcome": None}, Outcome()),
        ({"outcome": "success"}, Outcome("success")),
        ({"outcome": True}, Outcome("success")),
        ({"outcome": False, "outcome_source": "validator"}, Outcome("failure", "validator")),
        (
            {"outcome": {"label": "partial", "source": "llm_judge", "reason": "half"}},
            Outcome("partial", "llm_judge", "half"),
        ),
    ],
)
def test_an_outcome_is_read_in_every_form(told: dict, outcome: Outcome) -> None:
    assert read_run(run(**told)).outcome == outcome


@pytest.mark.parametrize(
    ("value", "said"), [("2026-01-05T10:00:00", "no time zone"), ("soon", "not an ISO time")]
)
def test_a_doubtful_time_is_left_out_and_told(write: Write, value: str, said: str) -> None:
    (found,), (problem,) = read(write(json.dumps(run(ended_at=value))))
    assert found.ended_at is None
    assert said in problem.reason
    assert not problem.is_lost


def test_a_single_value_is_read_with_its_notes() -> None:
    notes: list[str] = []
    found = read_run(run(started_at="soon"), on_note=notes.append)
    assert found.run_id == "r1"
    assert len(notes) == 1
    with pytest.raises(ConfigurationError):
        read_run(run(), format="xml")


def test_a_trace_becomes_calls_and_results() -> None:
    found = read_run(
        {
            "session_id": "s1",
            "task": "book a flight",
            "outcome": "failure",
            "trace": [
                {"step": 1, "action": "search", "input": {"to": "SEA"}, "output": "3 flights"},
                {"step": 2, "action": "book", "input": "HAT1", "output": "Error: full"},
                {"step": 3, "action": "book", "input": '{"f": 1}', "error": "timeout"},
                {"step": 4, "action": None, "thought": "hm", "input": None, "output": {"ok": True}},
                {"step": 5, "action": "wait"},
            ],
        }
    )
    assert (found.session_id, found.task) == ("s1", "book a flight")
    calls = [(c.name, dict(c.arguments)) for s in found.steps for c in s.tool_calls]
    assert calls == [
        ("search", {"to": "SEA"}),
        ("book", {"input": "HAT1"}),
        ("book", {"f": 1}),
        ("unknown_tool", {}),
        ("wait", {}),
    ]
    results = [(s.text, s.is_error) for s in found.steps if s.kind == "tool_result"]
    assert results == [
        ("3 flights", False),
        ("Error: full", True),
        ("timeout", True),
        ('{"ok": true}', False),
    ]
    assert found.steps[7].text == "hm"
    assert found.steps[-1].text == "no result recorded for wait"
    ids = [c.id for s in found.steps for c in s.tool_calls]
    assert [s.tool_call_id for s in found.steps if s.tool_call_id] == ids


def test_hardly_any_input_breaks_the_reader() -> None:
    for value in (None, 5, 1.5, True, "x", b"x", [None], [[]], {"messages": None}, {"trace": 5}):
        with pytest.raises(TrajectoryError):
            read_run(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("role", "content", "messages", "tool_calls", "function", "name", "arguments"),
                    *(
                        "trace",
                        "action",
                        "input",
                        "output",
                        "traj",
                        "trajectory",
                        "history",
                        "info",
                    ),
                    *("steps", "kind", "text", "outcome", "run_id", "reward", "result", "metadata"),
                    *("started_at", "type", "error", "exit_status", "observation", "id"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_any_json_is_a_run_or_a_clear_error(value: Any) -> None:
    try:
        found = read_run(value, on_note=lambda _: None)
    except TrajectoryError as exc:
        said = str(exc)
    else:
        said = ""
        assert found.steps
        json.dumps([dict(c.arguments) for s in found.steps for c in s.tool_calls])
        assert all("\0" not in s.text for s in found.steps)
    assert len(said) < 400
