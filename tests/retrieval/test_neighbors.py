"""What a memory gains, or loses, by what stands beside it in the same run or session."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_core.models import Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.fusion import NEIGHBOR_WEIGHT, QueryShape, fuse
from hindsight_core.store.base import Hit

NOW = datetime(2026, 1, 5, tzinfo=UTC)
QUERY = QueryShape(1.0, question=True, foreign=False)


def hit(name: str, cosine: float, run: str = "", step: int = 0) -> Hit:
    memory = Memory(
        id=f"mem_{name}",
        namespace=Namespace.of("acme"),
        content=name,
        kind="semantic",
        category="fact",
        event_time=NOW,
        created_at=NOW,
        updated_at=NOW,
        evidence=(Evidence(run, (step,)),) if run else (),
    )
    return Hit(memory, cosine, (), cosine, 0.0)


def neighbors(*hits: Hit) -> dict[str, float]:
    return {found.hit.memory.content: found.neighbor for found in fuse(hits, QUERY)}


def test_an_answer_gains_by_the_question_beside_it() -> None:
    gains = neighbors(
        hit("question", 0.9, "s", 1), hit("answer", 0.3, "s", 2), hit("other", 0.4, "t", 7)
    )
    assert gains["answer"] == pytest.approx(NEIGHBOR_WEIGHT * (0.9 - 0.4) / 1.7)
    assert gains["question"] == 0.0  # what stands beside it is below the middle
    assert gains["other"] == 0.0


def test_between_two_that_say_nothing_a_memory_loses() -> None:
    gains = neighbors(
        hit("before", 0.1, "s", 1),
        hit("between", 0.8, "s", 2),
        hit("after", 0.2, "s", 3),
        hit("more", 0.6, "t", 1),
        hit("most", 0.7, "u", 1),
    )
    assert gains["between"] == pytest.approx(NEIGHBOR_WEIGHT * (0.2 - 0.6) / 1.7)


def test_steps_of_different_runs_are_no_neighbors() -> None:
    gains = neighbors(hit("one", 0.9, "s", 1), hit("two", 0.3, "t", 2), hit("three", 0.4))
    assert set(gains.values()) == {0.0}
