"""Maintenance is measured, killed and run again."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_figures import Runner, rows_of

from benchmarks.sets import maintain
from benchmarks.sets.maintain_jobs import fill, state


def test_a_store_that_was_killed_while_it_was_maintained_ends_like_the_other(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "KILLS", 1)
    monkeypatch.setattr(maintain, "OPENING", 0.0)
    figures = rows_of(run("maintain", "--limit", "300"))["300 memories"]
    assert figures["changed"] > 100
    assert figures["same_end"] == 1.0
    assert figures["killed"] == 1.0
    assert figures["seconds"] > 0


def test_a_limit_leaves_out_what_is_larger() -> None:
    assert list(maintain._sizes(None)) == [2_000, 20_000, 100_000]
    assert list(maintain._sizes(20_000)) == [2_000, 20_000]
    assert list(maintain._sizes(7)) == [7]


def test_the_state_of_a_store_tells_one_memory_more(tmp_path: Path) -> None:
    for name, count in (("one", 30), ("same", 30), ("more", 31)):
        fill(tmp_path / name, count)
    one, same, more = (state(tmp_path / name) for name in ("one", "same", "more"))
    assert one == same != more
