"""Processes that are killed while they submit, reflect and store."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from children import WORKS_FOR_EVER, Start, killed_somewhere, line_of

from benchmarks.soak.ledger import everything, half_done, wrongly_learned
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Memory
from hindsight_core.reflection.base import Reflected
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.settings import Settings
from hindsight_core.testing import HashingEmbedder
from hindsight_core.trajectory import Trajectory

NAMESPACE = ("acme", "alice")

SUBMITS_FOR_EVER = """
h = opened(wait_for_store=True)
number = 0
while number < 60:  # as many as are reflected on in a moment; then it waits to be killed
    number += 1
    task = f"Load table {name} {number} and tell me the total"
    say("run", h.submit(csv_run(f"{name}_{number}", task=task)))
__import__("time").sleep(600)
"""


class HeldBack:
    """Reflects by rules, but not before it may: what is seen until then is what was left."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self._rules = RuleReflector()

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        assert self.may.wait(60)
        return self._rules.reflect(trajectory, known, now)


def reopened(folder: Path, reflector: Any) -> Hindsight:
    return Hindsight.open(
        folder,
        namespace=NAMESPACE,
        settings=Settings(poll_seconds=0.05, drain_seconds=1.0),
        embedder=HashingEmbedder(),
        reflector=reflector,
    )


def assert_nothing_is_half_done(h: Hindsight, memories: dict[str, Memory]) -> None:
    assert half_done(h, memories) == []
    active = Counter(m.content for m in memories.values() if m.status == "active")
    assert [content for content, count in active.items() if count > 1] == []
    for name in {content.split()[3] for content in active if content.startswith("The build of")}:
        times = [content for content in active if content.startswith(f"The build of {name} takes")]
        assert len(times) == 1


def assert_learned_once(h: Hindsight, runs: Sequence[str], memories: dict[str, Memory]) -> None:
    assert wrongly_learned(h, runs, memories) == ([], [])


def kill_again_and_again(folder: Path, start: Start, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    runs: list[str] = []
    stored: list[str] = []
    for number in range(kills):
        child = start(WORKS_FOR_EVER, f"p{number}")
        for line in killed_somewhere(child, rng, 30):
            kind, id_ = line.split()
            (runs if kind == "run" else stored).append(id_)
        reflector = HeldBack()
        with reopened(folder, reflector) as h:
            memories = everything(h)
            assert_nothing_is_half_done(h, memories)
            assert set(stored) <= set(memories)
            for run_id in runs:
                assert h._engine.journal.get_run(h.namespace, run_id) is not None
            reflector.may.set()
            # What was not reflected on may stay so for the next process, every second time.
            if number % 2 or number == kills - 1:
                assert h.flush(60)
                memories = everything(h)
                assert_nothing_is_half_done(h, memories)
                assert_learned_once(h, runs, memories)
    assert len(runs) >= kills
    assert stored


def test_whatever_was_acknowledged_survives_kills_and_nothing_stays_half_done(
    folder: Path, start: Start
) -> None:
    kill_again_and_again(folder, start, kills=4, seed=7)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not os.environ.get("HINDSIGHT_TEST_LONG"), reason="takes minutes")
@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills_in_a_row_lose_and_double_nothing(
    folder: Path, start: Start, seed: int
) -> None:
    kill_again_and_again(folder, start, kills=20, seed=seed)


def test_runs_of_killed_processes_beside_the_owner_are_learned_once(
    folder: Path, start: Start
) -> None:
    rng = random.Random(11)
    reflector = HeldBack()
    reflector.may.set()
    with reopened(folder, reflector) as h:
        children = [start(SUBMITS_FOR_EVER, f"q{number}") for number in range(3)]
        runs = [line.split()[1] for child in children for line in killed_somewhere(child, rng, 8)]
        assert runs
        assert h.flush(90)
        memories = everything(h)
        assert_nothing_is_half_done(h, memories)
        assert_learned_once(h, runs, memories)


def test_a_change_that_was_planned_and_not_made_is_made_before_anything_is_read(
    folder: Path, start: Start
) -> None:
    child = start(
        """
from hindsight_core.store.base import Patch
from hindsight_core.store.edge import EdgeStore
h = opened()
say(h.store("The build takes 5 minutes").id)
execute = EdgeStore.execute
def dies(self, op):
    if isinstance(op, Patch):
        os._exit(1)
    return execute(self, op)
EdgeStore.execute = dies
h.store("The build takes 9 minutes")
"""
    )
    old = line_of(child)
    assert child.wait(60) == 1
    with reopened(folder, HeldBack()) as h:
        memories = everything(h)
        assert memories[old].status == "superseded"
        assert_nothing_is_half_done(h, memories)
        assert len(memories) == 2


def test_a_planned_change_that_can_not_be_read_holds_up_nothing(folder: Path) -> None:
    with reopened(folder, HeldBack()) as h:
        h._engine.journal.plan_changes(h.namespace, None, b"damaged", [], now=h._engine.clock())
    with reopened(folder, HeldBack()) as h:
        assert h._engine.journal.unapplied() == ()
        assert h.store("The build takes 5 minutes")
