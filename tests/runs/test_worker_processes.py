"""The worker at the end of a process, in a dying interpreter, and across a fork."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal
from hindsight_core.testing import FrozenClock

HEAD = """
import os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from hindsight_core.clock import system_clock
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal, RunResult
from hindsight_core.runs.journal_owner import new_owner
from hindsight_core.runs.worker import ReflectionWorker
from hindsight_core.testing import csv_run

journal = Journal.open(Path(sys.argv[1]))
alice = Namespace.of(("acme", "alice"))
RESULT = RunResult(reflection_status="nothing_to_learn")
begun = threading.Event()

def finish(run):
    journal.finish(run.namespace, run.run_id, RESULT, now=system_clock())

def build(process, drain_seconds=5.0):
    return ReflectionWorker(
        journal, process, owner=new_owner(), clock=system_clock, lease_seconds=600,
        poll_seconds=60, drain_seconds=drain_seconds, on_failure=lambda run, error: None,
    )

def append(*ids):
    for run_id in ids:
        journal.append_run(alice, csv_run(run_id), now=system_clock())
"""

DRAINS = """
def process(run):
    time.sleep(0.01)
    finish(run)

worker = build(process)
append(*(f"r{n}" for n in range(20)))
worker.notify()
"""

STUCK = """
def process(run):
    begun.set()
    time.sleep(60)

workers = [build(process, drain_seconds=0.3), build(finish, drain_seconds=0.3)]
append("stuck")
workers[0].notify()
assert begun.wait(10)
print("end of the script", flush=True)
"""

DYING = """
pool = ThreadPoolExecutor(1)

def process(run):
    begun.set()
    main.join()
    pool.submit(print)

main = threading.main_thread()
worker = build(process)
append("r")
worker.notify()
assert begun.wait(10)
"""

FORKS = """
worker = build(finish)
append("parent")
assert worker.flush(30)
owner = worker.owner
children = []
for number in range(2):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            assert worker.owner != owner
            append(f"child {number}")
            status = 0 if worker.flush(30) and worker.close() else 2
        finally:
            os._exit(status)
    children.append(pid)
append("parent again")
assert worker.flush(30)
assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0]
print(journal.counts().done)
"""

FORKS_WHILE_BUSY = """
let_go = threading.Event()

def process(run):
    if run.run_id == "slow":
        begun.set()
        let_go.wait(30)
    finish(run)

worker = build(process)
append("slow")
worker.notify()
assert begun.wait(10)
pid = os.fork()
if pid == 0:
    status = 1
    try:
        append("child")
        status = 0 if worker.flush(30) else 2
    finally:
        os._exit(status)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
let_go.set()
assert worker.flush(30)
print(journal.counts().done)
"""


def run(script: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HEAD + script, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


def test_what_is_due_is_drained_when_the_script_ends(path: Path) -> None:
    run(DRAINS, path)
    with Journal.open(path) as journal:
        assert (journal.counts().done, journal.backlog()) == (20, 0)


def test_a_reflection_stuck_in_a_call_does_not_hold_up_the_end(
    path: Path, alice: Namespace
) -> None:
    started = time.monotonic()
    told = run(STUCK, path)
    # The call takes 60 s; the script may take its drain time and what starting Python takes.
    assert time.monotonic() - started < 30
    assert told.stdout == "end of the script\n"
    assert "Traceback" not in told.stderr
    with Journal.open(path) as journal:
        stuck = journal.get_run(alice, "stuck")
        assert stuck is not None
        assert stuck.status == "leased"
        assert journal.release_leases() == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the order of the end differs there")
def test_a_run_is_not_failed_for_the_end_of_the_interpreter(path: Path, alice: Namespace) -> None:
    run(DYING, path)
    with Journal.open(path) as journal:
        left = journal.get_run(alice, "r")
        assert left is not None
        assert (left.status, left.reason, left.attempts) == ("pending", "", 0)
        assert journal.lease_next("heir", now=FrozenClock()(), lease_seconds=9) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="this system does not fork")
@pytest.mark.parametrize(("script", "done"), [(FORKS, "4"), (FORKS_WHILE_BUSY, "2")])
def test_after_a_fork_parent_and_children_have_workers_of_their_own(
    path: Path, script: str, done: str
) -> None:
    assert run(script, path).stdout.strip() == done
