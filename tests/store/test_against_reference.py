"""Any sequence of operations gives the same answers as the reference."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from backends import BACKENDS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference_store import ReferenceStore
from store_values import ALICE, BOB, NOON, SCHEMA, change, memory, unit

from hindsight_core.models import Evidence, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import (
    Count,
    DenseLane,
    Facet,
    Get,
    Hit,
    MemoryFilter,
    MemoryStore,
    OrderedLane,
    Patch,
    Point,
    Purge,
    Put,
    Record,
    Scroll,
    Search,
    SparseLane,
    SparseVector,
)

ENGINES = [name for name in BACKENDS if name != "loopback"]  # that one is local mode again
EVERYTHING = 1_000
SPACES = (ALICE, BOB, Namespace.of("acme/alice"))
IDS = ("m1", "m2", "m3", "../x", "号")
MOMENTS = tuple(NOON + timedelta(days=d, microseconds=d) for d in (-700_000, -1, 0, 1, 2_900_000))

spaces = st.sampled_from(SPACES)
ids = st.sampled_from(IDS)
moments = st.sampled_from(MOMENTS)
maybe = st.none() | moments
shares = st.sampled_from((0.0, 0.1 + 0.2, 0.3, 0.7, 1.0))
few = st.lists(st.sampled_from(("a", "b", "米制")), max_size=2, unique=True).map(tuple)
content = st.sampled_from(("alpha beta", "Beta, gamma!", "用户喜欢米制", "alpha2 \x00 x_y"))
task_types = st.sampled_from(("general", "coding"))
outcomes = st.sampled_from(("success", "failure"))
statuses = st.sampled_from(("active", "archived", "superseded"))
kinds = st.sampled_from(("episodic", "semantic"))
runs = st.sampled_from(("run_1", "run_2"))
vectors = st.tuples(*[st.integers(-3, 3)] * 4).filter(any).map(lambda v: unit(tuple(map(float, v))))
terms = st.dictionaries(st.integers(0, 4), st.sampled_from((0.5, 1.0, 2.0)), max_size=4)
sparse = terms.map(lambda t: SparseVector(tuple(t), tuple(t.values())))

memories = st.builds(
    memory,
    ids,
    spaces,
    content=content,
    kind=kinds,
    task_type=task_types,
    outcome=outcomes,
    status=statuses,
    tags=few,
    domain=st.sampled_from(("", "law")),
    confidence=shares,
    importance=shares,
    event_time=moments,
    last_accessed_at=maybe,
    valid_until=maybe,
    evidence=st.lists(runs, max_size=2).map(lambda r: tuple(Evidence(x, (1,)) for x in r)),
    version=st.integers(1, 3),
    metadata=st.dictionaries(st.text(max_size=3), st.floats(-1e9, 1e9), max_size=2).map(
        lambda d: {k.replace("\x00", ""): v for k, v in d.items()}
    ),
)
changes = st.lists(st.builds(change, st.integers(2, 4)), max_size=2).map(tuple)
points = st.builds(Point, memories, vectors, sparse, changes)
filters = st.builds(
    MemoryFilter,
    namespaces=st.lists(spaces, min_size=1, max_size=2, unique=True).map(tuple),
    statuses=st.sampled_from(((), ("active",), ("active", "archived"))),
    ids=st.just(()) | st.lists(ids, max_size=3).map(tuple),
    kinds=st.just(()) | kinds.map(lambda k: (k,)),
    task_types=st.just(()) | task_types.map(lambda t: (t,)),
    tags=st.just(()) | few,
    domains=st.sampled_from(((), ("bank",), ("law",), ("bank", "law"))),
    outcomes=st.just(()) | outcomes.map(lambda o: (o,)),
    run_id=st.just("") | runs,
    keywords=st.lists(st.sampled_from(("ALPHA", "beta", "米制", "x", "!")), max_size=2).map(
        lambda words: tuple(w for w in words if w != "!")
    ),
    since=st.none() | moments,
    until=st.none() | moments,
    valid_at=st.none() | moments,
    min_confidence=st.just(0.0) | shares,
)
limits = st.sampled_from((1, 2, 50))
lanes = st.one_of(
    st.builds(DenseLane, vectors, limits, st.none() | filters),
    st.builds(SparseLane, sparse, limits, st.none() | filters),
    st.builds(
        OrderedLane,
        st.sampled_from(("event_time", "importance", "last_accessed_at", "created_at")),
        limits,
        st.none() | filters,
    ),
)
operations = st.one_of(
    st.builds(Put, st.lists(points, min_size=1, max_size=4).map(tuple)),
    st.builds(Patch, memories, changes, st.none() | st.integers(1, 3)),
    st.builds(Get, st.lists(spaces, min_size=1, max_size=2).map(tuple), st.lists(ids).map(tuple)),
    st.builds(Search, filters, st.lists(lanes, max_size=4).map(tuple), st.booleans()),
    st.builds(Scroll, filters, st.integers(1, 4)),
    st.builds(Count, filters),
    st.builds(Facet, filters, st.sampled_from(("kind", "status", "task_type", "domain"))),
    st.builds(Purge, filters),
)


@pytest.mark.parametrize("backend", ENGINES, indirect=True)
@settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=st.lists(points, min_size=3, max_size=12), ops=st.lists(operations, max_size=14))
def test_any_operations_answer_as_the_reference_does(
    backend: MemoryStore, first: list[Point], ops: list[Any]
) -> None:
    reference = ReferenceStore(SCHEMA)
    backend.execute(Purge(whole_store=True))
    for op in (Put(tuple(first)), *ops, *(Scroll(_all_of(space), 3) for space in SPACES)):
        expected = reference.execute(op)
        if isinstance(op, Search):
            _compare_search(op, backend.execute(op), expected, reference)
        elif isinstance(op, Scroll):
            found = list(_pages(backend, op))
            assert len(found) == len({(r.memory.namespace, r.memory.id) for r in found})
            assert sorted(found, key=repr) == sorted(expected.records, key=repr)
        else:
            assert backend.execute(op) == expected


def _all_of(space: Namespace) -> MemoryFilter:
    return MemoryFilter(namespaces=(space,), statuses=())


def _pages(store: MemoryStore, op: Scroll) -> Iterator[Record]:
    cursor = None
    while True:
        page = store.execute(Scroll(op.where, op.limit, cursor))
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return


def _compare_search(
    op: Search,
    found: tuple[tuple[Hit, ...], ...],
    expected: tuple[tuple[Hit, ...], ...],
    reference: ReferenceStore,
) -> None:
    """Compare ranks by value, since equals may come in any order."""
    assert len(found) == len(expected) == len(op.lanes)
    for lane, ours, theirs in zip(op.lanes, found, expected, strict=True):
        assert len(ours) == len(theirs)
        if isinstance(lane, OrderedLane):
            assert [getattr(h.memory, lane.by) for h in ours] == [
                getattr(h.memory, lane.by) for h in theirs
            ]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-5)
        everything = reference.execute(
            Search(op.where, (type(lane)(_asked(lane), EVERYTHING, lane.where),))
        )[0]
        known = {_key(h.memory): h for h in everything}
        for hit in ours:
            twin = known[_key(hit.memory)]
            assert hit.memory == twin.memory
            assert hit.score == pytest.approx(twin.score, abs=1e-5)
            assert hit.dense == pytest.approx(twin.dense if op.with_vectors else (), abs=1e-6)


def _asked(lane: Any) -> Any:
    return lane.by if isinstance(lane, OrderedLane) else lane.vector


def _key(found: Memory) -> tuple[str, str]:
    return found.namespace.key, found.id
