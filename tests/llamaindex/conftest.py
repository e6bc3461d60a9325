"""An open memory, a namespace of it for each test, and instrumentation that is taken off again."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.hindsight import Hindsight
from hindsight_core.runs.journal import JournaledRun
from hindsight_core.settings import Settings
from hindsight_core.testing import FrozenClock
from hindsight_llamaindex import Instrumentation, instrument

Opener = Callable[..., Hindsight]
FOLDER = Path(__file__).parent
ALLOWED = (
    # Making an agent looks at every attribute of a pydantic model, the deprecated ones included.
    "ignore:The `__:pydantic.warnings.PydanticDeprecatedSince20",
    "ignore:Accessing the 'model_:pydantic.warnings.PydanticDeprecatedSince211",
    # Agents ask this of their own context.
    "ignore:is_running called from within a step:DeprecationWarning",
)
numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            for rule in ALLOWED:
                item.add_marker(pytest.mark.filterwarnings(rule))


@pytest.fixture(scope="session")
def real_embedder() -> DenseEmbedder:
    return open_embedder(Settings(allow_download=False))


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock, real_embedder: DenseEmbedder) -> Iterator[Opener]:
    """Open memories of one's own; what is still open at the end is closed."""
    held: list[Hindsight] = []

    def open_memory(folder: str = "memory", **options: Any) -> Hindsight:
        given: dict[str, Any] = {
            "namespace": "acme",
            "settings": Settings(drain_seconds=2.0),
            "embedder": real_embedder,
            "clock": clock,
        }
        h = Hindsight.open(tmp_path / folder, **(given | options))
        held.append(h)
        return h

    yield open_memory
    for h in held:
        h.close()


@pytest.fixture(scope="session")
def everybody(
    tmp_path_factory: pytest.TempPathFactory, real_embedder: DenseEmbedder
) -> Iterator[Hindsight]:
    """One memory that most tests share."""
    folder = tmp_path_factory.mktemp("shared")
    with Hindsight.open(folder, namespace="acme", embedder=real_embedder) as h:
        yield h


@pytest.fixture
def h(everybody: Hindsight) -> Hindsight:
    """A namespace of it that nobody else writes to."""
    return everybody.scoped(("acme", f"test{next(numbers)}"))


@pytest.fixture
def knowing(h: Hindsight) -> Hindsight:
    """The same, with something to say about recipes."""
    h.store("The user always wants metric units in recipes", category="preference")
    return h


@pytest.fixture
def instrumented(h: Hindsight) -> Iterator[Instrumentation]:
    with instrument(h) as attached:
        yield attached


@pytest.fixture
def runs(h: Hindsight) -> Callable[[], list[JournaledRun]]:
    """Return the runs in the test's namespace and below it, oldest first."""
    own = h.namespace.parts

    def journaled() -> list[JournaledRun]:
        found = h._scope.engine.journal.runs(limit=5_000)
        return [run for run in reversed(found) if run.namespace.parts[: len(own)] == own]

    return journaled


@pytest.fixture
def failures(h: Hindsight) -> Callable[[], dict[str, int]]:
    """Return what went wrong quietly since the test began."""
    before = Counter(h.stats().failures)
    return lambda: dict(Counter(h.stats().failures) - before)
