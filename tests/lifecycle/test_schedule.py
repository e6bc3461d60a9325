"""The worker tends memory after runs, when the settings want that."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from taught_runs import contents, open_in, teaching

from hindsight_core.errors import ConfigurationError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.episodes import MARK
from hindsight_core.models import Evidence
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.settings import Settings
from hindsight_core.testing import FrozenClock

SOON = Profile.from_mapping({"name": "soon", "lifecycle": {"consolidate_episodes": 2}})
DAILY = Settings(drain_seconds=2.0, tend_hours=24.0)


def lived(h: Hindsight, run_id: str) -> None:
    h.submit(teaching(run_id, f"Run {run_id} was fine"))
    assert h.flush(30)


def test_the_worker_maintains_once_a_day(tmp_path: Path, clock: FrozenClock) -> None:
    with open_in(tmp_path, clock, settings=DAILY) as h:
        lived(h, "r1")
        h.store("Alice is in Beijing", valid_until=clock() + timedelta(hours=2))
        clock.advance(hours=3)
        lived(h, "r2")
        assert "Alice is in Beijing" in contents(h)
        clock.advance(hours=22)
        lived(h, "r3")
        assert "Alice is in Beijing" not in contents(h)


def test_the_worker_consolidates_when_enough_has_happened(
    tmp_path: Path, clock: FrozenClock
) -> None:
    with open_in(tmp_path, clock, settings=DAILY, profile=SOON) as h:
        for n, word in enumerate(("", " text")):
            h.store(
                f"When read_csv fails to decode{word}, pass encoding gb18030",
                category="rule", source="agent_inference", evidence=[Evidence(f"e{n}")],
            )  # fmt: skip
        lived(h, "r1")
        assert len(h.list(categories=("rule",)).memories) == 2
        for n in range(2):
            h.store(f"Episode {n} of file{n}", category="experience", kind="episodic")
        clock.advance(hours=25)
        lived(h, "r2")
        rules = h.list(categories=("rule",)).memories
        (made,) = [rule for rule in rules if MARK in rule.metadata]
        assert {evidence.run_id for evidence in made.evidence} == {"e0", "e1"}


def test_tending_that_fails_is_noted_and_leaves_the_run_alone(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailableError("gone")

    monkeypatch.setattr("hindsight_core.verbs.consolidating.tend_when_due", away)
    with open_in(tmp_path, clock, settings=DAILY) as h:
        lived(h, "r1")
        assert h.stats().journal.learned == 1
        assert h.stats().failures["tending"] == 1


def test_without_the_setting_nothing_is_tended(tmp_path: Path, clock: FrozenClock) -> None:
    with open_in(tmp_path, clock) as h:
        h.store("Alice is in Beijing", valid_until=clock() + timedelta(hours=2))
        clock.advance(days=30)
        lived(h, "r1")
        assert "Alice is in Beijing" in contents(h)


def test_hours_below_zero_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="tend_hours"):
        Settings(tend_hours=-1.0)
