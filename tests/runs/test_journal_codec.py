"""Trajectories as bytes and back."""

from __future__ import annotations

import zlib
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import TrajectoryError
from hindsight_core.runs.codec import decode_trajectory, encode_trajectory, json_safe
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import csv_run
from hindsight_core.trajectory import OUTCOME_LABELS, OUTCOME_SOURCES, Outcome, Trajectory

texts = st.text(st.characters(), max_size=20) | st.text(
    st.sampled_from('\ud83d\ude00\udfff\ud800\x00\n"\\é中'), max_size=8
)
moments = st.none() | st.datetimes(
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
    min_value=datetime(2, 1, 1),
    max_value=datetime(9998, 1, 1),
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
steps = st.builds(
    Step,
    kind=st.sampled_from(["system", "user", "assistant", "tool_result", "error", "note"]),
    text=texts,
    tool_calls=st.lists(
        st.builds(ToolCall, id=texts, name=texts, arguments=objects), max_size=2
    ).map(tuple),
    tool_call_id=texts,
    tool_name=texts,
    is_error=st.booleans(),
    agent=texts,
    at=moments,
)
trajectories = st.builds(
    Trajectory,
    run_id=texts.filter(str.strip),
    steps=st.lists(steps, max_size=4).map(tuple),
    outcome=st.builds(
        Outcome, st.sampled_from(OUTCOME_LABELS), st.sampled_from(OUTCOME_SOURCES), texts
    ),
    task=texts,
    task_type=texts,
    session_id=texts,
    started_at=moments,
    ended_at=moments,
    metadata=objects,
)


@given(trajectories)
def test_every_trajectory_comes_back_exactly(trajectory: Trajectory) -> None:
    assert decode_trajectory(encode_trajectory(trajectory)) == trajectory


def test_two_neighboring_surrogates_stay_two() -> None:
    text = "\ud83d\ude00"
    back = decode_trajectory(encode_trajectory(Trajectory(text + "x", (Step("user", text=text),))))
    assert [len(back.run_id), len(back.steps[0].text)] == [3, 2]


def test_a_huge_text_comes_back_and_is_packed() -> None:
    text = "line of a log\x00\n" * 400_000
    data = encode_trajectory(Trajectory("huge", (Step("tool_result", text=text),)))
    assert len(data) < len(text) / 50
    assert decode_trajectory(data).steps[0].text == text


def test_what_is_not_json_safe_is_brought_into_that_form_by_one_rule() -> None:
    given_values = {
        "when": datetime(2026, 1, 5, tzinfo=UTC),
        "day": date(2026, 1, 5),
        "raw": b"\xffabc",
        "set": {"b", "a"},
        "pair": (1, MappingProxyType({2: None})),
        "other": Decimal("1.5"),
        (1, 2): True,
    }
    safe = {
        "when": "2026-01-05T00:00:00+00:00",
        "day": "2026-01-05",
        "raw": "\\xffabc",
        "set": ["a", "b"],
        "pair": [1, {"2": None}],
        "other": "1.5",
        "[1, 2]": True,
    }
    assert json_safe(given_values) == safe
    run = Trajectory("r", (), metadata=given_values)  # type: ignore[arg-type]
    assert decode_trajectory(encode_trajectory(run)).metadata == safe


@pytest.mark.parametrize("damaged", [b"", b"junk", zlib.compress(b"[1]"), zlib.compress(b"{}")])
def test_damaged_bytes_are_refused_as_such(damaged: bytes) -> None:
    with pytest.raises(TrajectoryError, match="damaged"):
        decode_trajectory(damaged)


def test_a_bit_that_flipped_is_noticed() -> None:
    data = bytearray(encode_trajectory(csv_run()))
    data[len(data) // 2] ^= 1
    with pytest.raises(TrajectoryError, match="damaged"):
        decode_trajectory(bytes(data))


def test_metadata_in_a_circle_are_refused_with_the_run_named() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(TrajectoryError, match="'run_x' can't be written down"):
        encode_trajectory(Trajectory("run_x", (), metadata=circle))


def test_an_integer_too_long_to_be_written_is_refused() -> None:
    with pytest.raises(TrajectoryError, match="can't be written down"):
        encode_trajectory(Trajectory("r", (), metadata={"n": 10**5000}))
