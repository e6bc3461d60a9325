"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command, Done

from hindsight_core import Hindsight
from hindsight_core.cli import main
from hindsight_core.settings import KNOWN_VARIABLES
from hindsight_core.testing import csv_run


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KNOWN_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def hindsight(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*words: str) -> Done:
        try:
            code = main(["--path", str(folder), *words])
        except SystemExit as stop:
            code = int(str(stop.code))
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def taught(folder: Path) -> Path:
    """A memory that has seen one run, in the namespace of the command line."""
    with Hindsight.open(folder, namespace="default") as memory:
        assert memory.reflect(csv_run()).status == "learned"
    return folder
