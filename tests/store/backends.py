"""How the tests open each kind of store."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from loopback_server import serving
from store_values import SCHEMA

from hindsight_core.settings import ServerSettings
from hindsight_core.store.base import MemoryStore, Purge
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.qdrant import QdrantStore

SERVER = os.environ.get("HINDSIGHT_TEST_QDRANT_URL", "")
BACKENDS = ("edge", "memory", "loopback", *(("server",) if SERVER else ()))


@contextmanager
def open_backend(name: str, folder: Path) -> Iterator[MemoryStore]:
    with ExitStack() as stack:
        if name == "edge":
            store: MemoryStore = EdgeStore.open(folder / "store", SCHEMA)
        elif name == "memory":
            store = QdrantStore.open(":memory:", SCHEMA)
        else:
            url = SERVER if name == "server" else stack.enter_context(serving()).url
            store = QdrantStore.open(
                url, SCHEMA, layout=ServerSettings(collection=f"test_{uuid.uuid4().hex}")
            )
        stack.callback(store.close)
        yield store
        store.execute(Purge(whole_store=True))
