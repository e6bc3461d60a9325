"""The stores that every conformance test runs on, called sync and async."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from store_values import SCHEMA

from hindsight_core.store.base import MemoryStore, Purge, StoreOp
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.qdrant import QdrantStore

SERVER = os.environ.get("HINDSIGHT_TEST_QDRANT_URL", "")
BACKENDS = ("edge", "memory", *(("server",) if SERVER else ()))


def open_backend(name: str, folder: Path) -> MemoryStore:
    if name == "edge":
        return EdgeStore.open(folder / "store", SCHEMA)
    if name == "memory":
        return QdrantStore.open(":memory:", SCHEMA)
    return QdrantStore.open(SERVER, SCHEMA, collection=f"test_{uuid.uuid4().hex}")


@pytest.fixture(scope="session", params=BACKENDS)
def backend(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryStore]:
    """One store for all tests, since making one waits for the disk many times."""
    store = open_backend(request.param, tmp_path_factory.mktemp(request.param))
    yield store
    store.execute(Purge(whole_store=True))
    store.close()


@pytest.fixture
def store(backend: MemoryStore) -> MemoryStore:
    """An empty store."""
    backend.execute(Purge(whole_store=True))
    return backend


@pytest.fixture(params=("sync", "async"))
def call(request: pytest.FixtureRequest, store: MemoryStore) -> Callable[[StoreOp[Any]], Any]:
    """Execute an operation on the store, in one of the two ways."""
    if request.param == "sync":
        return store.execute
    return lambda op: asyncio.run(store.aexecute(op))
