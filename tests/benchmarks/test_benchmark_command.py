"""The command line, the files it writes and what it says when something is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmark_figures import Runner, rows_of
from rich.console import Console

from benchmarks import cli, embeddings, progress
from benchmarks.cli import BENCHMARKS, main
from benchmarks.embeddings import KeptEmbedder, default_cache
from benchmarks.metrics import Measure
from benchmarks.report import Report, Row, report_json
from benchmarks.sets import speed
from benchmarks.table import print_report
from hindsight_core.testing import HashingEmbedder


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("locomo", "locomo"),
        ("beam", "beam-100k"),
        ("currency", "beam-pairs"),
        ("same-task", "webarena-tasks"),
        ("success-first", "tau-bench"),
        ("experience", "knowagent"),
        ("chinese", "xquad"),
        ("replay", "reflexion"),
    ],
)
def test_missing_data_is_named_and_exits_with_2(
    name: str, folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [name, "--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert main(arguments, embedder=HashingEmbedder()) == 2
    said = capsys.readouterr().err
    assert str(tmp_path / folder) in said
    assert "--data" in said


def test_all_runs_what_it_finds_and_still_says_what_is_missing(
    tmp_path: Path,
    data: Path,
    webarena: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    some = {name: cli.BENCHMARKS[name] for name in ("locomo", "same-task")}
    monkeypatch.setattr(cli, "BENCHMARKS", some)
    out = tmp_path / "figures" / "all.json"
    arguments = ["all", "--data", str(data), "--json", str(out), "--cache", str(tmp_path / "c")]
    assert main([*arguments, "--limit", "2"], embedder=HashingEmbedder()) == 2
    found = json.loads(out.read_text("utf-8"))
    assert [one["name"] for one in found["benchmarks"]] == ["same-task"]
    said = capsys.readouterr()
    assert "locomo" in said.err
    assert "hindsight (limit 2)" in said.out


def test_speed_tells_the_embedder_and_memory_apart(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MEMORIES": 120, "QUERIES": 6, "WARM_UP": 2, "BATCHES": 2, "BATCH": 4,
                        "OPENINGS": 1, "NAMESPACES": 3}.items():  # fmt: skip
        monkeypatch.setattr(speed, name, value)
    figures = run("speed")
    rows = rows_of(figures)
    hindsight = rows["hindsight"]
    assert hindsight["query_p50_ms"] > rows["embedder"]["query_p50_ms"]
    assert hindsight["query_p95_ms"] >= hindsight["query_p50_ms"]
    assert hindsight["added_p50_ms_n"] == 6
    assert hindsight["store_ratio"] > 0
    assert hindsight["open_s"] > 0
    assert hindsight["import_s"] > 0
    assert hindsight["brief_tokens"] > 50
    parts = [rows[f"· {name}"]["query_p50_ms"] for name in ("embedding", "words", "store")]
    assert all(part > 0 for part in parts)
    assert "hindsight, one namespace" in rows
    assert rows["hindsight, first queries"]["added_p50_ms_n"] == 2
    assert 300 < figures["settings"]["payload_bytes"] < 700


def test_names_that_are_not_known_and_limits_below_one_are_refused(tmp_path: Path) -> None:
    for arguments in (["nothing"], ["locomo", "--limit", "0"], ["locomo", "--limit", "x"]):
        with pytest.raises(SystemExit) as raised:
            main([*arguments, "--data", str(tmp_path)])
        assert raised.value.code == 2


def test_every_benchmark_of_the_command_can_be_called() -> None:
    assert {"locomo", "success-first", "chinese", "currency", "speed"} <= set(BENCHMARKS)


def test_embeddings_are_kept_between_runs_by_model_use_and_text(tmp_path: Path) -> None:
    first = HashingEmbedder("one")
    with KeptEmbedder(first, tmp_path) as kept:
        vectors = kept.embed_documents(["a b", "c", "a b"])
        assert vectors[0] == vectors[2] == kept.documents(["a b"], "texts")[0]
        assert kept.queries(["a b"], "queries") == [kept.embed_query("a b")]
        assert kept.embed_documents([]) == []
    assert first.calls == [("a b", "c"), ("a b",)]
    again = HashingEmbedder("one")
    with KeptEmbedder(again, tmp_path) as kept:
        assert kept.embed_documents(["a b", "c", "a b"]) == vectors
        assert again.calls == []
        assert kept.embed_documents(["d", "c"])[1] == vectors[1]
    assert again.calls == [("d",)]
    other = HashingEmbedder("two")
    with KeptEmbedder(other, tmp_path) as kept:
        assert kept.embed_documents(["c"]) != [vectors[1]]
    assert other.calls == [("c",)]


def test_many_texts_are_embedded_in_batches_shortest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings, "BATCH", 2)
    inner = HashingEmbedder()
    with KeptEmbedder(inner, tmp_path) as kept:
        assert len(kept.documents(["long text", "b", "mid", "b"], "texts")) == 4
        assert kept.exceeds_window("b") is False
    assert inner.calls == [("b", "mid"), ("long text",)]


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache() == Path("/somewhere/hindsight-memory/benchmarks")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache().is_relative_to(Path.home())


def printed(report: Report) -> str:
    console = Console(width=160, record=True, file=None, quiet=False)
    with console.capture() as capture:
        print_report(report, console)
    return capture.get()


def rows(metrics: Sequence[str]) -> tuple[Row, ...]:
    figures = {name: Measure(0.5, 0.25, 0.75, 10) for name in metrics}
    odd = {**figures, metrics[-1]: Measure(0.125, 0.0, 0.5, 4)}
    return (Row("dense", figures), Row("hindsight", odd))


def test_a_table_has_a_row_per_system_with_n_and_intervals() -> None:
    text = printed(Report("some", 10, rows(["R@1", "R@5"]), ("left out: nothing",)))
    assert "some (n = 10)" in text
    assert "[0.250, 0.750]" in text
    assert "n = 4" in text
    assert "left out: nothing" in text
    assert "numpy" in text


def test_many_metrics_become_the_rows() -> None:
    names = [f"metric-{i}" for i in range(8)]
    text = printed(Report("some", 10, (*rows(names), Row("bm25", {})), decimals=1))
    assert text.index("hindsight") < text.index("metric-0") < text.index("metric-7")
    assert "–" in text


def test_a_figure_that_does_not_exist_is_null_in_json_and_a_dash_in_the_table() -> None:
    nothing = Measure(float("nan"), float("nan"), float("nan"), 0)
    report = Report("some", 0, (Row("dense", {"R@1": nothing}),))
    (row,) = report_json(report)["rows"]
    assert row == {"system": "dense", "R@1": None, "R@1_ci": [None, None], "R@1_n": 0}
    assert "–" in printed(report)


def test_a_bar_counts_what_has_no_length() -> None:
    assert list(progress.track((i for i in range(3)), "counting", 3)) == [0, 1, 2]
    assert list(progress.track([1, 2], "counting")) == [1, 2]
