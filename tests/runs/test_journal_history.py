"""Recalls, feedback, counts, search, retention and erasure."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_core.errors import ConfigurationError, NamespaceError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import AuditEntry, Journal, JournalCounts, RunResult
from hindsight_core.steps import Step, ToolCall
from hindsight_core.testing import FrozenClock, corrected_run, csv_run
from hindsight_core.trajectory import Trajectory


def done(
    journal: Journal, namespace: Namespace, clock: FrozenClock, run_id: str, learned: bool = True
) -> None:
    journal.append_run(namespace, csv_run(run_id), now=clock())
    result = RunResult(
        reflection_status="learned" if learned else "nothing_to_learn",
        raw_reply="what the model said",
        tokens_in=100,
        tokens_out=10,
    )
    assert journal.finish(namespace, run_id, result, now=clock())


def test_recalls_of_a_run_come_back_in_order(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    journal.record_recall(alice, "r", ["mem_2", "mem_1"], "first \ud800", now=clock())
    later = clock.advance(seconds=1)
    journal.record_recall(alice, "r", (), "second", now=later)
    first, second = journal.recalls(alice, "r")
    assert (first.run_id, first.memory_ids) == ("r", ("mem_2", "mem_1"))
    assert (first.query, second.memory_ids, second.at) == ("first \ud800", (), later)
    assert journal.recalls(bob, "r") == journal.recalls(alice, "s") == ()


def test_the_same_feedback_is_taken_once(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    def say(namespace: Namespace = alice, **said: object) -> bool:
        given = {"run_id": "r", "memory_id": None, "outcome": "failure", "source": "user", **said}
        return journal.record_feedback(namespace, now=clock(), **given)  # type: ignore[arg-type]

    assert say(reason="it crashed")
    assert not say(reason="said again")
    assert say(source="validator")
    assert say(outcome="success")
    assert say(memory_id="mem_1")
    assert say(memory_id="mem_1", outcome=None, helpful=False)
    assert not say(memory_id="mem_1", outcome=None, helpful=False)
    assert say(memory_id="mem_1", outcome=None, helpful=True)
    assert say(bob)
    with pytest.raises(ConfigurationError, match="run_id or a memory_id"):
        say(run_id=None)

    first, *_ = journal.feedback(alice, run_id="r")
    assert (first.outcome, first.source, first.reason) == ("failure", "user", "it crashed")
    assert (first.memory_id, first.helpful, first.at) == ("", None, clock())
    named = journal.feedback(alice, memory_id="mem_1")
    assert [said.helpful for said in named] == [None, False, True]
    assert len(journal.feedback(alice)) == 6
    assert journal.feedback(alice, run_id="s", memory_id="mem_1") == ()


def test_counts_say_where_the_runs_stand_and_what_they_cost(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    assert journal.counts() == JournalCounts()
    done(journal, alice, clock, "a")
    done(journal, alice, clock, "b", learned=False)
    done(journal, bob, clock, "c")
    for run_id in ("d", "e", "f"):
        journal.append_run(alice, csv_run(run_id), now=clock())
    journal.append_run(alice, csv_run("g"), now=clock(), status="shed")
    journal.lease_run(alice, "d", "w", now=clock(), lease_seconds=9)
    journal.fail(alice, "e", reason="bad", now=clock())
    assert journal.counts([alice]) == JournalCounts(
        pending=1,
        leased=1,
        done=2,
        failed=1,
        shed=1,
        learned=1,
        nothing_to_learn=1,
        tokens_in=200,
        tokens_out=20,
    )
    assert journal.counts().done == journal.counts([alice, bob]).done == 3
    with pytest.raises(NamespaceError):
        journal.counts(())


def test_counters_outlive_the_process_that_counted(tmp_path: Path) -> None:
    for _ in range(2):
        with Journal.open(tmp_path) as journal:
            journal.add_counter("redactions", 3)
            journal.add_counter("recall_failures")
    with Journal.open(tmp_path) as journal:
        assert journal.counters() == {"recall_failures": 2, "redactions": 6}
        assert journal.path == tmp_path / "journal.sqlite3"


def test_logs_are_searched_on_demand(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("csv"), now=clock())
    journal.append_run(alice, corrected_run("units"), now=clock())
    journal.append_run(bob, csv_run("other"), now=clock())
    (hit,) = journal.search_log(alice, "GB18030")
    assert (hit.run_id, hit.step, hit.submitted_at) == ("csv", 3, clock())
    assert "trying GB18030" in hit.excerpt
    assert [h.run_id for h in journal.search_log(alice, "the")] == ["units", "csv"]
    assert [h.run_id for h in journal.search_log(alice, "the", limit=1)] == ["units"]
    assert journal.search_log(alice, "") == journal.search_log(alice, "nowhere") == ()


def test_an_excerpt_is_short_and_marks_what_it_leaves_out(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    text = "a" * 500 + "\nSTRASSE\n" + "b" * 500
    call = ToolCall("c", "lookup", {"street": "Straße"})
    journal.append_run(alice, Trajectory("text", (Step("user", text=text),)), now=clock())
    journal.append_run(
        alice, Trajectory("call", (Step("assistant", tool_calls=(call,)),)), now=clock()
    )
    journal.append_run(alice, Trajectory("task", (), task="go to the straße"), now=clock())
    by_task, by_call, by_text = journal.search_log(alice, "straße")
    assert (by_task.run_id, by_task.step) == ("task", -1)
    assert by_call.excerpt == 'lookup {"street": "strasse"}'
    assert by_text.excerpt == f"…{'a' * 59} STRASSE {'b' * 59}…"


def test_a_search_reads_on_past_one_batch_and_over_damaged_logs(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    for number in range(230):
        task = "needle" if number in (0, 1) else "hay"
        journal.append_run(alice, Trajectory(f"r{number}", (), task=task), now=clock())
    journal._file.write(lambda db: db.execute("UPDATE logs SET log = x'00' WHERE run = 2"))
    assert [hit.run_id for hit in journal.search_log(alice, "needle")] == ["r0"]


def test_only_logs_of_runs_long_done_are_dropped(
    tmp_path: Path, alice: Namespace, clock: FrozenClock
) -> None:
    with Journal.open(tmp_path / "j.sqlite3", retention_days=2) as journal:
        done(journal, alice, clock, "old")
        journal.record_recall(alice, "old", ["mem_1"], "load the sales", now=clock())
        journal.append_run(alice, csv_run("pending"), now=clock())
        journal.append_run(alice, csv_run("failed"), now=clock())
        journal.fail(alice, "failed", reason="bad", raw_reply="kept", now=clock())
        clock.advance(days=1)
        done(journal, alice, clock, "recent")
        clock.advance(days=1)
        assert journal.prune(now=clock()) == 0
        assert journal.prune(now=clock.advance(seconds=1)) == 1
        assert journal.prune(now=clock()) == 0
        old = journal.get_run(alice, "old")
        assert old is not None
        assert (old.status, old.has_log, old.raw_reply) == ("done", False, "")
        assert (old.trajectory.steps, old.trajectory.task) == ((), csv_run().task)
        assert len(journal.recalls(alice, "old")) == 1
        assert not journal.append_run(alice, csv_run("old"), now=clock())
        for run_id in ("pending", "failed", "recent"):
            run = journal.get_run(alice, run_id)
            assert run is not None
            assert run.trajectory.steps == csv_run().steps


def test_pruning_goes_through_everything_in_short_batches(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    for number in range(205):
        journal.append_run(alice, Trajectory(f"r{number}", ()), now=clock())
    journal._file.write(lambda db: db.execute("UPDATE runs SET status = 'done', finished_at = 0"))
    assert journal.prune(now=clock()) == 205


def test_an_erased_namespace_is_gone_from_the_file_itself(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    for namespace in (alice, bob):
        mark = f"secret of {namespace}"
        journal.append_run(namespace, Trajectory("r", (Step("user", text=mark),)), now=clock())
        journal.record_recall(namespace, "r", ["mem_1"], mark, now=clock())
        journal.record_feedback(
            namespace, run_id="r", outcome="failure", source="user", reason=mark, now=clock()
        )
        entry = AuditEntry(
            at=clock(), namespace=namespace, memory_id="mem_1", action="stored", reason=mark
        )
        change_id = journal.plan_changes(namespace, None, mark.encode(), [entry], now=clock())
        journal.mark_applied(change_id, now=clock())
        journal.plan_changes(namespace, None, mark.encode(), [entry], now=clock())

    receipt = journal.erase(alice)

    assert (receipt.runs, receipt.changes, receipt.recalls) == (1, 1, 1)
    assert (receipt.feedback, receipt.audit, receipt.scrubbed) == (1, 1, True)
    assert journal.get_run(alice, "r") is None
    left = (journal.recalls(alice, "r"), journal.feedback(alice), journal.audit(alice, "mem_1"))
    assert left == ((), (), ())
    assert [change.namespace for change in journal.unapplied()] == [bob]
    assert journal.get_run(bob, "r") is not None
    assert len(journal.recalls(bob, "r")) == len(journal.audit(bob, "mem_1")) == 1
    files = [path.read_bytes() for path in journal.path.parent.iterdir()]
    assert not any(b"secret of acme/alice" in data for data in files)
    assert any(b"secret of acme/bob" in data for data in files)
