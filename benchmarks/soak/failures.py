"""A store that fails now and then, and models that do nothing but fail; then all is well again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.progress import track
from benchmarks.soak.kills import opened
from benchmarks.soak.ledger import Tally
from hindsight_core import Hindsight, Settings
from hindsight_core.clock import system_clock
from hindsight_core.errors import HindsightError, ModelCallError
from hindsight_core.reflection.base import ModelReply
from hindsight_core.settings import ModelSettings
from hindsight_core.store.base import Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import FaultyStore, HashingEmbedder, csv_run

__all__ = ["MODELS", "failing_model", "failing_store"]

_log = logging.getLogger(__name__)

TRIES = 10
"""How often somebody who stores by hand tries again."""
ONE_LESSON = {
    "lessons": [{"content": "Tables of sales are encoded in GB18030", "category": "fact"}]
}


class _Clock:
    """The time of day, which can be moved on so that nothing has to be waited for."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        return system_clock() + self._ahead

    def advance(self, hours: float) -> None:
        self._ahead += timedelta(hours=hours)


def failing_store(folder: Path, count: int) -> Tally:
    """Work on a store of which every third call fails, until it does so no more.

    Args:
        folder: The memory.
        count: Runs of an agent, each with a statement stored by hand.
    """
    embedder, clock = HashingEmbedder(), _Clock()
    inner = EdgeStore.open(folder / "store", Schema(embedder.name, embedder.dimension))
    store = FaultyStore(inner, lambda op, number: number % 3 == 2)
    tally, stored = Tally(), []
    runs: list[str] = []
    with opened(folder, embedder=embedder, store=store, clock=clock) as h:
        for number in track(range(count), "a store that fails"):
            tally.disturbed += _agent_run(h, f"run_{number}", runs)
            memory_id = _stored(h, f"Machine m{number} has serial s{number * 7919}")
            stored += [memory_id] if memory_id else []
        store.fails = lambda op, number: False
        _catch_up(h, clock)
        return tally.settle(h, stored, runs)


def failing_model(folder: Path, answer: Callable[[], Any], count: int) -> Tally:
    """Work with a model that fails at every call, until it does so no more.

    Args:
        folder: The memory.
        answer: What the model says, or raises, until then.
        count: Runs of an agent.
    """
    well = threading.Event()

    class Model:
        def complete(self, prompt: object) -> ModelReply:
            return ModelReply(content=ONE_LESSON if well.is_set() else answer())

    clock = _Clock()
    patience = ModelSettings(model="soak", max_retries=1, timeout=0.2, max_total_wait=0.5)
    settings = Settings(poll_seconds=0.05, drain_seconds=1.0, model=patience)
    tally = Tally()
    runs: list[str] = []
    with opened(folder, settings=settings, model=Model(), clock=clock) as h:
        for number in track(range(count), "a model that fails"):
            tally.disturbed += _agent_run(h, f"run_{number}", runs)
        h.flush(60)
        well.set()
        _catch_up(h, clock)
        return tally.settle(h, [], runs)


def _times_out() -> str:
    raise TimeoutError("the model said nothing in time")


def _refuses() -> str:
    raise ModelCallError("too many requests", status=429, retry_after=30.0, retryable=True)


MODELS: dict[str, Callable[[], Any]] = {
    "times out": _times_out,
    "returns rubbish": lambda: "}{ lessons? As a language model, I",
    "answers 429": _refuses,
}
"""What a failing model does, by name."""


def _agent_run(h: Hindsight, run_id: str, runs: list[str]) -> int:
    """Do what an adapter does for one run; return how many of its calls raised."""
    task = f"Load table {run_id} and tell me the total"
    disturbed = 0
    try:
        h.brief(task, run_id=run_id)
    except Exception:  # noqa: BLE001 - whatever it is, it is counted
        _log.exception("an agent's run was disturbed")
        disturbed += 1
    try:
        runs.append(h.submit(csv_run(run_id, task=task)))
    except Exception:  # noqa: BLE001 - whatever it is, it is counted
        _log.exception("an agent's run was disturbed")
        disturbed += 1
    return disturbed


def _stored(h: Hindsight, content: str) -> str:
    """Store by hand, again if it was refused; return the id that was acknowledged, or `""`."""
    for _ in range(TRIES):
        try:
            return h.store(content).id
        except HindsightError:
            continue
    return ""


def _catch_up(h: Hindsight, clock: _Clock) -> None:
    """Let everything that was put off be done now."""
    for _ in range(3):
        clock.advance(hours=25)
        h.retry()
        h.flush(300)
