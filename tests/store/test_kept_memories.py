"""What a search has read once is not read again, and never outlives a change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from store_values import SCHEMA, memory, point, unit, within

from hindsight_core import Hindsight
from hindsight_core.models import Memory
from hindsight_core.store.base import DenseLane, MemoryStore, Patch, Purge, Put, Search
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.edge import store as edge_store
from hindsight_core.store.edge.kept import LONGEST_KEPT, KeptMemories
from hindsight_core.store.payload import point_id
from hindsight_core.testing import HashingEmbedder

NEAR = Search(within(), (DenseLane(unit((1.0, 0.0, 0.0, 0.0)), 10),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    opened = EdgeStore.open(tmp_path / "store", SCHEMA)
    yield opened
    opened.close()


def found(store: MemoryStore) -> dict[str, Memory]:
    return {hit.memory.id: hit.memory for hit in store.execute(NEAR)[0]}


def test_a_second_search_reads_nothing_from_the_engine(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.execute(Put(tuple(point(f"mem_{i}") for i in range(3))))
    first = found(store)

    def refuse(stored: object) -> Memory:
        raise AssertionError(f"{stored} was read again")

    monkeypatch.setattr(edge_store, "memory_from_stored", refuse)
    assert found(store) == first
    assert len(first) == 3


def test_a_change_shows_in_the_next_search(store: MemoryStore) -> None:
    store.execute(Put((point("mem_1"), point("mem_2"))))
    found(store)
    assert store.execute(Patch(memory("mem_1", confidence=0.2, version=2), ()))
    assert found(store)["mem_1"].confidence == 0.2
    assert found(store)["mem_2"].confidence == 0.7


def test_a_memory_written_anew_shows_as_written(store: MemoryStore) -> None:
    store.execute(Put((point("mem_1"),)))
    found(store)
    store.execute(Put((point("mem_1", content="the user prefers miles"),)))
    assert found(store)["mem_1"].content == "the user prefers miles"


def test_an_erased_memory_is_not_kept(store: MemoryStore) -> None:
    store.execute(Put((point("mem_1"), point("mem_2"))))
    found(store)
    store.execute(Purge(within(ids=("mem_1",))))
    assert set(found(store)) == {"mem_2"}
    store.execute(Put((point("mem_1", content="something else"),)))
    assert found(store)["mem_1"].content == "something else"


def test_another_store_on_the_folder_sees_what_this_one_changes(tmp_path: Path) -> None:
    one, two = (EdgeStore.open(tmp_path / "store", SCHEMA) for _ in range(2))
    one.execute(Put((point("mem_1"),)))
    found(two)
    one.execute(Patch(memory("mem_1", confidence=0.1, version=2), ()))
    assert found(two)["mem_1"].confidence == 0.1
    one.close()
    two.close()


def test_no_search_sees_a_confidence_older_than_what_was_written_before_it(
    store: MemoryStore,
) -> None:
    store.execute(Put((point("mem_1", version=1),)))
    written = [1]
    stop = threading.Event()
    behind: list[tuple[int, int]] = []

    def read() -> None:
        while not stop.is_set():
            least = written[0]
            version = found(store)["mem_1"].version
            if version < least:
                behind.append((version, least))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(2, 150):
        store.execute(Patch(memory("mem_1", version=version), ()))
        written[0] = version
    stop.set()
    for reader in readers:
        reader.join()
    assert behind == []


def test_what_a_caller_does_to_the_notes_of_a_result_stays_with_the_caller(tmp_path: Path) -> None:
    with Hindsight.open(tmp_path, namespace="acme", embedder=HashingEmbedder()) as hindsight:
        hindsight.store("The deploy needs the VPN", metadata={"from": {"team": "ops"}})
        for _ in range(2):
            (result,) = hindsight.retrieve("deploy VPN")
            assert result.memory.metadata == {"from": {"team": "ops"}}
            result.memory.metadata["from"]["team"] = "changed"
            assert isinstance(result.memory.metadata, dict)
            result.memory.metadata["more"] = True


def test_what_is_read_during_a_write_is_not_kept() -> None:
    kept = KeptMemories()
    kept.keep({1: memory("mem_1")}, kept.writes)
    before = kept.writes
    kept.began_write((1,))
    kept.keep({1: memory("mem_1"), 2: memory("mem_2")}, before)
    kept.keep({2: memory("mem_2")}, kept.writes)
    assert kept.read((1, 2)) == {}
    kept.ended_write()
    kept.keep({2: memory("mem_2")}, before)
    assert len(kept) == 0
    kept.keep({2: memory("mem_2")}, kept.writes)
    assert kept.read((1, 2)) == {2: memory("mem_2")}


def test_what_was_asked_for_the_longest_ago_goes_first() -> None:
    kept = KeptMemories(most=2)
    one, two, three = (memory(f"mem_{i}") for i in range(3))
    kept.keep({1: one, 2: two}, 0)
    kept.read((1,))
    kept.keep({3: three}, 0)
    assert kept.read((1, 2, 3)) == {1: one, 3: three}


def test_long_memories_leave_room_for_fewer() -> None:
    kept = KeptMemories(characters=250)
    long, longer, short = (memory(f"mem_{n}", content="x" * n) for n in (100, 140, 20))
    kept.keep({1: long, 2: longer}, 0)
    kept.keep({1: long}, 0)
    assert kept.read((1, 2)) == {1: long, 2: longer}
    kept.keep({3: short}, 0)
    assert kept.read((1, 2, 3)) == {2: longer, 3: short}
    kept.began_write((2,))
    kept.ended_write()
    kept.keep({4: longer, 5: short}, kept.writes)
    assert kept.read((3, 4, 5)) == {3: short, 4: longer, 5: short}
    kept.began_write(None)
    kept.ended_write()
    kept.keep({6: longer, 7: long}, kept.writes)
    assert kept.read((6, 7)) == {6: longer, 7: long}


def test_a_very_long_memory_is_not_kept() -> None:
    kept = KeptMemories()
    kept.keep({1: memory(content="x" * (LONGEST_KEPT + 1))}, 0)
    assert len(kept) == 0


def test_a_detached_memory_is_equal_and_shares_no_mapping() -> None:
    first = memory(metadata={"a": [1]})
    second = first.detached()
    assert second == first
    assert second.metadata is not first.metadata
    assert replace(second, metadata={}) != first
    assert UUID(point_id(first.namespace, first.id)) == UUID(point_id(second.namespace, second.id))
