"""An open memory whose runs teach exactly what a test says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from taught_runs import open_in

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import EPOCH, FrozenClock

Opener = Callable[..., Hindsight]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def real_embedder() -> DenseEmbedder:
    return open_embedder(Settings(allow_download=False))


@pytest.fixture(scope="session")
def shared_clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def clock(shared_clock: FrozenClock) -> FrozenClock:
    """The clock of every memory here, set back for each test."""
    shared_clock.set(EPOCH)
    return shared_clock


@pytest.fixture(scope="session")
def shared(
    tmp_path_factory: pytest.TempPathFactory, shared_clock: FrozenClock
) -> Iterator[Hindsight]:
    """One open memory; opening costs more than a test, so that each takes a namespace of it."""
    with open_in(tmp_path_factory.mktemp("shared"), shared_clock) as h:
        yield h


@pytest.fixture
def h(shared: Hindsight, clock: FrozenClock) -> Hindsight:
    """A namespace that nobody has used."""
    return shared.scoped(("acme", f"user-{next(_numbers)}"))


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Opener]:
    """Open memories in a folder of the test's own; what is still open at the end is closed."""
    held: list[Hindsight] = []

    def open_memory(**options: Any) -> Hindsight:
        held.append(open_in(tmp_path / "memory", clock, **options))
        return held[-1]

    yield open_memory
    for memory in held:
        memory.close()
