"""Memories, histories and points as JSON."""

from __future__ import annotations

import json
import math
import struct
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_values import ALICE, BOB, NOON, change, memory, point

from hindsight_core.errors import ConfigurationError, StoreCorruptError
from hindsight_core.models import Context, Evidence
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import SparseVector
from hindsight_core.store.payload import (
    changes_from_payload,
    changes_to_payload,
    json_safe,
    memory_from_payload,
    memory_from_stored,
    memory_to_payload,
    point_from_json,
    point_id,
    point_to_json,
    record_from_stored,
    stored_payload,
)
from hindsight_core.store.words import keyword_words, words_of


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Model(pydantic.BaseModel):
    name: str
    at: datetime


@dataclass
class Pair:
    left: int
    right: set[str]


CONVERSIONS: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (1.5, 1.5),
    (-0.0, -0.0),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (-math.inf, "-Infinity"),
    (2**63 - 1, 2**63 - 1),
    (2**63, "9223372036854775808"),
    (2**70, "1180591620717411303424"),
    (-(2**70), "-1180591620717411303424"),
    (10**5000, hex(10**5000)),
    ("plain \x00 text", "plain \x00 text"),
    ("a\ud800b🎉", "a�b🎉"),
    (datetime(2026, 1, 5, 14, tzinfo=timezone(timedelta(hours=2))), "2026-01-05T12:00:00+00:00"),
    (datetime(2026, 1, 5, 14), "2026-01-05T14:00:00"),
    (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "0001-01-01T00:00:00+02:00"),
    (date(2026, 1, 5), "2026-01-05"),
    (time(14, 30), "14:30:00"),
    (timedelta(minutes=1.5), 90.0),
    (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (PurePosixPath("/etc/hosts"), "/etc/hosts"),
    (Decimal("1.10"), "1.10"),
    (Fraction(1, 3), "1/3"),
    (Color.RED, "red"),
    (Level.HIGH, "3"),
    (b"\xff\x00", "base64:/wA="),
    (bytearray(b"a"), "base64:YQ=="),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({1, "1"}, ["1", 1]),
    ((1, (2, 3)), [1, [2, 3]]),
    (np.float32(0.5), 0.5),
    (np.int64(7), 7),
    (np.bool_(True), True),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.float64("nan"), "NaN"),
    (Model(name="n", at=NOON), {"name": "n", "at": "2026-01-05T12:00:00+00:00"}),
    (Pair(1, {"x"}), {"left": 1, "right": ["x"]}),
    (
        {1: "a", None: "b", Color.RED: "c", 2.5: "d"},
        {"1": "a", "null": "b", "red": "c", "2.5": "d"},
    ),
    ({uuid.UUID(int=1): {"deep": [{1}]}}, {str(uuid.UUID(int=1)): {"deep": [[1]]}}),
]


