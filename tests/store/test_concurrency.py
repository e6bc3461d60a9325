"""Many threads and tasks at once: nothing is lost and nothing is half done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from backends import open_backend
from store_values import ALICE, BOB, SCHEMA, WORDS, memory, point, unit, within

from hindsight_core.errors import ClosedError
from hindsight_core.models import Memory
from hindsight_core.store.base import (
    Count,
    DenseLane,
    Get,
    MemoryStore,
    OrderedLane,
    Patch,
    Purge,
    Put,
    Scroll,
    Search,
    SparseLane,
)
from hindsight_core.store.edge import EdgeStore

ROUNDS = 12
LANES = (
    DenseLane(unit((1.0, 0.0, 0.0, 0.0)), 20),
    SparseLane(WORDS, 20),
    OrderedLane("event_time", 5),
)


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[MemoryStore]:
    store = EdgeStore.open(tmp_path / "store", SCHEMA)
    yield store
    store.close()


@pytest.fixture(params=("edge", "memory"))
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """The stores whose engine runs in this process, with all of its threads."""
    with open_backend(request.param, tmp_path) as store:
        yield store


def together(*jobs: Callable[[], None]) -> None:
    """Run all jobs at once, each in a thread of its own, and raise what they raise."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(jobs))

    def work(job: Callable[[], None]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def write(store: MemoryStore, writer: int) -> Callable[[], None]:
    def job() -> None:
        for i in range(ROUNDS):
            store.execute(Put((point(f"w{writer}-{i}"), point(f"w{writer}-{i}", BOB))))
            if i % 3 == 0:
                store.execute(Patch(memory(f"w{writer}-{i}", version=2), (), expected_version=1))
            if i == 9:
                store.execute(Purge(within(BOB, ids=(f"w{writer}-{i}",))))

    return job


def read(store: MemoryStore) -> Callable[[], None]:
    def job() -> None:
        for _ in range(ROUNDS):
            for hits in store.execute(Search(within(), LANES)):
                assert all(hit.memory.namespace == ALICE for hit in hits)
            assert store.execute(Count(within())) <= 8 * ROUNDS
            store.execute(Scroll(within(BOB), 10))

    return job


def check_counts(store: MemoryStore) -> None:
    assert store.execute(Count(within())) == 8 * ROUNDS
    assert store.execute(Count(within(BOB))) == 8 * (ROUNDS - 1)
    assert len(store.execute(Scroll(within(), 500)).records) == 8 * ROUNDS
    patched = tuple(f"w{w}-{i}" for w in range(8) for i in range(0, ROUNDS, 3))
    assert {r.memory.version for r in store.execute(Get((ALICE,), patched))} == {2}


def test_threads_that_write_and_read_at_once_lose_nothing(local: MemoryStore) -> None:
    together(*(write(local, w) for w in range(8)), *(read(local) for _ in range(4)))

    check_counts(local)


def test_what_threads_wrote_at_once_is_there_after_reopening(tmp_path: Path) -> None:
    stores = [EdgeStore.open(tmp_path / "store", SCHEMA) for _ in range(8)]
    together(*(write(store, w) for w, store in enumerate(stores)), read(stores[0]))
    together(*(store.close for store in stores))

    again = EdgeStore.open(tmp_path / "store", SCHEMA)

    check_counts(again)
    again.close()


def test_tasks_that_write_and_read_at_once_lose_nothing(local: MemoryStore) -> None:
    async def write_all() -> None:
        async with asyncio.TaskGroup() as group:
            for i in range(30):
                group.create_task(local.aexecute(Put((point(f"m{i}"),))))
                group.create_task(local.aexecute(Search(within(), LANES)))

    asyncio.run(write_all())

    assert local.execute(Count(within())) == 30


def test_of_many_patches_of_one_version_exactly_one_wins(local: MemoryStore) -> None:
    local.execute(Put((point(),)))
    won: list[int] = []

    def patch(writer: int) -> Callable[[], None]:
        def job() -> None:
            mine: Memory = memory(version=2, content=f"writer {writer}")
            if local.execute(Patch(mine, (), expected_version=1)):
                won.append(writer)

        return job

    together(*(patch(w) for w in range(8)))

    (winner,) = won
    assert local.execute(Get((ALICE,), ("mem_1",)))[0].memory.content == f"writer {winner}"


def test_a_search_never_returns_what_its_filter_excludes(embedded: MemoryStore) -> None:
    embedded.execute(Put(tuple(point(f"m{i}") for i in range(20))))
    done = threading.Event()

    def flip() -> None:
        for n in range(30):
            for i in range(20):
                status = "archived" if n % 2 else "active"
                embedded.execute(Patch(memory(f"m{i}", status=status), ()))
        done.set()

    def look() -> None:
        while not done.is_set():
            for hits in embedded.execute(Search(within(statuses=("active",)), LANES)):
                assert {hit.memory.status for hit in hits} <= {"active"}

    together(flip, look, look)


def test_closing_waits_for_what_is_under_way(tmp_path: Path) -> None:
    store = EdgeStore.open(tmp_path / "store", SCHEMA)
    started = threading.Event()
    acknowledged: list[str] = []

    def keep_writing() -> None:
        try:
            for i in range(100_000):
                store.execute(Put((point(f"m{i}"),)))
                acknowledged.append(f"m{i}")
                started.set()
        except ClosedError:
            pass

    def close() -> None:
        started.wait()
        store.close()

    together(keep_writing, close)

    again = EdgeStore.open(tmp_path / "store", SCHEMA)
    assert len(acknowledged) < 100_000
    found = again.execute(Get((ALICE,), tuple(acknowledged)))
    assert [record.memory.id for record in found] == acknowledged
    again.close()


@pytest.mark.parametrize("attempt", range(3))
def test_opening_and_closing_at_once_in_many_threads_works(tmp_path: Path, attempt: int) -> None:
    def visit(writer: int) -> Callable[[], None]:
        def job() -> None:
            for i in range(4):
                store = EdgeStore.open(tmp_path / "store", SCHEMA)
                store.execute(Put((point(f"v{writer}-{i}"),)))
                store.close()

        return job

    together(*(visit(w) for w in range(4)))

    store = EdgeStore.open(tmp_path / "store", SCHEMA)
    assert store.execute(Count(within())) == 16
    store.close()
