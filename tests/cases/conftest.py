"""Other processes, which are ended whatever happens to the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import HEAD, Child, Start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a script with `path`, `name`, `opened` and `say` defined."""
    children: list[Child] = []

    def start_one(script: str, name: str = "p") -> Child:
        child = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + script,
             str(folder), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        children.append(child)
        return child

    yield start_one
    for child in children:
        child.kill()
        child.communicate(timeout=30)
