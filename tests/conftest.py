"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import FrozenClock, HashingEmbedder

Opener = Callable[..., Hindsight]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture(scope="session")
def real_embedder() -> DenseEmbedder:
    return open_embedder(Settings(allow_download=False))


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock, real_embedder: DenseEmbedder) -> Iterator[Opener]:
    """Open memories in one folder; what is still open at the end is closed."""
    held: list[Hindsight] = []

    def open_memory(**options: Any) -> Hindsight:
        given: dict[str, Any] = {
            "namespace": ("acme", "alice"),
            "settings": Settings(drain_seconds=2.0),
            "embedder": real_embedder,
            "clock": clock,
        }
        h = Hindsight.open(tmp_path / "memory", **(given | options))
        held.append(h)
        return h

    yield open_memory
    for h in held:
        h.close()


@pytest.fixture
def h(opened: Opener) -> Hindsight:
    """An open memory on the embedded engine, with a clock that stands still."""
    return opened()
