"""The raw log of runs: searchable on demand, dropped after its time."""

from __future__ import annotations

from hindsight_core.hindsight import Hindsight
from hindsight_core.testing import FrozenClock, corrected_run, csv_run


def test_the_raw_log_can_be_searched_on_demand(h: Hindsight) -> None:
    h.reflect(csv_run())
    (hit,) = h.search_log("can't decode byte 0xd4")
    assert (hit.run_id, hit.step) == ("run_csv", 2)
    assert h.scoped(("acme", "bob")).search_log("can't decode byte") == ()


def test_logs_past_their_retention_are_dropped_in_passing(h: Hindsight, clock: FrozenClock) -> None:
    h.reflect(csv_run())
    clock.advance(days=31)
    assert h.search_log("can't decode byte 0xd4")
    h.reflect(corrected_run())
    assert h.search_log("can't decode byte 0xd4") == ()
    assert h.search_log("metric units")
