"""Open memories on the embedded engine with the real model, and a clock that stands still."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import EPOCH, FrozenClock

Opener = Callable[..., Hindsight]


@pytest.fixture(scope="session")
def real_embedder() -> DenseEmbedder:
    return open_embedder(Settings(allow_download=False))


@pytest.fixture(scope="session")
def lasting_clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def clock(lasting_clock: FrozenClock) -> FrozenClock:
    """The clock of every memory here, set back for each test."""
    lasting_clock.set(EPOCH)
    return lasting_clock


@pytest.fixture(scope="session")
def lasting(
    tmp_path_factory: pytest.TempPathFactory,
    lasting_clock: FrozenClock,
    real_embedder: DenseEmbedder,
) -> Iterator[Hindsight]:
    with Hindsight.open(
        tmp_path_factory.mktemp("lasting"),
        namespace="nobody",
        settings=Settings(drain_seconds=2.0, allow_download=False),
        embedder=real_embedder,
        clock=lasting_clock,
    ) as h:
        yield h


@pytest.fixture
def h(lasting: Hindsight, clock: FrozenClock, request: pytest.FixtureRequest) -> Hindsight:
    """A namespace of its own for each test, on one engine with the default settings."""
    name = re.sub(r"\W+", "-", request.node.name)[:80]
    return lasting.scoped((name, "alice"))


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock, real_embedder: DenseEmbedder) -> Iterator[Opener]:
    """Open memories of their own, with the settings that a test gives."""
    held: list[Hindsight] = []

    def open_memory(**options: Any) -> Hindsight:
        named = ("namespace", "model", "profile", "embedder", "read_namespaces")
        given = {"namespace": ("acme", "alice"), "embedder": real_embedder}
        given |= {name: options.pop(name) for name in named if name in options}
        settings = Settings(drain_seconds=2.0, allow_download=False, **options)
        h = Hindsight.open(tmp_path / f"m{len(held)}", settings=settings, clock=clock, **given)
        held.append(h)
        return h

    yield open_memory
    for h in held:
        h.close()
