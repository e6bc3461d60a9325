"""Runs in the journal: appending, leasing, ending, retrying, listing."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from hindsight_core.errors import JournalError, NamespaceError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal, JournaledRun, RunResult
from hindsight_core.runs.journal_owner import new_owner
from hindsight_core.steps import Step
from hindsight_core.testing import FrozenClock, corrected_run, csv_run
from hindsight_core.trajectory import Trajectory

LEARNED = RunResult(
    reflection_status="learned",
    memory_ids=("mem_1", "mem_2"),
    superseded=("mem_0",),
    notes=("one lesson skipped",),
    raw_reply="{}",
    tokens_in=10,
    tokens_out=2,
)


def append(journal: Journal, namespace: Namespace, clock: FrozenClock, *ids: str) -> None:
    for run_id in ids:
        assert journal.append_run(namespace, csv_run(run_id), now=clock())


def lease(journal: Journal, clock: FrozenClock, owner: str = "w") -> JournaledRun | None:
    return journal.lease_next(owner, now=clock(), lease_seconds=60)


def leased_id(journal: Journal, clock: FrozenClock, owner: str = "w") -> str:
    run = lease(journal, clock, owner)
    return "" if run is None else run.run_id


def test_a_run_comes_back_as_it_was_given(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    trajectory = csv_run("run_1")
    assert journal.append_run(alice, trajectory, now=clock())
    run = journal.get_run(alice, "run_1")
    assert run is not None
    assert run.trajectory == trajectory
    assert (run.namespace, run.run_id, run.status) == (alice, "run_1", "pending")
    assert (run.submitted_at, run.attempts, run.has_log) == (clock(), 0, True)
    assert (run.retry_at, run.lease_until, run.finished_at) == (None, None, None)


def test_the_same_run_again_changes_nothing(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "run_1")
    assert not journal.append_run(alice, corrected_run("run_1"), now=clock())
    assert journal.append_run(bob, corrected_run("run_1"), now=clock())
    first = journal.get_run(alice, "run_1")
    assert first is not None
    assert first.trajectory == csv_run("run_1")


def test_odd_texts_are_kept_exactly(journal: Journal, alice: Namespace, clock: FrozenClock) -> None:
    odd = "lone \ud800, pair \ud83d\ude00, NUL \x00, 中文"
    journal.append_run(alice, Trajectory(odd, (Step("user", text=odd),)), now=clock())
    assert not journal.append_run(alice, Trajectory(odd, ()), now=clock())
    assert journal.lease_run(alice, odd, odd, now=clock(), lease_seconds=9) is not None
    assert journal.is_held(alice, odd, odd)
    assert journal.fail(alice, odd, reason=odd, raw_reply=odd, now=clock(), owner=odd)
    run = journal.get_run(alice, odd)
    assert run is not None
    assert (run.run_id, run.reason, run.raw_reply) == (odd, odd, odd)
    assert run.trajectory.steps[0].text == odd


def test_runs_are_leased_oldest_first_and_once(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "b", "a")
    append(journal, bob, clock, "c")
    run = lease(journal, clock)
    assert run is not None
    assert (run.run_id, run.status, run.attempts, run.lease_owner) == ("b", "leased", 1, "w")
    assert run.lease_until == clock() + timedelta(seconds=60)
    assert [leased_id(journal, clock) for _ in range(3)] == ["a", "c", ""]


def test_a_lease_can_be_limited_to_namespaces(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "a")
    append(journal, bob, clock, "b")
    run = journal.lease_next("w", now=clock(), lease_seconds=60, namespaces=[bob])
    assert run is not None
    assert run.namespace == bob
    assert journal.lease_next("w", now=clock(), lease_seconds=60, namespaces=[bob]) is None
    with pytest.raises(NamespaceError, match="empty list"):
        journal.lease_next("w", now=clock(), lease_seconds=60, namespaces=[])


def test_a_lease_that_ran_out_is_taken_over_and_the_old_owner_can_end_nothing(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    assert leased_id(journal, clock, "dead") == "r"
    clock.advance(seconds=59)
    assert lease(journal, clock, "heir") is None
    clock.advance(seconds=1)
    run = lease(journal, clock, "heir")
    assert run is not None
    assert (run.attempts, run.lease_owner) == (2, "heir")
    assert not journal.finish(alice, "r", LEARNED, now=clock(), owner="dead")
    assert not journal.fail(alice, "r", reason="late", now=clock(), retry_at=clock(), owner="dead")
    assert not journal.release(alice, "r", "dead")
    assert journal.is_held(alice, "r", "heir")
    assert not journal.is_held(alice, "r", "dead")


def test_leases_of_dead_owners_are_given_back(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "a", "b")
    assert leased_id(journal, clock, "dead") == "a"
    assert leased_id(journal, clock, new_owner()) == "b"
    assert journal.release_dead_leases(lambda owner: True) == 0
    assert journal.release_dead_leases(lambda owner: owner != "dead") == 1
    assert leased_id(journal, clock) == "a"
    assert lease(journal, clock) is None
    assert journal.release_leases() == 2
    assert [leased_id(journal, clock) for _ in range(2)] == ["a", "b"]


def test_a_run_given_back_counts_no_attempt(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    lease(journal, clock)
    assert journal.release(alice, "r", "w")
    run = lease(journal, clock)
    assert run is not None
    assert run.attempts == 1


def test_one_run_can_be_leased_by_its_id(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    assert journal.lease_run(bob, "r", "w", now=clock(), lease_seconds=60) is None
    assert journal.lease_run(alice, "r", "w", now=clock(), lease_seconds=60) is not None
    assert journal.lease_run(alice, "r", "w", now=clock(), lease_seconds=60) is None
    clock.advance(seconds=60)
    assert journal.lease_run(alice, "r", "v", now=clock(), lease_seconds=60) is not None
    journal.fail(alice, "r", reason="bad", now=clock())
    assert journal.lease_run(alice, "r", "v", now=clock(), lease_seconds=60) is not None
    journal.finish(alice, "r", LEARNED, now=clock())
    assert journal.lease_run(alice, "r", "v", now=clock(), lease_seconds=60) is None


def test_a_finished_run_shows_its_result(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    lease(journal, clock)
    ended = clock.advance(seconds=3)
    assert journal.finish(alice, "r", LEARNED, now=ended, owner="w")
    assert not journal.finish(alice, "r", LEARNED, now=ended)
    run = journal.get_run(alice, "r")
    assert run is not None
    assert (run.status, run.reflection_status, run.finished_at) == ("done", "learned", ended)
    assert (run.memory_ids, run.superseded) == (("mem_1", "mem_2"), ("mem_0",))
    assert (run.notes, run.raw_reply) == (("one lesson skipped",), "{}")
    assert (run.tokens_in, run.tokens_out, run.lease_owner) == (10, 2, "")


def test_a_result_of_failed_leaves_the_run_failed(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    journal.finish(alice, "r", RunResult(reflection_status="failed", reason="why"), now=clock())
    run = journal.get_run(alice, "r")
    assert run is not None
    assert (run.status, run.reflection_status, run.reason) == ("failed", "failed", "why")


def test_a_failure_that_may_pass_is_due_again_at_its_time(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "r")
    lease(journal, clock)
    later = clock() + timedelta(seconds=3)
    assert journal.fail(
        alice, "r", reason="busy", raw_reply="429", now=clock(), retry_at=later, owner="w"
    )
    run = journal.get_run(alice, "r")
    assert run is not None
    assert (run.status, run.retry_at, run.reason) == ("pending", later, "busy")
    assert (run.raw_reply, run.reflection_status) == ("429", "")
    assert lease(journal, clock) is None
    append(journal, alice, clock, "fresh")
    clock.advance(seconds=3)
    assert [leased_id(journal, clock) for _ in range(2)] == ["fresh", "r"]


def test_failed_and_shed_runs_are_retried_by_hand(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "failed", "done")
    append(journal, bob, clock, "other")
    journal.append_run(alice, csv_run("shed"), now=clock(), status="shed")
    for namespace, run_id in ((alice, "failed"), (bob, "other")):
        journal.lease_run(namespace, run_id, "w", now=clock(), lease_seconds=9)
        journal.fail(namespace, run_id, reason="bad", now=clock())
    journal.finish(alice, "done", LEARNED, now=clock())
    assert lease(journal, clock) is None
    assert journal.retry([bob], now=clock(), run_ids=["failed", "shed"]) == 0
    assert journal.retry([alice], now=clock(), run_ids=["failed", "failed", "done"]) == 1
    run = lease(journal, clock)
    assert run is not None
    assert (run.run_id, run.attempts, run.finished_at) == ("failed", 1, None)
    assert journal.retry(now=clock()) == 2
    assert sorted(leased_id(journal, clock) for _ in range(2)) == ["other", "shed"]


def test_runs_are_listed_newest_first_page_by_page(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "a", "b", "c")
    append(journal, bob, clock, "x")
    journal.finish(alice, "b", LEARNED, now=clock())
    first = journal.runs([alice], limit=2)
    assert [run.run_id for run in first] == ["c", "b"]
    rest = journal.runs([alice], limit=2, before=first[-1].position)
    assert [run.run_id for run in rest] == ["a"]
    assert [run.run_id for run in journal.runs([alice], ["done"])] == ["b"]
    assert [run.run_id for run in journal.runs([alice, bob], ["pending"])] == ["x", "c", "a"]
    assert len(journal.runs()) == 4
    with pytest.raises(NamespaceError):
        journal.runs([])


def test_a_listing_without_logs_still_says_what_was_asked(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r", task="x" * 500), now=clock())
    (run,) = journal.runs([alice], with_logs=False)
    assert (run.has_log, run.trajectory.steps) == (False, ())
    assert run.trajectory.task == "x" * 200
    assert run.trajectory.outcome == csv_run().outcome


def test_the_backlog_is_what_waits(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "a", "b", "c")
    journal.append_run(alice, csv_run("shed"), now=clock(), status="shed")
    lease(journal, clock)
    journal.lease_run(alice, "b", "w", now=clock(), lease_seconds=60)
    journal.fail(alice, "b", reason="", now=clock(), retry_at=clock() + timedelta(seconds=5))
    assert journal.backlog() == journal.backlog([alice]) == 2
    assert journal.backlog([bob]) == 0
    assert journal.backlog(due_by=clock()) == 1
    assert journal.backlog([alice], due_by=clock() + timedelta(seconds=5)) == 2
    assert journal.backlog(due_by=clock() + timedelta(seconds=60)) == 3


def test_a_run_whose_log_is_damaged_fails_and_holds_up_nothing(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    append(journal, alice, clock, "bad", "good")
    with sqlite3.connect(journal.path) as db:
        db.execute("UPDATE logs SET log = x'00' WHERE run = 1")
    db.close()
    assert leased_id(journal, clock) == "good"
    (failed,) = journal.runs([alice], ["failed"], with_logs=False)
    assert failed.run_id == "bad"
    assert "damaged" in failed.reason
    with pytest.raises(JournalError, match=r"'bad' in journal .* can't be read"):
        journal.get_run(alice, "bad")
    assert journal.lease_run(alice, "bad", "w", now=clock(), lease_seconds=9) is None
