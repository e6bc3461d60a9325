"""The stores that every conformance test runs on, called sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from backends import BACKENDS, open_backend

from hindsight_core.store.base import MemoryStore, Purge, StoreOp


@pytest.fixture(scope="session", params=BACKENDS)
def backend(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryStore]:
    """One store for all tests, since making one waits for the disk many times."""
    with open_backend(request.param, tmp_path_factory.mktemp(request.param)) as store:
        yield store


@pytest.fixture
def store(backend: MemoryStore) -> MemoryStore:
    """An empty store."""
    backend.execute(Purge(whole_store=True))
    return backend


@pytest.fixture(params=("sync", "async"))
def call(
    request: pytest.FixtureRequest, store: MemoryStore
) -> Iterator[Callable[[StoreOp[Any]], Any]]:
    """Execute an operation on the store, in one of the two ways."""
    if request.param == "sync":
        yield store.execute
    else:
        with asyncio.Runner() as runner:
            yield lambda op: runner.run(store.aexecute(op))
