"""The store on a Qdrant server, cluster or cloud, or in this process's memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from hindsight_core.errors import (
    ClosedError,
    ConfigurationError,
    HindsightError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_core.settings import ServerSettings
from hindsight_core.store.base import MemoryStore, Schema, StoreOp, StoreStats
from hindsight_core.store.unreadable import Unreadable

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient

    from hindsight_core.store.qdrant.plans import Call, Calls

__all__ = ["QdrantStore"]

R = TypeVar("R")
IN_MEMORY = ":memory:"
DEFAULT_LAYOUT = ServerSettings()
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})


class QdrantStore(MemoryStore):
    """Memories in one collection of a Qdrant server, shared by all hosts.

    `":memory:"` keeps them in this process instead, for tests and for platforms that the
    embedded store does not run on.

    ```python
    store = QdrantStore.open(":memory:", Schema("hashing", 64))
    store.execute(Count(MemoryFilter(namespaces=(Namespace.of("alice"),))))
    store.close()
    ```
    """

    def __init__(
        self,
        client: QdrantClient,
        schema: Schema,
        *,
        layout: ServerSettings,
        location: str,
        remote: dict[str, Any] | None,
    ) -> None:
        self._client = client
        self._schema = schema
        self._collection = layout.collection
        self._layout = layout
        self._location = location
        self._remote = remote
        self._local_lock = threading.RLock()
        self._clients: dict[asyncio.AbstractEventLoop, _LoopClient] = {}
        self._clients_lock = threading.Lock()
        self._closed = False
        self._unreadable = Unreadable()

    @classmethod
    def open(
        cls,
        url: str,
        schema: Schema,
        *,
        api_key: str | None = None,
        layout: ServerSettings = DEFAULT_LAYOUT,
    ) -> QdrantStore:
        """Open the collection at `url`, making it and its indexes where they are missing.

        Args:
            url: `http(s)://host:port`, or `":memory:"`.
            schema: What the vectors are made with.
            api_key: The server's key.
            layout: The collection: its name, how long to wait for it, how it is made.

        Raises:
            StoreUnavailableError: If the server can't be reached.
            SchemaMismatchError: If the collection was made with another schema.
            StoreCorruptError: If the collection was not made by Hindsight.
            StoreError: If the server refuses.
        """
        from hindsight_core.store.qdrant.plans import preparing

        store = cls._connected(url, schema, api_key, layout)
        try:
            name = f"the collection {layout.collection!r} at {store._location}"
            plan = preparing(schema, name, layout, with_indexes=store._remote is not None)
            store._drive(plan, "opening")
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def recorded_schema(
        cls,
        url: str,
        *,
        api_key: str | None = None,
        layout: ServerSettings = DEFAULT_LAYOUT,
    ) -> Schema | None:
        """Return what the collection at `url` was made with, or `None` if there is none yet.

        Raises:
            StoreError: As `open` does.
        """
        from hindsight_core.store.qdrant.plans import Call, read_schema

        def plan() -> Calls:
            if not (yield Call("collection_exists", {})):
                return None
            found = yield Call("get_collection", {})
            where = f"the collection {layout.collection!r} at {store._location}"
            return read_schema(found, where)

        store = cls._connected(url, Schema("", 1), api_key, layout)
        try:
            schema: Schema | None = store._drive(plan(), "opening")
            return schema
        finally:
            store.close()

    @classmethod
    def _connected(
        cls, url: str, schema: Schema, api_key: str | None, layout: ServerSettings
    ) -> QdrantStore:
        from qdrant_client import QdrantClient

        if url == IN_MEMORY:
            client = QdrantClient(location=IN_MEMORY)
            return cls(client, schema, layout=layout, location=IN_MEMORY, remote=None)
        location = _public(url)
        remote: dict[str, Any] = {
            "url": url,
            "api_key": api_key or None,
            "timeout": max(1, round(layout.timeout)),
            "check_compatibility": False,
        }
        try:
            client = QdrantClient(**remote)
        except Exception as error:
            raise ConfigurationError(
                f"{location!r} is not the address of a Qdrant server; "
                "use for example 'http://localhost:6333'"
            ) from error
        return cls(client, schema, layout=layout, location=location, remote=remote)

    def execute(self, op: StoreOp[R]) -> R:
        """Execute `op` in the calling thread."""
        result: R = self._drive(self._plan(op), type(op).__name__)
        return result

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op` with the client of the running event loop."""
        if self._remote is None:
            return await asyncio.to_thread(self.execute, op)
        result: R = await self._adrive(self._plan(op), type(op).__name__)
        return result

    def stats(self) -> StoreStats:
        """Describe the store."""
        from hindsight_core.store.qdrant.plans import Call

        def plan() -> Calls:
            answer = yield Call("count", {"exact": True})
            return answer.count

        return StoreStats(
            backend="qdrant",
            location=self._location,
            points=self._drive(plan(), "describing"),
            schema=self._schema,
            details={"collection": self._collection, "unreadable": len(self._unreadable)},
        )

    def close(self) -> None:
        """Close the connections; those of a running event loop close when it next turns."""
        with self._clients_lock:
            if self._closed:
                return
            self._closed = True
            clients = list(self._clients.items())
            self._clients.clear()
        for loop, client in clients:
            client.close_from(loop)
        with self._local_lock:
            self._client.close()

    def _plan(self, op: StoreOp[Any]) -> Calls:
        from hindsight_core.store.qdrant.plans import plan_of

        quantized = self._remote is not None and self._layout.quantization != "off"
        return plan_of(op, self._schema, self._unreadable, quantized=quantized)

    def _drive(self, plan: Calls, what: str) -> Any:
        if self._remote is not None:
            return self._steps(plan, what)
        with self._local_lock:  # local mode loses points when two threads write
            return self._steps(plan, what)

    def _steps(self, plan: Calls, what: str) -> Any:
        answer: Any = None
        while True:
            try:
                call = plan.send(answer)
            except StopIteration as stop:
                return stop.value
            self._check_open()
            with self._translated(what, call):
                method = getattr(self._client, call.method)
                answer = method(self._collection, **call.arguments)

    async def _adrive(self, plan: Calls, what: str) -> Any:
        answer: Any = None
        while True:
            try:
                call = plan.send(answer)
            except StopIteration as stop:
                return stop.value
            client = await self._loop_client()
            with self._translated(what, call):
                method = getattr(client, call.method)
                answer = await method(self._collection, **call.arguments)

    async def _loop_client(self) -> AsyncQdrantClient:
        loop = asyncio.get_running_loop()
        with self._clients_lock:
            self._check_open()
            held = self._clients.get(loop)
            if held is None:
                for gone in [other for other in self._clients if other.is_closed()]:
                    del self._clients[gone]
                held = self._clients[loop] = _LoopClient(self._remote or {})
        return await held.client()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the store at {self._location} was closed; open it again")

    @contextmanager
    def _translated(self, what: str, call: Call) -> Iterator[None]:
        """Turn what the client raises into a `StoreError` without any secret."""
        try:
            yield
        except HindsightError:
            raise
        except Exception as error:
            if call.may_exist and _exists_already(error):
                return
            raise self._as_store_error(what, error) from error

    def _as_store_error(self, what: str, error: Exception) -> StoreError:
        said = f"{type(error).__name__}: {error}"
        source = getattr(error, "source", None)
        if source is not None:
            said = f"{type(source).__name__}: {source}"
        for secret in self._secrets():
            said = said.replace(secret, "…")
        status = getattr(error, "status_code", None)
        where = f"{what} failed at {self._location}, collection {self._collection!r} ({said})"
        if status in (401, 403):
            return StoreError(f"{where}; check the API key and its rights")
        if status in _LATER or _is_transport(source) or hasattr(error, "retry_after_s"):
            return StoreUnavailableError(
                f"{where}; check that the Qdrant server runs and can be reached, and try again"
            )
        return StoreError(f"{where}; nothing more was changed")

    def _secrets(self) -> list[str]:
        remote = self._remote or {}
        parts = urlsplit(remote.get("url") or "")
        return [s for s in (remote.get("api_key"), parts.password) if s]


