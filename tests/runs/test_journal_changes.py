"""The redo log: planned, applied, abandoned, and what a crash in between leaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_core.errors import JournalError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import AuditEntry, Journal, RunResult
from hindsight_core.testing import FrozenClock, csv_run

LEARNED = RunResult(reflection_status="learned", memory_ids=("mem_1",), tokens_in=7)


def entry(namespace: Namespace, clock: FrozenClock, run_id: str = "r") -> AuditEntry:
    return AuditEntry(
        at=clock(),
        namespace=namespace,
        memory_id="mem_1",
        action="stored",
        run_id=run_id,
        actor="reflection",
        reason="seen \ud800 in a run",
        version=3,
    )


def status(journal: Journal, namespace: Namespace, run_id: str = "r") -> str:
    run = journal.get_run(namespace, run_id)
    assert run is not None
    return run.status


def test_a_planned_change_is_kept_until_it_is_marked(
    journal: Journal, alice: Namespace, bob: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r"), now=clock())
    journal.lease_next("w", now=clock(), lease_seconds=9)
    planned_at = clock.advance(seconds=1)
    audit = (entry(alice, clock),)
    change_id = journal.plan_changes(
        alice, "r", b"\x00blob", audit, now=planned_at, result=LEARNED, owner="w"
    )
    (planned,) = journal.unapplied()
    assert (planned.change_id, planned.namespace, planned.run_id) == (change_id, alice, "r")
    assert (planned.blob, planned.audit, planned.planned_at) == (b"\x00blob", audit, planned_at)
    assert planned.finishes_run
    assert journal.unapplied([alice]) == (planned,)
    assert journal.unapplied([bob]) == ()
    assert status(journal, alice) == "applying"
    assert journal.audit(alice, "mem_1") == ()
    assert journal.lease_next("v", now=clock.advance(days=1), lease_seconds=9) is None

    assert journal.mark_applied(change_id, now=clock())
    assert not journal.mark_applied(change_id, now=clock())
    assert not journal.abandon(change_id, "too late", now=clock())
    assert journal.unapplied() == ()
    assert journal.audit(alice, "mem_1") == journal.audit_of_run(alice, "r") == audit
    assert journal.audit(bob, "mem_1") == journal.audit_of_run(bob, "r") == ()
    run = journal.get_run(alice, "r")
    assert run is not None
    assert (run.status, run.finished_at) == ("done", clock())
    assert (run.memory_ids, run.tokens_in) == (("mem_1",), 7)


def test_changes_without_a_result_leave_their_run_alone(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r"), now=clock())
    first = journal.plan_changes(alice, "r", b"1", [entry(alice, clock)], now=clock())
    second = journal.plan_changes(
        alice, None, b"2", [entry(alice, clock, "")], now=clock(), result=LEARNED
    )
    assert [change.blob for change in journal.unapplied()] == [b"1", b"2"]
    assert [change.finishes_run for change in journal.unapplied()] == [False, False]
    assert journal.mark_applied(first, now=clock())
    assert journal.abandon(second, "not possible", now=clock())
    assert status(journal, alice) == "pending"
    assert [e.run_id for e in journal.audit(alice, "mem_1")] == ["r"]


def test_an_abandoned_change_fails_its_run_with_the_reason(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r"), now=clock())
    change_id = journal.plan_changes(
        alice, "r", b"x", [entry(alice, clock)], now=clock(), result=LEARNED
    )
    assert journal.abandon(change_id, "the store refused", now=clock())
    run = journal.get_run(alice, "r")
    assert run is not None
    assert (run.status, run.reason, run.memory_ids) == ("failed", "the store refused", ())
    assert run.reflection_status == "failed"
    assert journal.unapplied() == ()
    assert journal.audit(alice, "mem_1") == ()
    assert journal.retry([alice], now=clock()) == 1


def test_a_run_that_is_not_open_takes_no_result_and_nothing_is_written(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r"), now=clock())
    journal.lease_run(alice, "r", "heir", now=clock(), lease_seconds=9)

    def plan(run_id: str, owner: str | None) -> None:
        journal.plan_changes(alice, run_id, b"", (), now=clock(), result=LEARNED, owner=owner)

    with pytest.raises(JournalError, match=r"'missing' .* is not open"):
        plan("missing", None)
    with pytest.raises(JournalError, match="held by another worker"):
        plan("r", "late")
    journal.finish(alice, "r", LEARNED, now=clock(), owner="heir")
    with pytest.raises(JournalError, match="ended"):
        plan("r", None)
    assert journal.unapplied() == ()


def test_change_ids_are_never_given_twice(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    ids = []
    for _ in range(3):
        change_id = journal.plan_changes(alice, None, b"", (), now=clock())
        journal.mark_applied(change_id, now=clock())
        ids.append(change_id)
    assert ids == sorted(set(ids))


CRASH = """
import os, signal, sys
from pathlib import Path
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import AuditEntry, Journal, RunResult
from hindsight_core.testing import FrozenClock, csv_run

journal, clock = Journal.open(Path(sys.argv[1])), FrozenClock()
alice = Namespace.of(("acme", "alice"))
journal.append_run(alice, csv_run("r"), now=clock())
journal.lease_next("w", now=clock(), lease_seconds=9)
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
stage = sys.argv[2]
if stage == "before the plan is committed":
    journal._file.write(lambda db: (
        db.execute("UPDATE runs SET status = 'applying'"),
        db.execute("INSERT INTO changes VALUES (1, 'acme/alice', 'r', 0, 1, '[]', x'00')"),
        die(),
    ))
result = RunResult(reflection_status="learned", memory_ids=("mem_1",))
entry = AuditEntry(at=clock(), namespace=alice, memory_id="mem_1", action="stored", run_id="r")
change = journal.plan_changes(alice, "r", b"blob", [entry], now=clock(), result=result)
if stage == "between plan and mark":
    die()
if stage == "before the mark is committed":
    journal._file.write(lambda db: (db.execute("DELETE FROM changes"), die()))
journal.mark_applied(change, now=clock())
die()
"""


@pytest.mark.parametrize(
    ("stage", "status_left", "unapplied", "audited"),
    [
        ("before the plan is committed", "leased", 0, 0),
        ("between plan and mark", "applying", 1, 0),
        ("before the mark is committed", "applying", 1, 0),
        ("after the mark", "done", 0, 1),
    ],
)
def test_a_kill_leaves_a_change_either_planned_or_applied(
    tmp_path: Path,
    alice: Namespace,
    clock: FrozenClock,
    stage: str,
    status_left: str,
    unapplied: int,
    audited: int,
) -> None:
    path = tmp_path / "journal.sqlite3"
    killed = subprocess.run([sys.executable, "-c", CRASH, str(path), stage], check=False)
    assert killed.returncode == -9
    with Journal.open(path) as journal:
        assert status(journal, alice) == status_left
        planned = journal.unapplied()
        assert len(planned) == unapplied
        assert len(journal.audit(alice, "mem_1")) == audited
        for change in planned:
            assert change.blob == b"blob"
            assert journal.mark_applied(change.change_id, now=clock())
        if planned:
            assert status(journal, alice) == "done"
            assert len(journal.audit(alice, "mem_1")) == 1


def test_an_error_inside_a_transaction_undoes_all_of_it(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("r"), now=clock())
    unserializable: Callable[[], str] = str
    bad = replace(entry(alice, clock), actor=unserializable)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        journal.plan_changes(alice, "r", b"", [bad], now=clock(), result=LEARNED)
    assert status(journal, alice) == "pending"
    assert journal.unapplied() == ()
