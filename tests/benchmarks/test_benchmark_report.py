"""The report of all benchmarks: what it says, and which figures it takes."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmark_figures import Runner, rows_of
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benchmarks.cli import BENCHMARKS, main
from benchmarks.goals import GOALS, Goal, Verdict, bare_name, goals_of, verdicts
from benchmarks.metrics import Measure
from benchmarks.report import Report, Row, all_json, defaults, report_json
from benchmarks.report_runs import Run, merged, read_runs
from benchmarks.report_tables import number
from benchmarks.table import print_report
from benchmarks.tried import TRIED
from hindsight_core.settings import Settings

OUTSIDE = {"langchain-adapter", "llamaindex-adapter"}
"""Benchmarks that are commands of their own."""
NEW, OLD = "2026-02-02T10:00:00+00:00", "2026-01-01T10:00:00+00:00"


def row(system: str, **figures: float) -> dict[str, Any]:
    found: dict[str, Any] = {"system": system}
    for name, value in figures.items():
        metric = name.replace("_at_", "@")
        found |= {metric: value, f"{metric}_ci": [value - 0.01, value + 0.01], f"{metric}_n": 9}
    return found


def run_of(name: str, rows: Iterable[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    machine = {"processor": "Some CPU", "cores": 2, "load": [0.5, 1.0, 1.5]}
    base = {"notes": [f"a note on {name}"], "settings": {"limit": None}, "date": OLD,
            "defaults": defaults(), "source": "abc", "versions": {"python": "3"},
            "machine": machine}  # fmt: skip
    return {"name": name, "n": 9, "rows": list(rows), **base, **more}


LOCOMO = run_of(
    "locomo",
    [
        row("dense", R_at_10=0.45, R_at_5=0.35, tokens_at_5=150.0, tokens_at_10=300.0),
        row("bm25", R_at_10=0.51, R_at_5=0.4, tokens_at_5=200.0, tokens_at_10=400.0),
        row("hindsight", R_at_10=0.75, R_at_5=0.6, tokens_at_5=170.0, tokens_at_10=350.0)
        | row("hindsight", brief_tokens=310.0, brief_recall=0.61),
    ],
)
TASKS = run_of(
    "same-task", [row("dense", MAP=0.80), row("bm25", MAP=0.94), row("hindsight", MAP=0.945)]
)
SPEED = run_of(
    "speed",
    [
        row("embedder", query_p50_ms=5.0),
        row("hindsight", added_p50_ms=6.5, added_p95_ms=9.0, brief_tokens=190.0),
        row("hindsight, one namespace", added_p50_ms=8.0, added_p95_ms=9.5),
    ],
)
SCALE = run_of(
    "scale",
    [
        row("10,000 in 20 namespaces", outside_p50_ms=5.0, outside_p95_ms=7.0, peak_mb=100.0,
            growth=1.0, disk_bytes=3_000.0),
        row("100,000 in 20 namespaces", outside_p50_ms=14.0, outside_p95_ms=20.0, peak_mb=190.0,
            growth=2.8, disk_bytes=2_500.0),
        row("100,000 in 20,000 namespaces", outside_p50_ms=9.0, outside_p95_ms=12.0),
        row("100,000 in 1 namespace", outside_p50_ms=60.0, outside_p95_ms=80.0),
    ],
)  # fmt: skip
PEERS = run_of(
    "peers",
    [row("hindsight", added_p50_ms=6.0, added_p95_ms=8.0),
     row("QdrantVectorStore", added_p50_ms=300.0, added_p95_ms=500.0, ratio=50.0),
     row("mem0", added_p50_ms=90.0, added_p95_ms=120.0, ratio=15.0)],
)  # fmt: skip
SOAK = run_of(
    "soak",
    [row("20 kills", lost=0.0), row("all", lost=0.0, duplicated=0.0, half_done=0.0, disturbed=2.0)],
    decimals=0,
)
EVERY = (LOCOMO, TASKS, SPEED, SCALE, PEERS, SOAK)


def written(folder: Path, found: object, name: str = "figures.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(found), "utf-8")
    return path


def report_of(folder: Path, *runs: object, pictures: bool = False) -> str:
    out = folder / "out" / "REPORT.md"
    arguments = ["report", "--out", str(out)]
    for place, found in enumerate(runs):
        arguments += ["--from", str(written(folder, found, f"{place}.json"))]
    assert main(arguments if pictures else [*arguments, "--no-pictures"]) == 0
    return out.read_text("utf-8")


def line_with(text: str, *parts: str) -> str:
    (found,) = [line for line in text.splitlines() if all(part in line for part in parts)]
    return found


def test_a_goal_line_has_the_baselines_the_interval_n_and_by_how_much_it_is_missed(
    tmp_path: Path,
) -> None:
    text = report_of(tmp_path, {"name": "all", "benchmarks": [LOCOMO, TASKS]})
    met = line_with(text, "`locomo`", "`R@10`", "≥ 0.72")
    assert met.endswith("| 0.750 [0.740, 0.760] | ≥ 0.72 | met |")
    assert "| 9 | 0.450 [0.440, 0.460] | 0.510 [0.500, 0.520] |" in met
    missed = line_with(text, "| `same-task` | `MAP`")
    assert "**0.945 [0.935, 0.955]**" in missed
    assert missed.endswith("| missed by 0.005; the interval spans the goal |")
    assert "**1 of 2 goals are met.**" in text


def test_a_missed_goal_comes_with_what_was_tried(tmp_path: Path) -> None:
    text = report_of(tmp_path, TASKS, PEERS)
    below = text[text.index("## Missed goals") :]
    assert TRIED["same-task", "MAP"] in below
    assert "mem0: 15.00, missed by 5.0." in below
    assert "not written down yet" in below
    assert "## Missed goals" not in report_of(tmp_path, LOCOMO)


def test_machine_versions_dates_settings_and_notes_are_said(tmp_path: Path) -> None:
    text = report_of(tmp_path, LOCOMO)
    for said in ("Some CPU", "python 3", OLD, "0.5, 1, 1.5", "`abc`", "a note on locomo"):
        assert said in text
    settings = json.loads(re.findall(r"```json\n(.*?)```", text, re.S)[0])
    assert settings == defaults()
    assert settings["settings"]["token_budget"] == Settings().token_budget
    assert "One set of default settings, with the default profile, gives all rows" in text


def test_runs_of_other_settings_machines_or_code_are_told_apart(tmp_path: Path) -> None:
    other = defaults()
    other["settings"]["token_budget"] = 900
    odd = {**TASKS, "defaults": other, "source": "def", "machine": {"processor": "Other CPU"}}
    text = report_of(tmp_path, LOCOMO, odd)
    assert "**The runs were not made with one set of default settings**" in text
    assert '"token_budget": 900' in text
    assert '"token_budget": 800' in text
    assert text.count("**not the same in all runs**") == 2
    bare = {name: TASKS[name] for name in ("name", "n", "rows")}
    partly = report_of(tmp_path, LOCOMO, bare)
    assert "Not recorded by same-task." in partly
    assert "- Code: `abc` (not recorded by 1 of 2 runs)" in partly
    alone = report_of(tmp_path, bare)
    assert "The default settings were not recorded." in alone
    assert "- Machine: not recorded" in alone


def test_the_newest_row_wins_whatever_the_order_of_the_files(tmp_path: Path) -> None:
    newer = run_of("locomo", [row("hindsight", R_at_10=0.60)], date=NEW, notes=["newer"])
    for runs in ((LOCOMO, newer), (newer, LOCOMO)):
        text = report_of(tmp_path, *runs)
        line = line_with(text, "`locomo`", "`R@10`", "≥ 0.72")
        assert "**0.600 [0.590, 0.610]**" in line
        assert "0.450 [0.440, 0.460] (older run)" in line
        assert f"dense (run of {OLD})" in text
        assert "- newer" in text
        assert "a note on locomo" not in text


def test_a_run_under_a_limit_counts_only_where_there_is_no_whole_one(tmp_path: Path) -> None:
    rows = [row("hindsight (limit 5)", R_at_10=0.5)]
    limited = run_of("locomo", rows, date=NEW, settings={"limit": 5})
    assert "limit 5" not in report_of(tmp_path, LOCOMO, limited)
    text = report_of(tmp_path, limited)
    assert "Under a limit, so not the whole benchmark: locomo." in text
    line = line_with(text, "`locomo`", "`R@10`", "≥ 0.72")
    assert "**0.500 [0.490, 0.510] (hindsight (limit 5))**" in line


def test_speed_has_a_line_for_each_row_of_a_goal_and_a_million_is_calculated(
    tmp_path: Path,
) -> None:
    text = report_of(tmp_path, SPEED, SCALE, PEERS)
    assert line_with(text, "QdrantVectorStore", "`ratio`", "≥ 20").endswith("| met |")
    assert line_with(text, "| mem0 |", "`ratio`", "≥ 20").endswith("| missed by 5.0 |")
    assert line_with(text, "`added_p50_ms` | 9").endswith("| missed by 2.5 ms |")
    assert "| retrieve outside the embedding, p50, ms | 5.000 | 14.00 | 104.0 |" in text
    assert "| on disk, MB | 30.00 | 250.0 | 2,500 |" in text
    small = {**SCALE, "rows": SCALE["rows"][:1]}
    assert "by calculation" not in report_of(tmp_path, small)


def test_counts_are_whole_numbers_without_intervals(tmp_path: Path) -> None:
    text = report_of(tmp_path, SOAK)
    assert line_with(text, "`disturbed`", "≤ 0 calls", "| all |").endswith(
        "| **2** | ≤ 0 calls | missed by 2.0 calls |"
    )
    assert "| 20 kills | 0 | – | – | – |" in text


def test_tokens_stand_beside_recall(tmp_path: Path) -> None:
    figures = row("hindsight", token_ratio=0.9, brief_tokens=210.0, run_tokens=1_250.0)
    text = report_of(tmp_path, LOCOMO, SPEED, run_of("replay", [figures]))
    assert (
        "| `locomo` | hindsight | – | 170 for 0.600 | 350 for 0.750 | – | 310 for 0.610 |" in text
    )
    assert "`speed`, hindsight: a brief has 190 tokens." in text
    assert "a brief has 210 tokens, the trace of the run before 1,250." in text
    assert "a brief ÷ the trace of the run before: 0.900." in text
    assert "## Tokens" not in report_of(tmp_path, TASKS)


def test_what_no_goal_or_section_knows_is_shown_all_the_same(tmp_path: Path) -> None:
    text = report_of(tmp_path, run_of("else", [row("a|b", seconds=1.5)]))
    assert "### else (n = 9)" in text
    assert "| a\\|b | 1.500 [1.490, 1.510] |" in text
    assert "`soak` lost" in line_with(text, "Not measured in these runs:")


@pytest.mark.parametrize(
    "content", ["", "[1]", '"text"', '{"name": "locomo"}', '{"name":"x","n":1,"rows":[{}]}']
)
def test_a_file_without_figures_is_named_and_exits_with_2(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(content, "utf-8")
    out = tmp_path / "REPORT.md"
    assert main(["report", "--from", str(path), "--out", str(out)]) == 2
    assert f"{path} gives no figures" in capsys.readouterr().err
    assert not out.exists()
    assert main(["report", "--from", str(tmp_path / "none.json")]) == 2


def test_what_a_benchmark_writes_can_be_reported(run: Runner, locomo: Path, tmp_path: Path) -> None:
    figures = run("locomo")
    text = report_of(tmp_path, figures)
    assert figures["date"] in text
    assert "gives all rows" in text
    assert "`brief_recall`" in text


def test_locomo_counts_the_tokens_of_results_and_of_a_brief(run: Runner, locomo: Path) -> None:
    rows = rows_of(run("locomo"))
    for found in rows.values():
        # Six of the turns say the same but for the place; a turn has about a dozen tokens.
        assert 5 < found["tokens@1"] < found["tokens@5"] < found["tokens@10"] <= found["tokens@20"]
        assert found["tokens@5"] == pytest.approx(5 * found["tokens@1"], rel=0.5)
    ours = rows["hindsight"]
    assert 0 < ours["brief_tokens"] <= Settings().token_budget
    assert 0 < ours["brief_recall"] <= 1
    assert "brief_tokens" not in rows["dense"]


def test_each_printed_table_says_which_goals_were_met() -> None:
    figures = {"R@10": Measure(0.7, 0.6, 0.71, 10)}
    report = Report("locomo", 10, (Row("hindsight", figures),))
    console = Console(width=160)
    with console.capture() as capture:
        print_report(report, console)
    assert "goal: R@10 ≥ 0.72, hindsight: missed by 0.020" in capture.get()


def test_pictures_are_drawn_beside_the_report_and_twice_the_same(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = report_of(tmp_path, *EVERY, pictures=True)
    folder = tmp_path / "out" / "charts"
    names = sorted(re.findall(r"!\[[^]]+\]\(charts/(\w+)\.svg\)", text))
    assert names == ["latency", "quality", "tokens"]
    first = {name: (folder / f"{name}.svg").read_bytes() for name in names}
    assert all(b"</svg>" in content for content in first.values())
    report_of(tmp_path, *EVERY, pictures=True)
    assert first == {name: (folder / f"{name}.svg").read_bytes() for name in names}


def test_a_picture_without_figures_is_not_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = report_of(tmp_path, TASKS, pictures=True)
    assert [path.name for path in (tmp_path / "out" / "charts").iterdir()] == ["quality.svg"]
    assert "charts/tokens.svg" not in text


def test_without_matplotlib_the_install_line_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    arguments = ["report", "--from", str(written(tmp_path, TASKS)), "--out"]
    assert main([*arguments, str(tmp_path / "out" / "REPORT.md")]) == 2
    assert 'pip install "hindsight-memory[bench]"' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*arguments, str(tmp_path / "REPORT.md"), "--no-pictures"]) == 0


def test_goals_are_of_benchmarks_that_there_are_and_texts_of_goals() -> None:
    assert {goal.name for goal in GOALS} <= set(BENCHMARKS) | OUTSIDE
    keys = [(goal.name, goal.metric) for goal in GOALS]
    assert len(keys) == len(set(keys))
    assert set(TRIED) <= set(keys)
    assert all(goal.systems and goal.sentence for goal in GOALS)


def test_a_goal_of_above_is_not_met_by_its_own_number() -> None:
    goal = Goal("x", "gap", "above", 0.0, "more")
    assert (goal.is_met(0.0), goal.is_met(0.001)) == (False, True)
    assert goal.wanted == "> 0"
    assert str(Verdict(goal, "hindsight", None)) == "not measured"
    assert not Verdict(goal, "hindsight", None).met


def test_no_row_or_no_figure_means_not_measured() -> None:
    for rows in ([], [{"system": "hindsight", "R@10": None}], [row("dense", R_at_10=0.9)]):
        (one,) = verdicts("locomo", rows)
        assert str(one) == "not measured"
    assert goals_of("nothing") == ()


@given(st.sampled_from(GOALS), st.floats(-1e6, 1e6))
def test_a_figure_is_met_or_missed_by_more_than_nothing(goal: Goal, value: float) -> None:
    said = str(Verdict(goal, "hindsight", value))
    if goal.is_met(value):
        assert said == "met"
    else:
        amount = float(re.match(r"missed by ([\d.e-]+)", said)[1])  # type: ignore[index]
        assert amount > 0 or value == goal.threshold
        assert amount == pytest.approx(abs(value - goal.threshold), rel=0.06, abs=6e-4)


@given(st.floats(-1e9, 1e9))
def test_a_number_keeps_what_counts(value: float) -> None:
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.006, abs=6e-4)


@given(
    st.permutations([OLD, NEW, "2026-01-15T00:00:00+00:00"]),
    st.lists(
        st.sets(st.sampled_from(["dense", "bm25", "hindsight"]), min_size=1),
        min_size=3,
        max_size=3,
    ),
)
def test_merging_keeps_of_each_row_the_newest(dates: list[str], systems: list[set[str]]) -> None:
    runs = [
        Run("locomo", 1, tuple({"system": name, "of": date} for name in some), date=date)
        for date, some in zip(dates, systems, strict=True)
    ]
    (kept,) = merged(runs)
    newest: dict[str, str] = {}
    for date, some in sorted(zip(dates, systems, strict=True), key=lambda pair: pair[0]):
        newest |= dict.fromkeys(some, date)
    assert {one["system"]: one["of"] for one in kept.rows} == newest
    assert kept.older == {name: date for name, date in newest.items() if date != NEW}
    assert kept.date == NEW


def test_limits_are_no_part_of_a_name() -> None:
    assert bare_name("hindsight (limit 20)") == "hindsight"
    assert bare_name("beta, last outcomes (balanced)") == "beta, last outcomes (balanced)"


def test_all_json_of_reports_is_read_run_by_run(tmp_path: Path) -> None:
    reports = [Report(name, 3, (Row("hindsight", {}),), decimals=0) for name in ("soak", "beam")]
    runs = read_runs([written(tmp_path, all_json(reports))])
    assert [(one.name, one.n, one.counts) for one in runs] == [("soak", 3, True), ("beam", 3, True)]
    (one,) = read_runs([written(tmp_path, report_json(reports[0]))])
    assert len(one.source) == 12
    assert one.defaults == defaults()
