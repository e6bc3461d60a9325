"""An open memory on the embedded engine, and what the runs of these tests are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import FrozenClock, HashingEmbedder
from hindsight_core.trajectory import Trajectory

Runs = Callable[..., list[Trajectory]]


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Callable[..., Hindsight]]:
    """Open memories in one folder; what is still open at the end is closed."""
    held: list[Hindsight] = []

    def open_memory(**options: Any) -> Hindsight:
        given: dict[str, Any] = {
            "namespace": ("acme",),
            "settings": Settings(drain_seconds=2.0),
            "embedder": HashingEmbedder(),
            "clock": clock,
        }
        h = Hindsight.open(tmp_path / f"memory{len(held)}", **(given | options))
        held.append(h)
        return h

    yield open_memory
    for h in held:
        h.close()


@pytest.fixture
def h(opened: Callable[..., Hindsight]) -> Hindsight:
    return opened()


@pytest.fixture
def runs(h: Hindsight) -> Runs:
    """Return the runs in the journal of a namespace, oldest first."""

    def journaled(*namespace: str, memory: Hindsight = h) -> list[Trajectory]:
        view = memory.scoped(namespace) if namespace else memory
        journal = view._scope.engine.journal
        found = journal.runs((view.namespace,), limit=1_000)
        return [run.trajectory for run in reversed(found)]

    return journaled