@pytest.mark.parametrize(("value", "expected"), CONVERSIONS, ids=range(len(CONVERSIONS)))
def test_any_usual_value_becomes_json_in_one_documented_way(value: Any, expected: Any) -> None:
    converted = json_safe(value, name="metadata")

    assert converted == expected
    assert type(converted) is type(expected)
    assert json_safe(converted, name="metadata") == converted
    assert json.loads(json.dumps(converted, allow_nan=False)) == expected


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (object(), "metadata is of type object"),
        ({"a": [1, object()]}, r"metadata\.a\[1\] is of type object"),
        ({"f": len}, r"metadata\.f is of type builtin_function_or_method"),
        ({"m": Model}, r"metadata\.m is of type ModelMetaclass"),
        ({"p": Pair}, r"metadata\.p is of type type"),
        ({(1, 2): "x"}, "metadata has a key of type tuple"),
        ({1: "a", "1": "b"}, "two keys that both become '1'"),
    ],
)
def test_what_has_no_json_form_is_refused_by_name(value: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        json_safe(value, name="metadata")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop

    with pytest.raises(
        ConfigurationError, match="nested more than 32 levels deep or contains itself"
    ):
        json_safe(loop, name="metadata")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(json_values)
def test_the_rule_is_idempotent_and_always_json(value: Any) -> None:
    once = json_safe(value, name="v")

    assert json_safe(once, name="v") == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once


@given(
    content=st.text(min_size=1).filter(str.strip),
    number=st.floats(0, 1),
    metadata=st.dictionaries(st.text(), json_values, max_size=3),
    moment=st.datetimes(timezones=st.just(UTC)),
    tags=st.lists(st.text(), max_size=3).map(tuple),
)
def test_a_memory_survives_both_forms_exactly(
    content: str,
    number: float,
    metadata: dict[str, Any],
    moment: datetime,
    tags: tuple[str, ...],
) -> None:
    known = memory(
        content=content.encode("utf-8", "replace").decode(),
        confidence=number,
        metadata=json_safe(metadata, name="metadata"),
        event_time=moment,
        valid_until=moment,
        tags=tags,
        evidence=(Evidence("r", (1, 2)),),
        context=Context(("t",), {"p": [1.5]}, "in", "out"),
    )

    assert memory_from_payload(json.loads(json.dumps(memory_to_payload(known)))) == known
    assert memory_from_stored(stored_payload(known, ())) == known


def test_a_defaulted_memory_survives_too_and_shares_nothing_that_can_change() -> None:
    first = memory_from_stored(stored_payload(memory(), ()))
    second = memory_from_stored(stored_payload(memory(), ()))

    assert first == second == memory()
    assert first.metadata is not second.metadata


def test_a_payload_has_every_field_under_its_own_name() -> None:
    payload = memory_to_payload(memory(valid_until=NOON))

    assert payload["namespace"] == "acme/alice"
    assert payload["valid_until"] == "2026-01-05T12:00:00+00:00"
    assert payload["last_accessed_at"] is None
    assert set(payload) == set(memory().__slots__)


def test_a_change_can_be_undone_by_laying_its_before_over_the_payload() -> None:
    now = memory(confidence=0.2, tags=("new",), status="superseded", version=2)
    before = {"confidence": 0.7, "tags": ["old"], "status": "active"}

    undone = memory_from_payload({**memory_to_payload(now), **before})

    assert (undone.confidence, undone.tags, undone.status) == (0.7, ("old",), "active")


def test_absent_and_unknown_fields_of_a_payload_are_tolerated() -> None:
    payload = {**memory_to_payload(memory()), "color": "blue"}
    for name in ("tags", "context", "metadata", "access_count", "last_accessed_at"):
        del payload[name]

    assert memory_from_payload(payload) == memory()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"namespace": None}, "can't be read"),
        ({"event_time": None}, "event_time"),
        ({"event_time": "yesterday"}, "yesterday"),
        ({"event_time": "2026-01-05T12:00:00"}, "no time zone"),
        ({"content": " "}, "blank"),
        ({"confidence": "high"}, "can't be read"),
        ({"evidence": [{}]}, "no 'run_id'"),
        ({"kind": "odd"}, "kind 'odd' is not known"),
        ({"tags": 7}, "can't be read"),
    ],
)
def test_an_edited_payload_is_refused_with_the_memory_s_id(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"memory 'mem_1' can't be read.*{said}|{said}"):
        memory_from_payload({**memory_to_payload(memory()), **fields})


def test_a_payload_without_a_namespace_or_id_is_refused() -> None:
    for name in ("namespace", "id", "content"):
        payload = memory_to_payload(memory())
        del payload[name]
        with pytest.raises(ConfigurationError, match=name):
            memory_from_payload(payload)


def test_a_history_survives_and_a_broken_one_is_refused() -> None:
    history = (change(2), change(3, before={"tags": ["a"], "valid_until": None}))

    assert changes_from_payload(json.loads(json.dumps(changes_to_payload(history)))) == history
    with pytest.raises(ConfigurationError, match="no 'before'"):
        changes_from_payload([{"version": 1, "at": "2026-01-05", "reason": "", "run_id": ""}])
    with pytest.raises(ConfigurationError, match="a history can't be read"):
        changes_from_payload([{"version": "x"}])


