"""The Qdrant store over sockets: opening, failing, event loops."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback_server import Loopback, serving
from qdrant_client import QdrantClient, models
from store_values import ALICE, SCHEMA, change, memory, point, within

from hindsight_core import Hindsight
from hindsight_core.errors import (
    ClosedError,
    ConfigurationError,
    SchemaMismatchError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_core.settings import ServerSettings, Settings
from hindsight_core.store.base import Count, DenseLane, Get, Patch, Put, Schema, Search
from hindsight_core.store.payload import point_id, stored_payload
from hindsight_core.store.qdrant import QdrantStore
from hindsight_core.testing import HashingEmbedder

SECRET = "key-8d1f"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


@pytest.fixture
def store(server: Loopback) -> Iterator[QdrantStore]:
    store = QdrantStore.open(server.url, SCHEMA)
    yield store
    store.close()


def ask(store: QdrantStore, op: Any, way: str) -> Any:
    return store.execute(op) if way == "sync" else asyncio.run(store.aexecute(op))


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_opening_makes_the_collection_and_every_index_once(server: Loopback) -> None:
    QdrantStore.open(server.url, SCHEMA).close()
    first = [path for method, path in server.requests if method == "PUT"]
    QdrantStore.open(server.url, SCHEMA).close()

    assert len(first) == 1 + len(server.indexes) > 15
    assert [path for method, path in server.requests if method == "PUT"] == first
    assert server.indexes["namespace"]["data_type"] == "keyword"
    assert server.indexes["event_time"]["data_type"] == "datetime"
    assert server.indexes["importance"]["data_type"] == "float"


def test_a_collection_is_laid_out_as_the_settings_say(server: Loopback) -> None:
    layout = ServerSettings(
        shards=6, replicas=2, quantization="scalar", on_disk=True, graph_per_namespace=True
    )
    QdrantStore.open(server.url, SCHEMA, layout=layout).close()
    wanted = server.made["hindsight_memories"]
    assert (wanted["shard_number"], wanted["replication_factor"]) == (6, 2)
    assert wanted["on_disk_payload"] is True
    assert wanted["hnsw_config"] == {"m": 0, "payload_m": 16}
    dense = wanted["vectors"]["dense"]
    assert dense["on_disk"] is True
    assert dense["quantization_config"] == {"scalar": {"type": "int8", "always_ram": True}}


def test_binary_quantization_is_a_setting_too(server: Loopback) -> None:
    layout = ServerSettings(quantization="binary")
    QdrantStore.open(server.url, SCHEMA, layout=layout).close()
    dense = server.made["hindsight_memories"]["vectors"]["dense"]
    assert dense["quantization_config"] == {"binary": {"always_ram": True}}


@pytest.mark.parametrize(("quantization", "again"), [("scalar", True), ("off", False)])
def test_what_quantized_vectors_find_is_scored_again_by_the_whole_ones(
    server: Loopback, quantization: Any, again: bool
) -> None:
    store = QdrantStore.open(server.url, SCHEMA, layout=ServerSettings(quantization=quantization))
    store.execute(Put((point("mem_1"),)))
    ((hit,),) = store.execute(Search(within(), (DenseLane((1.0, 0.0, 0.0, 0.0), 3),), exact=True))
    store.close()
    assert hit.memory.id == "mem_1"
    (lane, *_) = server.searches[-1]
    wanted = {"rescore": True, "oversampling": 2.0}
    assert ((lane.get("params") or {}).get("quantization") == wanted) is again


def test_a_patch_is_ordered_strongly_so_that_replicas_agree(server: Loopback) -> None:
    store = QdrantStore.open(server.url, SCHEMA)
    store.execute(Put((point(),)))
    assert store.execute(Patch(memory(version=2), (), expected_version=1))
    store.close()
    (patched,) = [path for path in server.paths if "/points/payload" in path]
    assert "ordering=strong" in patched


def test_by_default_the_layout_is_left_to_the_server(server: Loopback) -> None:
    QdrantStore.open(server.url, SCHEMA).close()
    wanted = server.made["hindsight_memories"]
    assert {name for name, value in wanted.items() if value is not None} == {
        "vectors", "sparse_vectors", "metadata",
    }  # fmt: skip
    assert set(wanted["vectors"]["dense"]) == {"size", "distance"}


def test_the_facade_takes_the_layout_from_its_settings(server: Loopback, tmp_path: Path) -> None:
    settings = Settings(server=ServerSettings(collection="agents", shards=3))
    embedder = HashingEmbedder()
    with Hindsight.open(
        tmp_path, url=server.url, namespace="acme", settings=settings, embedder=embedder
    ) as hindsight:
        hindsight.store("The port is 9090")
        assert [r.memory.content for r in hindsight.retrieve("port")] == ["The port is 9090"]
    assert server.made["agents"]["shard_number"] == 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"collection": " "}, "blank"),
        ({"timeout": 0}, "timeout 0 is not above 0"),
        ({"shards": -1}, "shards -1 is below 0"),
        ({"replicas": -2}, "replicas -2 is below 0"),
        ({"quantization": "int4"}, "quantization 'int4' is not known"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        ServerSettings(**values)


def test_everyone_who_starts_on_an_empty_server_succeeds(server: Loopback) -> None:
    server.before = lambda method, path: (
        (200, {"exists": False}) if path.endswith("/exists") else None
    )
    stores: list[QdrantStore] = []
    barrier = threading.Barrier(3)

    def start() -> None:
        barrier.wait()
        stores.append(QdrantStore.open(server.url, SCHEMA))

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(stores) == 3
    stores[0].execute(Put((point(),)))
    assert [store.execute(Count(within())) for store in stores] == [1, 1, 1]
    for store in stores:
        store.close()


def test_an_index_that_another_process_made_meanwhile_is_taken(server: Loopback) -> None:
    server.before = lambda method, path: (
        (409, {"error": "index already exists"}) if path.endswith("/index") else None
    )

    QdrantStore.open(server.url, SCHEMA).close()


@pytest.mark.parametrize("other", [Schema("hashing", 8), Schema("another", 4)])
def test_another_schema_is_refused(server: Loopback, other: Schema) -> None:
    QdrantStore.open(server.url, SCHEMA).close()

    with pytest.raises(
        SchemaMismatchError, match=r"'hashing' of 4 dimensions, but .*reflect the runs again"
    ):
        QdrantStore.open(server.url, other)

    assert QdrantStore.recorded_schema(server.url) == SCHEMA


def test_the_recorded_schema_of_nothing_is_none(server: Loopback) -> None:
    assert QdrantStore.recorded_schema(server.url) is None


@pytest.mark.parametrize(
    "metadata", [None, {}, {"store": "else", "model": "m"}, {"store": "hindsight-memory"}]
)
def test_a_collection_of_something_else_is_refused(
    server: Loopback, metadata: dict[str, Any] | None
) -> None:
    dense = models.VectorParams(size=4, distance=models.Distance.COSINE)
    server.local.create_collection("theirs", vectors_config={"dense": dense}, metadata=metadata)

    with pytest.raises(StoreCorruptError, match=r"'theirs' at .* was not made by Hindsight"):
        QdrantStore.open(server.url, SCHEMA, layout=ServerSettings(collection="theirs"))


def test_a_collection_whose_vectors_are_not_as_it_says_is_refused(server: Loopback) -> None:
    said = {"store": "hindsight-memory", "model": "hashing", "dimension": 4, "format_version": 2}
    dense = models.VectorParams(size=5, distance=models.Distance.COSINE)
    server.local.create_collection("odd", vectors_config={"dense": dense}, metadata=said)

    with pytest.raises(SchemaMismatchError, match="4 dimensions and has vectors of 5"):
        QdrantStore.open(server.url, SCHEMA, layout=ServerSettings(collection="odd"))


def test_no_server_at_open_is_told_as_unavailable() -> None:
    url = f"http://127.0.0.1:{closed_port()}"

    with pytest.raises(StoreUnavailableError, match=f"opening failed at {url}.*try again"):
        QdrantStore.open(url, SCHEMA)


@pytest.mark.parametrize("url", ["nonsense://x", "http://host:notaport", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises((ConfigurationError, StoreUnavailableError)):
        QdrantStore.open(url, SCHEMA, layout=ServerSettings(timeout=1))


@both_ways
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_in_trouble_is_told_as_unavailable_and_used_again_after(
    server: Loopback, store: QdrantStore, way: str, status: int
) -> None:
    server.before = lambda *_: (status, {"error": "busy"})
    with pytest.raises(StoreUnavailableError, match="Count failed at http://127"):
        ask(store, Count(within()), way)

    server.before = lambda *_: None

    assert ask(store, Count(within()), way) == 0


@both_ways
def test_a_refused_connection_after_opening_is_told_as_unavailable(way: str) -> None:
    with serving() as loopback:
        store = QdrantStore.open(loopback.url, SCHEMA)

    with pytest.raises(StoreUnavailableError, match="Put failed at http://127"):
        ask(store, Put((point(),)), way)

    store.close()


@both_ways
def test_a_server_that_does_not_answer_in_time_is_told_as_unavailable(way: str) -> None:
    released = threading.Event()
    with serving() as loopback:
        store = QdrantStore.open(loopback.url, SCHEMA, layout=ServerSettings(timeout=1))
        loopback.before = lambda *_: (200, released.wait(20))
        with pytest.raises(StoreUnavailableError, match="Timeout"):
            ask(store, Count(within()), way)
        released.set()
    store.close()


@both_ways
@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "check the API key"), (403, "check the API key"), (400, "nothing more was changed")],
)
@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
def test_a_refusal_is_told_without_the_key(
    server: Loopback, way: str, status: int, said: str
) -> None:
    url = server.url.replace("127.0.0.1", f"user:{SECRET}@127.0.0.1")
    store = QdrantStore.open(url, SCHEMA, api_key=SECRET)
    server.before = lambda *_: (status, {"error": f"the key {SECRET} is no good"})

    with pytest.raises(StoreError, match=said) as caught:
        ask(store, Count(within()), way)

    assert SECRET not in str(caught.value)
    assert SECRET not in repr(store.__dict__["_location"])
    assert not isinstance(caught.value, StoreUnavailableError)
    assert set(server.keys) == {SECRET}
    store.close()


@both_ways
def test_an_answer_that_is_no_answer_is_told_as_such(
    server: Loopback, store: QdrantStore, way: str
) -> None:
    server.before = lambda *_: (200, {"counted": "many"})

    with pytest.raises(StoreError, match="Count failed") as caught:
        ask(store, Count(within()), way)

    assert not isinstance(caught.value, StoreUnavailableError)


def test_one_store_serves_several_event_loops_after_and_beside_each_other(
    store: QdrantStore,
) -> None:
    async def several() -> list[int]:
        return await asyncio.gather(*(store.aexecute(Count(within())) for _ in range(5)))

    for i in range(3):
        asyncio.run(store.aexecute(Put((point(f"m{i}"),))))
    counts: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: counts.append(asyncio.run(several()))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [[3] * 5] * 3
    gc.collect()  # an unclosed connection would warn here, and warnings are errors


async def test_closing_in_a_running_loop_closes_its_connections(server: Loopback) -> None:
    store = QdrantStore.open(server.url, SCHEMA)
    assert await store.aexecute(Count(within())) == 0

    store.close()
    store.close()

    with pytest.raises(ClosedError, match="was closed; open it again"):
        await store.aexecute(Count(within()))
    with pytest.raises(ClosedError):
        store.execute(Count(within()))


def test_closing_from_outside_a_loop_that_has_ended_is_harmless(server: Loopback) -> None:
    store = QdrantStore.open(server.url, SCHEMA)
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(store.aexecute(Count(within()))) == 0
    loop.run_until_complete(loop.shutdown_asyncgens())

    store.close()

    loop.close()


def racing(server: Loopback, store: QdrantStore, rival: Callable[[], None]) -> None:
    """Have `rival` run once, between the reading and the writing of the next patch."""

    def before(method: str, path: str) -> None:
        if path.endswith("/points/payload"):
            server.before = lambda *_: None
            rival()

    server.before = before


def overwrite(server: Loopback, version: int, **extra: Any) -> None:
    """Write another version of the memory behind the store's back."""
    payload = {**stored_payload(memory(version=version, **extra), (change(version),)), "mark": "x"}
    name = server.local.get_collections().collections[0].name
    server.local.overwrite_payload(name, payload, [point_id(ALICE, "mem_1")])


