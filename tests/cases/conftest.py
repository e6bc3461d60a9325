"""Other processes, which are ended whatever happens to the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from children import Child, Start, start_child


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start a script with `path`, `name`, `opened` and `say` defined."""
    children: list[Child] = []

    def start_one(script: str, name: str = "p") -> Child:
        child = start_child(script, folder, name)
        children.append(child)
        return child

    yield start_one
    for child in children:
        child.kill()
        child.communicate(timeout=30)