def test_a_point_survives_json_with_its_vectors_to_float_precision() -> None:
    known = point(
        dense=(0.1, -0.7, 0.3, 1e-9),
        sparse=SparseVector((3, 4294967295), (0.1, 2.0)),
        changes=(change(),),
    )

    back = point_from_json(json.loads(json.dumps(point_to_json(known))))

    assert replace(back, dense=()) == replace(known, dense=())
    assert back.dense == tuple(struct.unpack("<4f", struct.pack("<4f", *known.dense)))


@pytest.mark.parametrize(
    "broken",
    [{}, {"dense": "?", "sparse": {"indices": [], "values": []}}, {"dense": "AAA=", "sparse": 1}],
)
def test_a_broken_point_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="a point can't be read"):
        point_from_json(broken)


def test_a_point_id_is_stable_and_differs_by_namespace_and_id() -> None:
    assert point_id(ALICE, "m") == point_id(Namespace.of(["acme", "alice"]), "m")
    assert uuid.UUID(point_id(ALICE, "x" * 200)).version == 5
    pairs = [
        (ALICE, "m"),
        (BOB, "m"),
        (ALICE, "m2"),
        (Namespace.of("a"), "b\nc"),
        (Namespace.of("a"), "b"),
    ]
    assert len({point_id(*pair) for pair in pairs}) == len(pairs)


@pytest.mark.parametrize("id_", ["", "  ", None, 7, "a\ud800"])
def test_an_id_that_is_no_text_is_refused(id_: Any) -> None:
    with pytest.raises(ConfigurationError, match="memory id"):
        point_id(ALICE, id_)


def test_a_stored_form_has_no_boolean_and_nothing_nested() -> None:
    stored = stored_payload(memory(metadata={"flag": True}, evidence=(Evidence("r"),)), (change(),))

    for value in stored.values():
        assert not isinstance(value, (bool, dict))
        assert not isinstance(value, list) or all(isinstance(item, str) for item in value)


@pytest.mark.parametrize(
    "damage",
    [
        None,
        {},
        {"body": ""},
        {"body": "[]"},
        {"body": "{"},
        {"body": 7},
        {"body": '{"id": "m"}'},
        {"body": json.dumps({**memory_to_payload(memory()), "updated_at": None})},
        {"body": json.dumps({**memory_to_payload(memory()), "evidence": [1]})},
    ],
)
def test_a_damaged_stored_form_is_told_as_damage(damage: dict[str, Any] | None) -> None:
    with pytest.raises(StoreCorruptError, match="a stored memory can't be read"):
        memory_from_stored(damage)


@pytest.mark.parametrize("history", ["{", "[1]", '[{"version": 1}]'])
def test_a_damaged_history_is_told_as_damage(history: str) -> None:
    stored = {**stored_payload(memory(), ()), "history": history}

    with pytest.raises(StoreCorruptError, match="the history of memory 'mem_1' can't be read"):
        record_from_stored(stored)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Use UTF-8, always_now!", {"use", "utf", "8", "always", "now"}),
        ("Straße ＡＢＣ", {"strasse", "abc"}),
        ("米制", {"米", "制", "米制"}),
        ("カ", {"カ"}),
        ("v2米", {"v2", "米"}),
        ("  !?", set()),
    ],
)
def test_words_are_runs_of_letters_or_neighbours_of_unspaced_scripts(
    text: str, words: set[str]
) -> None:
    assert words_of(text) == words


@given(st.text(), st.text(), st.text())
def test_a_keyword_cut_from_a_text_at_its_spaces_matches_it(a: str, b: str, c: str) -> None:
    assert keyword_words(b) <= words_of(f"{a} {b} {c}")