@both_ways
def test_of_two_patches_of_one_version_one_wins(
    server: Loopback, store: QdrantStore, way: str
) -> None:
    store.execute(Put((point(),)))
    racing(server, store, lambda: overwrite(server, 2, content="the rival's"))

    ours = memory(version=2, content="ours")
    assert ask(store, Patch(ours, (change(2, run_id="ours"),), expected_version=1), way) is False

    assert store.execute(Get((ALICE,), ("mem_1",)))[0].memory.content == "the rival's"


def test_a_patch_that_was_built_on_before_it_could_look_has_won(
    server: Loopback, store: QdrantStore
) -> None:
    store.execute(Put((point(),)))
    ours = (change(2, run_id="ours"),)
    reads = 0

    def before(method: str, path: str) -> None:
        nonlocal reads
        reads += path.endswith("/points") and method == "POST"
        if reads == 2:
            server.before = lambda *_: None
            name = server.local.get_collections().collections[0].name
            later = stored_payload(memory(version=3), (*ours, change(3)))
            server.local.overwrite_payload(name, later, [point_id(ALICE, "mem_1")])

    server.before = before

    assert store.execute(Patch(memory(version=2), ours, expected_version=1)) is True
    assert store.execute(Get((ALICE,), ("mem_1",)))[0].memory.version == 3


