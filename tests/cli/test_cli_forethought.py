"""`hindsight forethought`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hindsight_core.cli import main
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import csv_run


@pytest.fixture
def taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HINDSIGHT_MEMORY_ALLOW_DOWNLOAD", "false")
    folder = tmp_path / "memory"
    embedder = open_embedder(Settings(allow_download=False))
    with Hindsight.open(folder, namespace="default", embedder=embedder) as h:
        h.reflect(csv_run())
    return folder


def test_it_tells_the_rule_that_matches_and_credits_the_run(
    taught: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--path", str(taught))
    task = "Load orders.csv and tell me the total"
    assert main(["forethought", task, "--run", "run_next", *at]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "When read_csv fails" in said
    assert "(0.70)" in said
    assert main(["feedback", "--run", "run_next", "--outcome", "success", "--json", *at]) == 0
    assert "gb18030" in capsys.readouterr().out


def test_as_json_it_gives_text_items_and_tokens(
    taught: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "Load orders.csv and tell me the total"
    assert main(["forethought", task, "--json", "--path", str(taught)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["items"][0]["kind"] == "rule"
    assert 0 < found["tokens"] <= 200
    assert found["text"].startswith("<hindsight-recall>")


def test_it_says_that_there_is_nothing_to_mind(
    taught: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forethought", "Write a poem about cats", "--path", str(taught)]) == 0
    done = capsys.readouterr()
    assert done.out == ""
    assert "nothing to mind" in done.err
