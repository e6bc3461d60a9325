"""Threads, event loops and tasks on one memory."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Reflection
from hindsight_core.settings import Settings
from hindsight_core.testing import HashingEmbedder, csv_run

SECONDS = 20.0 if os.environ.get("HINDSIGHT_TEST_LONG") else 3.0
NAMESPACE = ("acme", "alice")


def memory_at(folder: Path, **options: Any) -> Hindsight:
    settings = Settings(poll_seconds=0.05, drain_seconds=1.0)
    given: dict[str, Any] = {
        "namespace": NAMESPACE,
        "settings": settings,
        "embedder": HashingEmbedder(),
    }
    return Hindsight.open(folder, **(given | options))


def fact(writer: int, number: int) -> str:
    """Return a statement about a thing of its own, so that none replaces another."""
    return f"Machine m{writer}x{number} has serial s{writer}y{number * 7919}"


def work(h: Hindsight, writer: int, until: float, written: list[str], runs: list[str]) -> None:
    number = 0
    while time.monotonic() < until or not number:
        written.append(h.store(fact(writer, number)).id)
        if number % 10 == 0:
            run_id = f"run_{writer}_{number}"
            task = f"Load table {writer} {number} and tell me the total"
            runs.append(h.submit(csv_run(run_id, task=task)))
        number += 1


def read(h: Hindsight, reader: int, until: float, read_so_far: list[int]) -> None:
    while time.monotonic() < until:
        found = h.retrieve(f"serial of machine m{reader}x0", top_k=3)
        assert len({result.memory.id for result in found}) == len(found)
        page = h.list(limit=20)
        assert all(memory.namespace == h.namespace for memory in page.memories)
        h.brief("Load a table and tell me the total", run_id=f"run_{reader}_0")
        h.stats()
        read_so_far.append(len(found))


def all_of(h: Hindsight) -> list[str]:
    ids: list[str] = []
    cursor = None
    while True:
        page = h.list(limit=500, cursor=cursor)
        ids += [memory.id for memory in page.memories if memory.content.startswith("Machine")]
        cursor = page.cursor
        if cursor is None:
            return ids


def assert_all_there(h: Hindsight, written: list[str], runs: list[str]) -> None:
    assert h.flush(60)
    ids = all_of(h)
    assert len(ids) == len(set(ids))
    assert set(ids) == set(written)
    counts = h.stats().journal
    assert (counts.learned, counts.failed, counts.pending) == (len(runs), 0, 0)


def test_eight_threads_write_and_four_read_and_every_count_is_right(folder: Path) -> None:
    h = memory_at(folder)
    written: list[list[str]] = [[] for _ in range(8)]
    runs: list[list[str]] = [[] for _ in range(8)]
    reads: list[list[int]] = [[] for _ in range(4)]
    wrong: list[BaseException] = []
    until = time.monotonic() + SECONDS

    def guarded(call: Callable[..., None], *arguments: Any) -> Callable[[], None]:
        def run() -> None:
            try:
                call(h, *arguments)
            except BaseException as error:
                wrong.append(error)

        return run

    threads = [
        *(threading.Thread(target=guarded(work, n, until, written[n], runs[n])) for n in range(8)),
        *(threading.Thread(target=guarded(read, n, until, reads[n])) for n in range(4)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS + 60)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)
    assert all(reads)
    everything = [memory_id for ids in written for memory_id in ids]
    submitted = [run_id for ids in runs for run_id in ids]
    assert len(everything) >= 8
    assert_all_there(h, everything, submitted)
    h.close()
    with memory_at(folder) as again:
        assert_all_there(again, everything, submitted)


def test_tasks_write_and_read_at_once_in_one_loop_after_another(folder: Path) -> None:
    h = memory_at(folder)
    written: list[str] = []
    runs: list[str] = []

    async def write(writer: int) -> None:
        for number in range(5):
            written.append((await h.astore(fact(writer, number))).id)
        run_id = f"run_{writer}"
        task = f"Load table {writer} and tell me the total"
        runs.append(await h.asubmit(csv_run(run_id, task=task)))

    async def ask(reader: int) -> None:
        for _ in range(5):
            await h.aretrieve(f"serial of machine m{reader}x0")
            await h.abrief("Load a table and tell me the total")
            await h.alist(limit=5)

    async def main(first: int) -> None:
        await asyncio.gather(*(write(first + n) for n in range(8)), *(ask(n) for n in range(4)))
        assert await h.aflush(60)

    asyncio.run(main(0))
    asyncio.run(main(10))
    other = threading.Thread(target=lambda: asyncio.run(main(20)))
    other.start()
    other.join(60)
    assert len(written) == 3 * 8 * 5
    assert_all_there(h, written, runs)
    h.close()


async def test_the_sync_verbs_work_inside_a_running_loop(folder: Path) -> None:
    with memory_at(folder) as h:
        memory = h.store("The deploy needs the VPN")
        assert h.reflect(csv_run()).status == "learned"
        assert h.submit(csv_run("run_2", task="Load table 2 and tell me the total"))
        assert h.flush(20)
        assert h.brief("Load a table and tell me the total")
        assert h.get(memory.id) == memory


async def test_the_loop_goes_on_while_a_model_reflects(folder: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def model(prompt: str) -> str:
        begun.set()
        assert may_end.wait(30)
        return '{"lessons": []}'

    async with asyncio.timeout(30), memory_at(folder, model=model) as h:
        reflecting = asyncio.create_task(h.areflect(csv_run()))
        assert await asyncio.to_thread(begun.wait, 20)
        # The loop is free, and so is everything that needs no reflection.
        await h.astore("The deploy needs the VPN")
        assert await h.aretrieve("deploy")
        assert not reflecting.done()
        may_end.set()
        assert (await reflecting).status == "learned"


def test_submitting_waits_for_no_reflection(folder: Path) -> None:
    may_end = threading.Event()

    def model(prompt: str) -> str:
        assert may_end.wait(60)
        return '{"lessons": []}'

    with memory_at(folder, model=model) as h:
        for number in range(50):
            h.submit(csv_run(f"run_{number}", task=f"Load table {number} and tell me the total"))
        assert not h.flush(0.01)
        assert h.stats().journal.done == 0
        may_end.set()
        assert h.flush(60)
        assert h.stats().journal.learned == 50


async def test_a_reflection_whose_caller_was_cancelled_is_finished_all_the_same(
    folder: Path,
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def model(prompt: str) -> str:
        begun.set()
        assert may_end.wait(30)
        return '{"lessons": []}'

    async with asyncio.timeout(30), memory_at(folder, model=model) as h:
        reflecting = asyncio.create_task(h.areflect(csv_run()))
        assert await asyncio.to_thread(begun.wait, 20)
        reflecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reflecting
        may_end.set()
        # To be asked for the same run again is to wait for the reflection under way.
        assert (await h.areflect(csv_run())).status == "learned"


def test_two_who_reflect_on_one_run_at_once_get_the_same(folder: Path) -> None:
    begun, may_end = threading.Event(), threading.Event()
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        begun.set()
        assert may_end.wait(30)
        return '{"lessons": []}'

    with memory_at(folder, model=model) as h:
        both: list[Reflection] = []
        threads = [
            threading.Thread(target=lambda: both.append(h.reflect(csv_run()))) for _ in range(2)
        ]
        threads[0].start()
        assert begun.wait(20)
        threads[1].start()
        threads[1].join(0.2)
        assert threads[1].is_alive()
        may_end.set()
        for thread in threads:
            thread.join(30)
        assert len(asked) == 1
        assert [reflection.status for reflection in both] == ["learned", "learned"]
        assert {m.id for m in both[0].memories} == {m.id for m in both[1].memories}


def test_several_threads_open_a_new_memory_at_once(folder: Path) -> None:
    together = threading.Barrier(4)
    opened: list[Hindsight] = []

    def open_one() -> None:
        together.wait(30)
        opened.append(memory_at(folder))

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(opened) == 4
    memory = opened[0].store("The deploy needs the VPN")
    assert all(h.get(memory.id) == memory for h in opened)
    for h in opened:
        h.close()


def test_an_object_for_each_request_is_as_good_as_one_for_all(folder: Path) -> None:
    before = threading.active_count()
    for number in range(8):
        with memory_at(folder) as h:
            h.store(fact(0, number))
            h.submit(csv_run(f"run_{number}", task=f"Load table {number} and tell me the total"))
            assert h.flush(30)
    with memory_at(folder) as h:
        assert len(all_of(h)) == 8
        assert h.stats().journal.learned == 8
    assert threading.active_count() <= before + 1


def test_every_verb_has_an_async_twin() -> None:
    public = {
        name for name, _ in inspect.getmembers(Hindsight, inspect.isfunction) if name[0] != "_"
    }
    sync = {name for name in public if not inspect.iscoroutinefunction(getattr(Hindsight, name))}
    # These only make another view, note something in memory or count.
    instant = {"scoped", "for_user", "note_failure", "count_tokens", "session"}
    assert {f"a{name}" for name in sync - instant} <= public
