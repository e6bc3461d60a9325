"""Nothing is lost in the small either, and what is lost would be counted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_figures import Runner, rows_of

from benchmarks.sets import soak
from benchmarks.soak.crowds import many_at_once
from benchmarks.soak.failures import MODELS, failing_model, failing_store
from benchmarks.soak.kills import opened
from benchmarks.soak.ledger import Tally, everything, half_done, wrongly_learned
from hindsight_core import Hindsight
from hindsight_core.models import Memory
from hindsight_core.testing import csv_run


@pytest.fixture
def h(tmp_path: Path) -> Iterator[Hindsight]:
    with opened(tmp_path / "memory") as memory:
        yield memory


@pytest.mark.timeout(120)
def test_one_kill_and_a_few_seconds_of_everything_lose_nothing(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "SECONDS_PER_KILL", 1)
    figures = run("soak", "--limit", "1")
    rows = rows_of(figures)
    assert len(rows) == 3 + len(MODELS) + 1
    for row in rows.values():
        assert row["acknowledged"] > 0
        assert row["lost"] == row["duplicated"] == row["half_done"] == row["disturbed"] == 0
    assert rows["all (limit 1)"]["acknowledged"] == figures["n"]


def test_what_was_acknowledged_and_is_not_there_is_lost(h: Hindsight) -> None:
    kept = h.store("The build takes 5 minutes").id
    h.reflect(csv_run("run_1"))
    tally = Tally(disturbed=2).settle(h, [kept, "gone"], ["run_1", "run_2"])
    assert tally == Tally(acknowledged=4, lost=2, disturbed=2)


def test_what_stands_there_twice_is_counted(h: Hindsight) -> None:
    reflection = h.reflect(csv_run("run_1"))
    (story,) = (memory for memory in reflection.memories if memory.category == "experience")
    twice = {"one": story, "two": replace(story, id="two")}
    assert wrongly_learned(h, ["run_1"], twice)[1] == ["run_1"]


def test_changes_of_which_a_part_is_missing_are_found(h: Hindsight) -> None:
    old = h.store("The port of the server is 8080")
    new = h.store("The port of the server is 9090")
    memories = everything(h)
    assert half_done(h, memories) == []
    stands: Memory = replace(memories[old.id], status="active")
    assert half_done(h, {**memories, old.id: stands}) == [
        f"{old.id} is replaced by {new.id} and stands all the same"
    ]
    unlinked = replace(memories[new.id], supersedes=())
    assert half_done(h, {**memories, new.id: unlinked}) == [f"nothing replaces {old.id}"]
    h._engine.journal.plan_changes(h.namespace, None, b"x", [], now=h._engine.clock())
    assert any("not applied" in found for found in half_done(h, memories))


def test_an_agent_that_memory_disturbs_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(Hindsight, "brief", raises)
    monkeypatch.setattr(Hindsight, "submit", raises)
    assert failing_store(tmp_path / "store", 2).disturbed == 4


def test_a_writer_that_is_disturbed_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(Hindsight, "store", raises)
    monkeypatch.setattr(Hindsight, "astore", raises)
    monkeypatch.setattr(time, "sleep", raises)
    assert many_at_once(tmp_path / "memory", 0.0).disturbed == 16


def test_a_model_that_never_gets_well_loses_what_it_should_have_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.soak.failures.ONE_LESSON", "still rubbish")
    tally = failing_model(tmp_path / "memory", MODELS["returns rubbish"], 1)
    assert (tally.acknowledged, tally.lost) == (1, 1)
