"""The benchmark of what the adapter adds to a run, at a small size."""

from __future__ import annotations

from benchmarks.adapters.llamaindex import run


def test_the_answer_does_not_wait_for_reflection() -> None:
    found = run(rounds=1, reflection_seconds=600.0)
    rows = {row["system"]: row for row in found["rows"]}
    assert list(rows) == ["bare", "recorded", "memory", "both"]
    assert rows["bare"]["own_ms_p50"] == 0.0
    assert rows["recorded"]["own_ms_p50"] > 0.0
    assert rows["both"]["own_ms_p50"] > 0.0
