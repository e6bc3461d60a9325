"""Working memory: bounded by tokens, time and sessions; carried over a restart."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.working import WorkingMemory
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import FrozenClock, csv_run

Build = Callable[..., WorkingMemory]


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def build(clock: FrozenClock) -> Build:
    def build_one(**options: Any) -> WorkingMemory:
        given = {"ttl_seconds": 100.0, "token_limit": 20, "count_tokens": words, **options}
        return WorkingMemory(clock=clock, **given)

    return build_one


def texts(memory: WorkingMemory, namespace: Namespace, session: str = "s") -> list[str]:
    return [step.text for step in memory.steps(namespace, session)]


def call(*ids: str, text: str = "") -> Step:
    return Step("assistant", text=text, tool_calls=tuple(ToolCall(i, "search") for i in ids))


def result(call_id: str, text: str = "found it") -> Step:
    return Step("tool_result", text=text, tool_call_id=call_id, tool_name="search")


def test_steps_and_notes_come_back_in_order(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=1000)
    memory.add(alice, "s", *csv_run().steps)
    memory.add(alice, "s", "the file is from 2019")
    note = Step("note", text="the file is from 2019")
    assert memory.steps(alice, "s") == (*csv_run().steps, note)
    assert memory.steps(alice, "other session") == ()


def test_sessions_of_other_namespaces_are_not_seen(
    build: Build, alice: Namespace, bob: Namespace
) -> None:
    memory = build()
    memory.add(alice, "s", "hers")
    memory.add(bob, "s", "his")
    assert texts(memory, alice) == ["hers"]
    assert memory.erase(alice) == 1
    assert (texts(memory, alice), texts(memory, bob)) == ([], ["his"])


def test_the_oldest_goes_first_when_there_is_too_much(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=6)
    for text in ("one two", "three four", "five six", "seven"):
        memory.add(alice, "s", text)
    assert texts(memory, alice) == ["three four", "five six", "seven"]


def test_a_call_goes_together_with_its_results(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=24)
    memory.add(alice, "s", call("a", "b"), result("a", "one"), "in between", result("b", "two"))
    assert [step.kind for step in memory.steps(alice, "s")] == [
        "assistant",
        "tool_result",
        "note",
        "tool_result",
    ]
    memory.add(alice, "s", " ".join("x" * 11), " ".join("y" * 10))
    assert [words(text) for text in texts(memory, alice)] == [2, 11, 10]
    memory.add(alice, "s", result("b", "late"))
    assert [words(text) for text in texts(memory, alice)] == [2, 11, 10]


def test_results_without_a_call_are_left_out(build: Build, alice: Namespace) -> None:
    memory = build()
    memory.add(alice, "s", result("never asked"), result(""), call("a"), result("a"))
    assert [step.tool_call_id for step in memory.steps(alice, "s")] == ["", "a"]


def test_a_call_with_too_many_results_keeps_the_newest(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=12)
    memory.add(alice, "s", call("a", "b"))
    memory.add(alice, "s", result("a", "1 2 3 4"), result("b", "5 6 7 8"))
    assert texts(memory, alice) == ["", "5 6 7 8"]


def test_a_huge_step_is_cut_and_says_so(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=100)
    memory.add(alice, "s", "what was asked", "log " * 1_000_000)
    asked, log = texts(memory, alice)
    assert asked == "what was asked"
    assert log.endswith(" […]")
    assert 10 <= words(log) <= 50


def test_a_call_whose_arguments_alone_are_too_much_is_not_kept(
    build: Build, alice: Namespace
) -> None:
    memory = build()
    big = ToolCall("a", "write", {"body": "word " * 100})
    memory.add(alice, "s", "note", Step("assistant", "text", (big,)), result("a"))
    assert memory.steps(alice, "s") == ()


def test_a_session_outlives_its_last_use_by_its_time(
    build: Build, alice: Namespace, clock: FrozenClock
) -> None:
    memory = build()
    memory.add(alice, "read", "1")
    memory.add(alice, "added to", "1")
    memory.add(alice, "left alone", "1")
    clock.advance(seconds=60)
    assert texts(memory, alice, "read") == ["1"]
    memory.add(alice, "added to", "2")
    clock.advance(seconds=41)
    assert texts(memory, alice, "left alone") == []
    assert texts(memory, alice, "read") == ["1"]
    assert texts(memory, alice, "added to") == ["1", "2"]
    clock.advance(seconds=101)
    assert memory.end(alice, "read") == ()


def test_a_clock_that_was_set_back_makes_nothing_expire(
    build: Build, alice: Namespace, clock: FrozenClock
) -> None:
    memory = build()
    memory.add(alice, "s", "1")
    clock.advance(hours=-1)
    assert texts(memory, alice) == ["1"]


def test_ending_a_session_gives_what_it_held(build: Build, alice: Namespace) -> None:
    memory = build()
    memory.add(alice, "s", "1", "2")
    assert [step.text for step in memory.end(alice, "s")] == ["1", "2"]
    assert memory.end(alice, "s") == memory.steps(alice, "s") == ()


def test_the_session_unused_for_longest_makes_room(build: Build, alice: Namespace) -> None:
    memory = build(max_sessions=2)
    memory.add(alice, "a", "1")
    memory.add(alice, "b", "1")
    assert texts(memory, alice, "a") == ["1"]
    memory.add(alice, "c", "1")
    assert [texts(memory, alice, name) for name in "abc"] == [["1"], [], ["1"]]


def test_sessions_survive_a_restart_as_json(
    build: Build, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    memory = build(token_limit=1000)
    memory.add(alice, "old", "gone soon")
    clock.advance(seconds=50)
    memory.add(alice, "s", *csv_run().steps, Step("user", text="now \ud800", at=clock()))
    memory.add(bob, "s", "his")
    snapshot = json.loads(json.dumps(memory.snapshot()))
    clock.advance(seconds=51)

    restarted = build(token_limit=1000)
    restarted.add(bob, "s", "newer")
    restarted.add(alice, "t", "stays")
    restarted.restore(snapshot)
    assert restarted.steps(alice, "s") == memory.steps(alice, "s") != ()
    assert texts(restarted, bob) == ["his"]
    assert texts(restarted, alice, "t") == ["stays"]
    assert texts(restarted, alice, "old") == []


def test_restored_sessions_keep_to_a_smaller_limit(build: Build, alice: Namespace) -> None:
    memory = build()
    memory.add(alice, "s", "one two", "three four")
    smaller = build(token_limit=4)
    smaller.restore(memory.snapshot())
    assert texts(smaller, alice) == ["one two", "three four"]
    smallest = build(token_limit=3)
    smallest.restore(memory.snapshot())
    assert texts(smallest, alice) == [" […]", " […]"]


@pytest.mark.parametrize(
    "spoil",
    [
        {"version": 2},
        {"version": None},
        {"sessions": None},
        {"sessions": [{}]},
        {"sessions": ["s"]},
        {"sessions": [{"namespace": "", "session_id": "s", "used_at": "2026-01-05", "steps": []}]},
        {"sessions": [{"namespace": "a", "session_id": "s", "used_at": "2026-01-05", "steps": []}]},
    ],
)
def test_what_is_no_snapshot_is_refused_and_changes_nothing(
    build: Build, alice: Namespace, spoil: dict[str, Any]
) -> None:
    memory = build()
    memory.add(alice, "s", "1")
    with pytest.raises(ConfigurationError, match="snapshot"):
        memory.restore({**memory.snapshot(), **spoil})
    assert texts(memory, alice) == ["1"]


def test_many_threads_add_to_one_session(build: Build, alice: Namespace) -> None:
    memory = build(token_limit=100_000)
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait(10)
        for number in range(50):
            memory.add(alice, "s", f"{thread}-{number}")
            memory.add(alice, f"own {thread}", "x")
            memory.steps(alice, "s")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(texts(memory, alice)) == sorted(f"{t}-{n}" for t in range(8) for n in range(50))


items = st.one_of(
    st.text("ab ", max_size=30),
    st.builds(call, st.sampled_from("xyz"), text=st.text("ab ", max_size=10)),
    st.builds(result, st.sampled_from("wxyz"), text=st.text("ab ", max_size=30)),
)


@given(st.lists(items, max_size=25), st.integers(2, 30))
def test_the_limit_holds_and_every_result_has_its_call(added: list[Step | str], limit: int) -> None:
    memory = WorkingMemory(
        clock=FrozenClock(), ttl_seconds=1, token_limit=limit, count_tokens=words
    )
    tenant = Namespace.of("a")
    for item in added:
        memory.add(tenant, "s", item)
    steps = memory.steps(tenant, "s")
    known: set[str] = set()
    size = 0
    for step in steps:
        known |= {tool_call.id for tool_call in step.tool_calls}
        assert step.kind != "tool_result" or step.tool_call_id in known
        size += words(f"{step.text} {step.tool_name}") + 2 * len(step.tool_calls)
    assert size <= limit
    # What is kept is the end of what was added, apart from results of calls that went.
    kept = [step.text for step in steps if step.kind != "tool_result"]
    plain = [i if isinstance(i, str) else i.text for i in added if not _is_result(i)]
    assert len(kept) <= len(plain)
    assert [t[:1] for t in kept] == [t[:1] for t in plain[len(plain) - len(kept) :]] or any(
        "[…]" in text for text in kept
    )


def _is_result(item: Step | str) -> bool:
    return isinstance(item, Step) and item.kind == "tool_result"
