"""Threads and tasks on one memory at once."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.progress import track
from benchmarks.soak.kills import opened
from benchmarks.soak.ledger import Tally
from hindsight_core import Hindsight
from hindsight_core.testing import csv_run

__all__ = ["TASKS", "THREADS", "many_at_once"]

_log = logging.getLogger(__name__)

THREADS = 8
TASKS = 8
RUN_EVERY = 10
"""Every so many statements a run is submitted."""


@dataclass(slots=True)
class _Work:
    """What one writer was told is kept."""

    stored: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    disturbed: int = 0

    def statement(self, writer: str, number: int) -> str:
        """Return a statement about a thing of its own, so that none replaces another."""
        return f"Machine m{writer}x{number} has serial s{writer}y{number * 7919}"


def many_at_once(folder: Path, seconds: float) -> Tally:
    """Let 8 threads and 8 tasks write, read and submit on one memory.

    Args:
        folder: The memory.
        seconds: For how long.
    """
    works = [_Work() for _ in range(THREADS + TASKS)]
    with opened(folder) as h:
        until = time.monotonic() + seconds
        threads = [
            threading.Thread(target=_guarded(_write, h, f"t{place}", work, until))
            for place, work in enumerate(works[:THREADS])
        ]
        threads.append(
            threading.Thread(target=lambda: asyncio.run(_tasks(h, works[THREADS:], until)))
        )
        for thread in threads:
            thread.start()
        for _ in track(range(max(1, int(seconds))), "threads and tasks"):
            threads[0].join(1.0)
        for thread in threads:
            thread.join(seconds + 120)
        h.retry()
        _wait_while_it_goes_on(h)
    with opened(folder) as h:
        tally = Tally(disturbed=sum(work.disturbed for work in works))
        stored = [memory_id for work in works for memory_id in work.stored]
        runs = [run_id for work in works for run_id in work.runs]
        return tally.settle(h, stored, runs)


def _wait_while_it_goes_on(h: Hindsight) -> None:
    """Wait until every run was reflected on, as long as more of them are.

    A run that waits is not lost, and a busy machine takes its time.
    """
    done = -1
    while not h.flush(60):
        counts = h.stats().journal
        if counts.done <= done:
            return
        done = counts.done


def _guarded(
    call: Callable[[Hindsight, str, _Work, float], None],
    h: Hindsight,
    writer: str,
    work: _Work,
    until: float,
) -> Callable[[], None]:
    def run() -> None:
        try:
            call(h, writer, work, until)
        except Exception:  # noqa: BLE001 - whatever it is, it is counted
            _log.exception("a writer was disturbed")
            work.disturbed += 1

    return run


def _write(h: Hindsight, writer: str, work: _Work, until: float) -> None:
    number = 0
    while time.monotonic() < until or not number:
        work.stored.append(h.store(work.statement(writer, number)).id)
        h.retrieve(f"serial of machine m{writer}x0", top_k=3)
        if number % RUN_EVERY == 0:
            run_id = f"run_{writer}_{number}"
            task = f"Load table {writer} {number} and tell me the total"
            h.brief(task, run_id=run_id)
            work.runs.append(h.submit(csv_run(run_id, task=task)))
        number += 1


async def _tasks(h: Hindsight, works: list[_Work], until: float) -> None:
    async def guarded(writer: str, work: _Work) -> None:
        try:
            await _awrite(h, writer, work, until)
        except Exception:  # noqa: BLE001 - whatever it is, it is counted
            _log.exception("a writer was disturbed")
            work.disturbed += 1

    await asyncio.gather(*(guarded(f"a{place}", work) for place, work in enumerate(works)))


async def _awrite(h: Hindsight, writer: str, work: _Work, until: float) -> None:
    number = 0
    while time.monotonic() < until or not number:
        work.stored.append((await h.astore(work.statement(writer, number))).id)
        await h.aretrieve(f"serial of machine m{writer}x0", top_k=3)
        if number % RUN_EVERY == 0:
            run_id = f"run_{writer}_{number}"
            task = f"Load table {writer} {number} and tell me the total"
            await h.abrief(task, run_id=run_id)
            work.runs.append(await h.asubmit(csv_run(run_id, task=task)))
        number += 1
