"""Every example runs as it stands, without network and without leaving anything behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CORE = sorted(EXAMPLES.glob("*.py"))

OFFLINE = """
import os, runpy, socket, sys
def refuse(*args, **kwargs):
    raise OSError("an example must not use the network")
socket.socket.connect = refuse
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_example(path: Path, cwd: Path, *arguments: str) -> str:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::DeprecationWarning:__main__",
            "-c",
            OFFLINE,
            str(path),
            *arguments,
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", CORE, ids=[path.name for path in CORE])
def test_an_example_runs_to_its_end_and_leaves_nothing_behind(path: Path, tmp_path: Path) -> None:
    assert run_example(path, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_quickstart_learns_a_fix_and_tells_it_before_the_next_run(tmp_path: Path) -> None:
    said = run_example(EXAMPLES / "quickstart.py", tmp_path, "memory")
    learned, _, later = said.partition("Before the next run")
    assert "book_table" in learned
    assert "19:00" in learned
    assert "book_table" in later.partition("After it")[0]
    assert "Error: time must be HH:MM" in later.partition("Why the rule")[2]