class _LoopClient:
    """The async client of one event loop, closed together with it.

    `asyncio.run` closes the asynchronous generators of its loop before it closes the loop, so
    a generator that holds the client closes its connections in time, without anybody asking.
    """

    def __init__(self, remote: dict[str, Any]) -> None:
        self._lifetime = _lifetime(remote)
        self._client: AsyncQdrantClient | None = None

    async def client(self) -> AsyncQdrantClient:
        """Return the client; only ever called from its own loop."""
        if self._client is None:
            self._client = await anext(self._lifetime)
        return self._client

    def close_from(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the loop close the client, unless the loop itself is closed."""
        if not loop.is_closed() and loop.is_running():
            asyncio.run_coroutine_threadsafe(self._lifetime.aclose(), loop)


async def _lifetime(remote: dict[str, Any]) -> AsyncGenerator[AsyncQdrantClient, None]:
    from qdrant_client import AsyncQdrantClient

    client = AsyncQdrantClient(**remote)
    try:
        yield client
    finally:
        await client.close()


def _is_transport(source: object) -> bool:
    import httpx

    return isinstance(source, httpx.TransportError)


def _exists_already(error: Exception) -> bool:
    return getattr(error, "status_code", None) == 409 or "already exists" in str(error)


def _public(url: str) -> str:
    """Return `url` without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