@pytest.mark.parametrize("history", [(), (change(2),)])
def test_a_memory_erased_during_a_patch_is_not_changed(
    server: Loopback, store: QdrantStore, history: Any
) -> None:
    store.execute(Put((point(),)))
    name = server.local.get_collections().collections[0].name
    racing(
        server,
        store,
        lambda: server.local.delete(name, models.FilterSelector(filter=models.Filter())),
    )

    assert store.execute(Patch(memory(version=2), history, expected_version=1)) is False


def test_a_patch_without_history_that_lost_says_so(server: Loopback, store: QdrantStore) -> None:
    store.execute(Put((point(),)))
    racing(server, store, lambda: overwrite(server, 2))

    assert store.execute(Patch(memory(version=2), (), expected_version=1)) is False


def test_in_memory_stores_share_nothing() -> None:
    first, second = QdrantStore.open(":memory:", SCHEMA), QdrantStore.open(":memory:", SCHEMA)
    first.execute(Put((point(),)))

    assert (first.stats().points, second.stats().points) == (1, 0)
    first.close()
    second.close()
    with pytest.raises(ClosedError):
        first.execute(Count(within()))


def test_an_unknown_collection_is_told_by_name(server: Loopback, store: QdrantStore) -> None:
    client: QdrantClient = server.local
    for collection in client.get_collections().collections:
        client.delete_collection(collection.name)

    with pytest.raises(StoreError, match="collection 'hindsight_memories'"):
        store.execute(Count(within()))
