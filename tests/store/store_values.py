"""Memories, points and questions that the tests of the stores share."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from hindsight_core.models import Change, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import (
    DenseLane,
    MemoryFilter,
    Point,
    Schema,
    Search,
    SparseVector,
    Vector,
)

SCHEMA = Schema("hashing", 4)
ALICE = Namespace.of(("acme", "alice"))
BOB = Namespace.of(("acme", "bob"))
WORDS = SparseVector((7,), (1.0,))
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def memory(id_: str = "mem_1", namespace: Namespace = ALICE, **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "content": "the user prefers metric units",
        "kind": "semantic",
        "category": "preference",
        "event_time": NOON,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return Memory(id=id_, namespace=namespace, **{**values, **fields})


def point(
    id_: str = "mem_1",
    namespace: Namespace = ALICE,
    *,
    dense: Vector = (1.0, 0.0, 0.0, 0.0),
    sparse: SparseVector = WORDS,
    changes: tuple[Change, ...] = (),
    **fields: Any,
) -> Point:
    return Point(memory(id_, namespace, **fields), unit(dense), sparse, changes)


def unit(vector: Vector) -> Vector:
    norm = math.sqrt(sum(x * x for x in vector)) or 1.0
    return tuple(x / norm for x in vector)


def within(*namespaces: Namespace, **conditions: Any) -> MemoryFilter:
    return MemoryFilter(namespaces=namespaces or (ALICE,), **conditions)


def nearest(where: MemoryFilter, limit: int = 5, vector: Vector = (1.0, 0.0, 0.0, 0.0)) -> Search:
    return Search(where, (DenseLane(unit(vector), limit),))


def change(version: int = 2, **fields: Any) -> Change:
    values: dict[str, Any] = {
        "at": NOON,
        "reason": "feedback: failure of run_9",
        "run_id": "run_9",
        "before": {"confidence": 0.7},
    }
    return Change(version=version, **{**values, **fields})
