"""The benchmark of what the adapter adds to a run, at a small size, and how it counts."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable

import pytest

from benchmarks.adapters import own_time
from benchmarks.adapters.llamaindex import run
from benchmarks.adapters.own_time import OwnTime


def test_the_answer_does_not_wait_for_reflection() -> None:
    found = run(rounds=1, reflection_seconds=600.0)
    rows = {row["system"]: row for row in found["rows"]}
    assert list(rows) == ["bare", "recorded", "memory", "both", "embedder"]
    assert rows["bare"]["own_ms_p50"] == rows["embedder"]["own_ms_p50"] == 0.0
    assert rows["recorded"]["own_ms_p50"] > 0.0
    assert rows["both"]["own_ms_p50"] > 0.0
    assert rows["recorded"]["recall_ms_p50"] == 0.0
    for name in ("memory", "both"):
        assert rows[name]["recall_ms_p50"] > rows[name]["embedder_ms_p50"] > 0.0
    assert rows["embedder"]["run_ms_p50"] >= rows["embedder"]["embedder_ms_p50"] > 0.0


class Adapter:
    """Does known amounts of work, by a clock that only work moves."""

    def __init__(self, work: Callable[[float], None]) -> None:
        self.work = work

    def outer(self) -> str:
        self.work(1)
        self.inner()
        return self.other()

    def inner(self) -> None:
        self.work(2)

    def other(self) -> str:
        self.work(4)
        return "done"

    async def read(self) -> str:
        self.work(1)
        await asyncio.sleep(0)
        self.inner()
        try:
            await self.ask()
        except KeyError:
            self.work(8)
        return "read"

    async def ask(self) -> str:
        self.work(16)
        await asyncio.sleep(0)
        self.work(32)
        raise KeyError("nothing there")


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Adapter:
    now = [0.0]

    def work(milliseconds: float) -> None:
        now[0] += milliseconds / 1e3

    clock = types.SimpleNamespace(perf_counter=lambda: now[0], thread_time=lambda: now[0])
    monkeypatch.setattr(own_time, "time", clock)
    return Adapter(work)


ENTERED = [(Adapter, "outer"), (Adapter, "inner"), (Adapter, "read")]


def test_what_others_do_for_the_adapter_stands_in_a_column_of_its_own(adapter: Adapter) -> None:
    runs: dict[str, Callable[[], object]] = {
        "outer": lambda: adapter.outer(),
        "other": lambda: adapter.other(),
    }
    untouched = Adapter.outer
    (row, alone) = OwnTime(ENTERED, {"other": [(Adapter, "other")]}).measure(runs, 2)
    assert (row["run_ms_p50"], row["own_ms_p50"], row["own_cpu_ms_p50"]) == (7.0, 3.0, 3.0)
    assert (row["other_ms_p50"], row["other_ms_p95"]) == (4.0, 4.0)
    assert (alone["own_ms_p50"], alone["other_ms_p50"]) == (0.0, 4.0)
    (plain, _) = OwnTime(ENTERED).measure(runs, 2)
    assert plain["own_ms_p50"] == 7.0
    assert Adapter.outer is untouched


def test_the_steps_of_a_coroutine_count_and_what_it_waits_for_does_not(adapter: Adapter) -> None:
    async def beside() -> str:
        reading = asyncio.ensure_future(adapter.read())
        await asyncio.sleep(0)
        adapter.work(64)  # while the adapter waits
        return await reading

    said: list[str] = []
    counted = OwnTime(ENTERED, {"ask": [(Adapter, "ask")]})
    (row,) = counted.measure({"read": lambda: said.append(asyncio.run(beside()))}, 2)
    assert set(said) == {"read"}
    assert row["own_ms_p50"] == 1.0 + 2.0 + 8.0
    assert row["ask_ms_p50"] >= 48.0
    assert row["run_ms_p50"] == 123.0


def test_a_cancelled_coroutine_is_cancelled_inside(adapter: Adapter) -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def cancelled() -> None:
        waiting = asyncio.ensure_future(waiter.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    waiter = types.SimpleNamespace(wait=wait)
    counted = OwnTime([(waiter, "wait")])
    counted.measure({"wait": lambda: asyncio.run(cancelled())}, 1)
    assert set(ended) == {"cancelled"}
