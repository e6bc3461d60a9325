"""One open memory for all tests of the adapters, each test in a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lc_scripted import journaled

from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import HashingEmbedder
from hindsight_core.trajectory import Trajectory

Runs = Callable[..., list[Trajectory]]
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hindsight]:
    folder = tmp_path_factory.mktemp("memory")
    with Hindsight.open(
        folder,
        namespace="everybody",
        settings=Settings(drain_seconds=2.0),
        embedder=HashingEmbedder(),
    ) as opened:
        yield opened


@pytest.fixture
def h(memory: Hindsight) -> Hindsight:
    return memory.scoped(("acme", f"test-{next(_numbers)}"))


@pytest.fixture
def opened(tmp_path: Any) -> Iterator[Callable[..., Hindsight]]:
    """Open memories of a test's own; what is still open at the end is closed."""
    held: list[Hindsight] = []

    def open_memory(**options: Any) -> Hindsight:
        given: dict[str, Any] = {
            "namespace": "acme",
            "settings": Settings(drain_seconds=2.0),
            "embedder": HashingEmbedder(),
        }
        held.append(Hindsight.open(tmp_path / f"memory{len(held)}", **(given | options)))
        return held[-1]

    yield open_memory
    for one in held:
        one.close()


@pytest.fixture
def runs(h: Hindsight) -> Runs:
    """Return a function that gives the runs of the test's namespace, or of one below it."""
    return lambda *below: journaled(h.scoped((*h.namespace.parts, *below)) if below else h)
