"""What every store does alike: one suite over all of them, sync and async."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from store_values import ALICE, BOB, NOON, WORDS, change, memory, nearest, point, unit, within

from hindsight_core.errors import ConfigurationError, NamespaceError, StoreError
from hindsight_core.models import Context, Evidence
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import (
    Count,
    DenseLane,
    Facet,
    Get,
    MemoryFilter,
    MemoryStore,
    OrderedLane,
    Patch,
    Purge,
    Put,
    Scroll,
    Search,
    SparseLane,
    SparseVector,
    StoreOp,
)

Call = Callable[[StoreOp[Any]], Any]


def test_a_memory_comes_back_as_it_was_with_its_history(call: Call) -> None:
    full = memory(
        "mem_full",
        content="用户喜欢 metric\x00 units 🎉",
        task_type="writing",
        task_description="convert a recipe",
        applies_when="cooking",
        not_when="in the US",
        context=Context(("read", "write"), {"deep": {"list": [1, 2.5, None]}}, "in", "out"),
        outcome="failure",
        confidence=0.8499999999999999,
        importance=9.385958677423489e-21,
        source="user_feedback",
        tags=("units", "单位"),
        domain="kitchen",
        evidence=(Evidence("run_1", (0, 3)), Evidence("run_2")),
        supersedes=("mem_a", "mem_b"),
        superseded_by="mem_c",
        status="superseded",
        last_accessed_at=NOON,
        valid_until=NOON + timedelta(microseconds=1),
        access_count=3,
        success_count=2,
        failure_count=1,
        version=7,
        metadata={"note": "kept", "n": 0.1},
    )
    changes = (change(2), change(3, before={"tags": ["a"]}, run_id=""))
    call(Put((replace(point(), memory=full, changes=changes),)))

    (record,) = call(Get((ALICE,), ("mem_full",)))

    assert record.memory == full
    assert record.changes == changes


@pytest.mark.parametrize(
    "id_", ["run-42", "x" * 200, "../x", "with space", "号", "a/b?c#d%2F", "'; DROP TABLE", "\x00"]
)
def test_any_text_works_as_an_id_and_comes_back_unchanged(call: Call, id_: str) -> None:
    call(Put((point(id_), point(id_ + "-other"))))

    (record,) = call(Get((ALICE,), (id_,)))

    assert record.memory.id == id_
    assert call(Count(within(ids=(id_,)))) == 1


def test_the_same_id_again_replaces_the_memory_and_its_vectors(call: Call) -> None:
    call(Put((point(content="old", dense=(1.0, 0.0, 0.0, 0.0)),)))
    call(Put((point(content="older"), point(content="new", dense=(0.0, 1.0, 0.0, 0.0)))))

    ((hit,),) = call(nearest(within(), vector=(0.0, 1.0, 0.0, 0.0)))

    assert hit.memory.content == "new"
    assert hit.score == pytest.approx(1.0)
    assert call(Count(within())) == 1


def test_the_same_id_in_two_namespaces_is_two_memories(call: Call) -> None:
    call(Put((point("m", ALICE, content="alice's"), point("m", BOB, content="bob's"))))

    assert [r.memory.content for r in call(Get((BOB,), ("m",)))] == ["bob's"]
    assert [r.memory.content for r in call(Get((BOB, ALICE), ("m",)))] == ["bob's", "alice's"]


def test_get_keeps_the_order_asked_for_and_leaves_out_what_is_not_there(call: Call) -> None:
    call(Put(tuple(point(f"m{i}", status="forgotten") for i in range(5))))

    found = call(Get((ALICE,), ("m3", "gone", "m0", "m4", "m3")))

    assert [r.memory.id for r in found] == ["m3", "m0", "m4"]
    assert call(Get((ALICE,), ())) == ()


def test_a_patch_changes_fields_and_history_and_leaves_the_vectors(call: Call) -> None:
    call(Put((point(valid_until=NOON, dense=(0.0, 1.0, 0.0, 0.0)),)))
    patched = memory(version=2, confidence=0.25, metadata={"k": "v"})

    assert call(Patch(patched, (change(),), expected_version=1)) is True

    (record,) = call(Get((ALICE,), ("mem_1",)))
    assert record.memory == patched
    assert record.changes == (change(),)
    ((hit,),) = call(nearest(within(), vector=(0.0, 1.0, 0.0, 0.0)))
    assert hit.score == pytest.approx(1.0)
    assert call(Count(within(valid_at=NOON))) == 1


def test_a_patch_of_another_version_changes_nothing(call: Call) -> None:
    call(Put((point(version=3),)))

    assert call(Patch(memory(version=3, content="lost"), (), expected_version=2)) is False

    (record,) = call(Get((ALICE,), ("mem_1",)))
    assert record.memory == memory(version=3)


def test_a_patch_of_what_is_not_there_changes_nothing(call: Call) -> None:
    assert call(Patch(memory(), (), expected_version=1)) is False
    assert call(Patch(memory(), ())) is False
    assert call(Count(within(statuses=()))) == 0


def test_a_patch_without_a_version_replaces_whatever_is_there(call: Call) -> None:
    call(Put((point(version=3),)))

    assert call(Patch(memory(version=9), ())) is True

    assert call(Get((ALICE,), ("mem_1",)))[0].memory.version == 9


FILTERS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("status", {"status": "archived"}, {}, {"statuses": ("archived", "forgotten")}),
    ("kind", {"kind": "episodic"}, {}, {"kinds": ("episodic",)}),
    ("category", {"category": "rule"}, {}, {"categories": ("rule", "fact")}),
    ("task type", {"task_type": "coding"}, {}, {"task_types": ("coding",)}),
    ("tag", {"tags": ("a", "b")}, {"tags": ("ab",)}, {"tags": ("b", "z")}),
    ("domain", {"domain": "law"}, {}, {"domains": ("law",)}),
    ("source", {"source": "validator"}, {}, {"sources": ("validator",)}),
    ("outcome", {"outcome": "failure"}, {}, {"outcomes": ("failure",)}),
    ("id", {"id_": "wanted"}, {}, {"ids": ("wanted", "gone")}),
    ("run", {"evidence": (Evidence("r1"), Evidence("r2"))}, {}, {"run_id": "r2"}),
    ("one word", {"content": "Use UTF-8, always"}, {}, {"keywords": ("utf",)}),
    ("all words", {"content": "a b c"}, {"content": "a b"}, {"keywords": ("C", "a")}),
    ("Chinese", {"content": "用户喜欢米制单位"}, {"content": "制米"}, {"keywords": ("米制",)}),
    ("wide", {"content": "ＡＢＣ straße"}, {}, {"keywords": ("abc", "STRASSE")}),
    (
        "since",
        {"event_time": NOON},
        {"event_time": NOON - timedelta(microseconds=1)},
        {"since": NOON},
    ),
    (
        "until",
        {"event_time": NOON},
        {"event_time": NOON + timedelta(microseconds=1)},
        {"until": NOON},
    ),
    (
        "valid",
        {"valid_until": NOON + timedelta(seconds=1)},
        {"valid_until": NOON},
        {"valid_at": NOON},
    ),
    ("no end", {}, {"valid_until": NOON - timedelta(days=1)}, {"valid_at": NOON}),
    ("confidence", {"confidence": 0.7}, {"confidence": 0.69}, {"min_confidence": 0.7}),
    ("odd float", {"confidence": 0.1 + 0.2}, {"confidence": 0.2}, {"min_confidence": 0.1 + 0.2}),
]


@pytest.mark.parametrize(("field", "match", "other", "where"), FILTERS, ids=[f[0] for f in FILTERS])
def test_a_filter_finds_what_it_is_about_and_nothing_else(
    call: Call, field: str, match: dict[str, Any], other: dict[str, Any], where: dict[str, Any]
) -> None:
    wanted = point(**{"id_": "yes", **match})
    call(
        Put(
            (
                wanted,
                point("no", **other),
                point("theirs", BOB, **{k: v for k, v in match.items() if k != "id_"}),
            )
        )
    )

    assert call(Count(within(**where))) == 1
    assert [r.memory for r in call(Scroll(within(**where))).records] == [wanted.memory]
    ((hit,),) = call(nearest(within(**where)))
    assert hit.memory == wanted.memory


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
)
def test_far_times_survive_and_are_found(call: Call, moment: datetime) -> None:
    call(Put((point("far", event_time=moment, valid_until=moment), point("near"))))

    assert call(Get((ALICE,), ("far",)))[0].memory.event_time == moment
    page = call(Scroll(within(since=moment, until=moment)))
    assert [r.memory.id for r in page.records] == ["far"]


def test_dense_hits_come_by_cosine_and_bring_vectors_only_on_request(call: Call) -> None:
    call(Put((point("far", dense=(0.0, 1.0, 0.0, 0.0)), point("near", dense=(3.0, 4.0, 0.0, 0.0)))))

    ((first, second),) = call(nearest(within()))
    assert (first.memory.id, second.memory.id) == ("near", "far")
    assert first.score == pytest.approx(0.6)
    assert first.dense == ()

    ((first, _),) = call(replace(nearest(within()), with_vectors=True))
    assert first.dense == pytest.approx((0.6, 0.8, 0.0, 0.0))


def test_bm25_counts_words_within_the_namespaces_asked_only(call: Call) -> None:
    mine = [point(f"m{i}", sparse=SparseVector((i,), (1.0,))) for i in range(4)]
    call(Put(tuple(mine)))
    lane = SparseLane(SparseVector((0,), (1.0,)), 5)
    ((alone,),) = call(Search(within(), (lane,)))

    call(Put(tuple(point(f"b{i}", BOB, sparse=SparseVector((0,), (1.0,))) for i in range(40))))

    ((hit,),) = call(Search(within(), (lane,)))
    assert hit.score == alone.score


def test_text_without_words_still_counts_as_text_that_lacks_a_word(call: Call) -> None:
    lane = SparseLane(WORDS, 5)
    call(Put((point("a"), point("b", sparse=SparseVector((1,), (1.0,))))))
    ((hit,),) = call(Search(within(), (lane,)))

    call(Put((point("b", sparse=SparseVector()),)))

    assert call(Search(within(), (lane,)))[0][0].score == pytest.approx(hit.score)


def test_text_without_words_is_stored_and_never_matches_by_words(call: Call) -> None:
    call(Put((point("blank", sparse=SparseVector()), point("worded"))))

    worded, blank = call(
        Search(
            within(),
            (SparseLane(SparseVector((7,), (1.0,)), 5), SparseLane(SparseVector(), 5)),
        )
    )

    assert [h.memory.id for h in worded] == ["worded"]
    assert blank == ()
    assert len(call(nearest(within()))[0]) == 2


def test_ordered_lanes_take_the_largest_first_and_leave_out_what_has_none(call: Call) -> None:
    call(
        Put(
            (
                point("a", importance=0.3, last_accessed_at=NOON),
                point("b", importance=0.9),
                point("c", importance=0.5, last_accessed_at=NOON + timedelta(hours=1)),
            )
        )
    )

    important, accessed = call(
        Search(within(), (OrderedLane("importance", 2), OrderedLane("last_accessed_at", 9)))
    )

    assert [(h.memory.id, h.score) for h in important] == [("b", 0.0), ("c", 0.0)]
    assert [h.memory.id for h in accessed] == ["c", "a"]


def test_lanes_of_one_search_answer_in_order_each_under_its_own_filter(call: Call) -> None:
    call(Put((point("a", kind="episodic"), point("s"))))
    episodes = within(kinds=("episodic",))

    answers = call(
        Search(
            within(),
            (
                DenseLane(unit((1.0, 0.0, 0.0, 0.0)), 5, where=episodes),
                OrderedLane("event_time", 0),
                DenseLane(unit((1.0, 0.0, 0.0, 0.0)), 5),
            ),
        )
    )

    assert [sorted(h.memory.id for h in hits) for hits in answers] == [["a"], [], ["a", "s"]]
    assert call(Search(within(), ())) == ()


def test_hits_of_one_memory_in_several_lanes_share_one_object(call: Call) -> None:
    call(Put((point(),)))

    first, second = call(
        Search(within(), (DenseLane((1.0, 0.0, 0.0, 0.0), 1), OrderedLane("event_time", 1)))
    )

    assert first[0].memory is second[0].memory


def test_a_crowd_of_better_hits_next_door_does_not_push_out_the_one_here(call: Call) -> None:
    crowd = [point(f"a{i}", dense=(1.0, i / 1e6, 0.0, 0.0)) for i in range(500)]
    call(Put((*crowd, point("b", BOB, dense=(0.2, 1.0, 0.0, 0.0)))))

    dense, sparse, recent = call(
        Search(
            within(BOB),
            (
                DenseLane((1.0, 0.0, 0.0, 0.0), 3),
                SparseLane(SparseVector((7,), (1.0,)), 3),
                OrderedLane("event_time", 3),
            ),
        )
    )

    assert [h.memory.id for h in dense] == ["b"]
    assert [h.memory.id for h in sparse] == ["b"]
    assert [h.memory.id for h in recent] == ["b"]


def test_every_page_is_read_and_every_match_erased(call: Call) -> None:
    call(Put(tuple(point(f"a{i}") for i in range(1_234))))
    call(Put(tuple(point(f"b{i}", BOB) for i in range(7))))

    seen: list[str] = []
    cursor = None
    while True:
        page = call(Scroll(within(), limit=200, cursor=cursor))
        assert 0 < len(page.records) <= 200
        seen += [r.memory.id for r in page.records]
        cursor = page.cursor
        if cursor is None:
            break

    assert sorted(seen) == sorted(f"a{i}" for i in range(1_234))
    assert call(Purge(within(statuses=()))) == 1_234
    assert call(Purge(within(statuses=()))) == 0
    assert call(Count(within(statuses=()))) == 0
    assert call(Scroll(within())).records == ()
    assert call(nearest(within())) == ((),)
    assert call(Count(within(BOB))) == 7


def test_scrolling_twice_gives_the_same_order(call: Call) -> None:
    call(Put(tuple(point(f"m{i}") for i in range(30))))
    first = [r.memory.id for r in call(Scroll(within(), limit=30)).records]

    call(Patch(memory("m3", importance=0.9), ()))

    assert [r.memory.id for r in call(Scroll(within(), limit=30)).records] == first


def test_a_scroll_brings_the_histories(call: Call) -> None:
    call(Put((point(changes=(change(),)),)))

    assert call(Scroll(within())).records[0].changes == (change(),)


def test_a_cursor_from_elsewhere_and_an_empty_page_are_refused(call: Call) -> None:
    with pytest.raises(ConfigurationError, match="cursor 'page-2'"):
        call(Scroll(within(), cursor="page-2"))
    with pytest.raises(ConfigurationError, match="page of 0"):
        call(Scroll(within(), limit=0))


def test_facets_count_exactly_also_the_empty_value(call: Call) -> None:
    call(
        Put(
            (
                *(point(f"m{i}", task_type=f"type {i % 30}") for i in range(90)),
                point("law", domain="law", status="archived"),
                point("theirs", BOB, domain="law"),
            )
        )
    )

    types = call(Facet(within(), "task_type"))
    assert types == {f"type {i}": 3 for i in range(30)}
    assert call(Facet(within(statuses=()), "domain")) == {"": 90, "law": 1}
    assert call(Facet(within(statuses=()), "status")) == {"active": 90, "archived": 1}


def test_the_whole_store_is_erased_only_when_that_is_what_was_said(
    call: Call, store: MemoryStore
) -> None:
    call(Put((point("a"), point("b", BOB))))
    with pytest.raises(ConfigurationError, match="nothing was erased"):
        Purge()
    assert store.stats().points == 2

    assert call(Purge(whole_store=True)) == 2

    assert store.stats().points == 0


@pytest.mark.parametrize("namespaces", [(), None, ("alice",), (None,), ("",)])
def test_no_operation_works_without_a_namespace(call: Call, namespaces: Any) -> None:
    call(Put((point(),)))
    with pytest.raises(NamespaceError, match="at least one namespace"):
        MemoryFilter(namespaces=namespaces)
    with pytest.raises(NamespaceError, match="at least one namespace"):
        call(Get(namespaces, ("mem_1",)))

    assert call(Count(within())) == 1


def test_namespaces_that_look_alike_stay_apart(call: Call) -> None:
    spaces = [
        Namespace.of(parts)
        for parts in (("a", "b"), ("a/b",), ("a%2Fb",), ("a",), ("A", "b"), ("a", "b", "c"))
    ]
    call(Put(tuple(point("m", space, content=repr(space)) for space in spaces)))

    for space in spaces:
        found = call(Scroll(within(space))).records
        assert [r.memory.content for r in found] == [repr(space)]


def test_a_secret_of_one_tenant_is_in_no_answer_to_another(call: Call) -> None:
    secret = point(
        "m", ALICE, content="marker-7f3a", tags=("marker-7f3a",), task_type="marker-7f3a"
    )
    call(Put((secret, point("m2", BOB))))
    where = within(BOB, statuses=())
    answers = [
        call(Search(where, (DenseLane(secret.dense, 9), SparseLane(secret.sparse, 9)))),
        call(Search(where, tuple(OrderedLane(by, 9) for by in ("event_time", "importance")))),
        call(Get((BOB,), ("m", "m2"))),
        call(Scroll(where)),
        call(Facet(where, "task_type")),
        call(Count(within(BOB, keywords=("marker",)))),
        call(Patch(memory("m", BOB), ())),
        call(Purge(within(BOB, ids=("m",)))),
    ]

    assert "marker-7f3a" not in repr(answers)
    assert answers[-3:] == [0, False, 0]
    assert call(Get((ALICE,), ("m",)))[0].memory == secret.memory


@pytest.mark.parametrize(
    ("dense", "sparse", "said"),
    [
        ((1.0, 0.0), SparseVector(), "has 2 dimensions, the store has 4"),
        ((float("nan"), 0.0, 0.0, 0.0), SparseVector(), "not finite"),
        ((float("inf"), 0.0, 0.0, 0.0), SparseVector(), "not finite"),
        ((1.0, 0.0, 0.0, 0.0), SparseVector((1, 1), (1.0, 1.0)), "2 indices, 1 of them different"),
        ((1.0, 0.0, 0.0, 0.0), SparseVector((1, 2), (1.0,)), "and 1 values"),
        ((1.0, 0.0, 0.0, 0.0), SparseVector((-1,), (1.0,)), "outside 32 bits"),
        ((1.0, 0.0, 0.0, 0.0), SparseVector((1,), (float("nan"),)), "not finite"),
    ],
)
def test_a_bad_vector_is_refused_with_the_memory_s_id_and_nothing_is_stored(
    call: Call, dense: tuple[float, ...], sparse: SparseVector, said: str
) -> None:
    bad = replace(point("bad", sparse=sparse), dense=dense)
    with pytest.raises(StoreError, match=f"'bad'.*{said}"):
        call(Put((point("good"), bad)))

    assert call(Count(within())) == 0


def test_a_query_of_another_width_is_refused(call: Call) -> None:
    with pytest.raises(StoreError, match="the query has 2 dimensions, the store has 4"):
        call(Search(within(), (DenseLane((1.0, 0.0), 5),)))


def test_an_operation_that_no_store_knows_is_refused(call: Call) -> None:
    class Explode(StoreOp[None]):
        pass

    with pytest.raises(StoreError, match="does not know Explode operations"):
        call(Explode())


def test_metadata_that_json_cannot_hold_is_refused_by_name_and_nothing_is_stored(
    call: Call,
) -> None:
    with pytest.raises(ConfigurationError, match=r"metadata\.bad is of type object"):
        call(Put((point("good"), point("bad", metadata={"bad": object()}))))

    assert call(Count(within())) == 0


def test_stats_say_what_and_where_the_store_is(call: Call, store: MemoryStore) -> None:
    call(Put((point(), point("b", BOB, status="archived"))))

    stats = store.stats()

    assert stats.points == 2
    assert stats.backend in {"edge", "qdrant"}
    assert stats.schema.model == "hashing"
