"""Each hit brings both scores, whichever lane found it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reference_store import ReferenceStore
from store_values import SCHEMA, point, unit, within

from hindsight_core.store.base import (
    DenseLane,
    Hit,
    OrderedLane,
    Put,
    Search,
    SparseLane,
    SparseVector,
    StoreOp,
)

POINTS = tuple(
    point(
        f"mem_{i}",
        dense=(1.0, i / 3, (i % 4) / 2, 0.1),
        sparse=SparseVector((i % 3, 5 + i % 2), (0.5 + i / 10, 1.0)),
        importance=i / 20,
    )
    for i in range(12)
)
LANES = (
    DenseLane(unit((1.0, 0.2, 0.0, 0.0)), 3),
    SparseLane(SparseVector((2, 5), (1.0, 0.2)), 3),
    OrderedLane("importance", 3),
)


def scores(hits: tuple[Hit, ...]) -> dict[str, tuple[float, float]]:
    return {hit.memory.id: (hit.cosine or -9.0, hit.bm25 or 0.0) for hit in hits}


@pytest.mark.parametrize("lanes", [LANES, LANES[:2]], ids=["with an ordered lane", "without"])
def test_every_hit_brings_both_scores(
    call: Callable[[StoreOp[Any]], Any], lanes: tuple[Any, ...]
) -> None:
    reference = ReferenceStore(SCHEMA)
    search = Search(within(), lanes, exact=True)
    call(Put(POINTS))
    reference.execute(Put(POINTS))
    found, expected = call(search), reference.execute(search)
    for mine, theirs in zip(found, expected, strict=True):
        for memory_id, (cosine, bm25) in scores(mine).items():
            known = next(p for p in POINTS if p.memory.id == memory_id)
            assert memory_id == known.memory.id
            if memory_id in scores(theirs):
                assert cosine == pytest.approx(scores(theirs)[memory_id][0], abs=1e-5)
                assert bm25 == pytest.approx(scores(theirs)[memory_id][1], abs=1e-5)
    ids = {memory_id for hits in found for memory_id in scores(hits)}
    assert ids == {memory_id for hits in expected for memory_id in scores(hits)}


def test_a_hit_that_shares_no_term_has_a_score_of_zero_for_words(
    call: Callable[[StoreOp[Any]], Any],
) -> None:
    call(Put(POINTS))
    lanes = (LANES[0], SparseLane(SparseVector((99,), (1.0,)), 3))
    near, none = call(Search(within(), lanes, exact=True))
    assert none == ()
    assert {hit.bm25 for hit in near} == {0.0}
    assert all(hit.cosine == pytest.approx(hit.score) for hit in near)


def test_without_being_asked_no_hit_brings_both_scores(
    call: Callable[[StoreOp[Any]], Any],
) -> None:
    call(Put(POINTS))
    near, words = call(Search(within(), LANES[:2]))
    assert {(hit.cosine, hit.bm25) for hit in (*near, *words)} == {(None, None)}
