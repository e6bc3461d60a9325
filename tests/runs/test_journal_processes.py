"""One journal, several processes, some of which are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal
from hindsight_core.runs.journal_owner import new_owner, owner_in_child, owner_is_alive
from hindsight_core.testing import FrozenClock, csv_run

HEAD = """
import os, signal, sys, time
from pathlib import Path
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal
from hindsight_core.runs.journal_owner import new_owner
from hindsight_core.testing import FrozenClock, csv_run
path, name = Path(sys.argv[1]), sys.argv[2]
alice, now = Namespace.of(("acme", "alice")), FrozenClock()()
"""

APPEND_FIFTY = (
    HEAD
    + """
sys.stdin.readline()
journal = Journal.open(path)
for number in range(50):
    assert journal.append_run(alice, csv_run(f"{name}-{number}"), now=now)
    assert journal.append_run(alice, csv_run(f"shared-{number}"), now=now) in (True, False)
journal.add_counter("appended", 50)
journal.close()
"""
)

APPEND_FOR_EVER = (
    HEAD
    + """
journal = Journal.open(path)
number = 0
while True:
    run_id = f"{name}-{number}"
    journal.append_run(alice, csv_run(run_id), now=now)
    print(run_id, flush=True)
    number += 1
"""
)

LEASE_AND_DIE = (
    HEAD
    + """
owner = new_owner()
run = Journal.open(path).lease_next(owner, now=now, lease_seconds=600)
print(owner, run.run_id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
)


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_four_processes_append_at_once_and_everything_is_there(
    tmp_path: Path, alice: Namespace
) -> None:
    path = tmp_path / "journal.sqlite3"
    processes = [start(APPEND_FIFTY, str(path), f"p{number}") for number in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    expected = {f"{name}-{n}" for name in ("p0", "p1", "p2", "p3", "shared") for n in range(50)}
    with Journal.open(path) as journal:
        runs = journal.runs([alice], limit=1000)
        assert len(runs) == 250
        assert {run.run_id for run in runs} == expected
        assert all(run.trajectory == csv_run(run.run_id) for run in runs)
        assert journal.counters() == {"appended": 200}


@pytest.mark.parametrize("acknowledged", [0, 1, 7, 23])
def test_a_run_that_was_acknowledged_survives_a_kill(
    tmp_path: Path, alice: Namespace, acknowledged: int
) -> None:
    path = tmp_path / "journal.sqlite3"
    process = start(APPEND_FOR_EVER, str(path), "p")
    assert process.stdout is not None
    seen = [process.stdout.readline().strip() for _ in range(acknowledged)]
    process.kill()
    seen += process.stdout.read().split()
    process.communicate(timeout=60)
    with Journal.open(path) as journal:
        kept = {run.run_id for run in journal.runs([alice], limit=10_000)}
        assert len(seen) >= acknowledged
        assert kept >= set(seen)
        # At most the append under way is there without having been acknowledged.
        assert len(kept) <= len(seen) + 1
        assert journal.append_run(alice, csv_run("after"), now=FrozenClock()())


def test_the_run_of_a_killed_process_is_given_back(
    tmp_path: Path, alice: Namespace, clock: FrozenClock
) -> None:
    with Journal.open(tmp_path / "journal.sqlite3") as journal:
        journal.append_run(alice, csv_run("r"), now=clock())
        process = start(LEASE_AND_DIE, str(journal.path), "p")
        told, _ = process.communicate(timeout=60)
        owner, run_id = told.split()
        assert run_id == "r"
        assert not owner_is_alive(owner)
        assert journal.lease_next("heir", now=clock(), lease_seconds=60) is None
        assert journal.release_dead_leases(owner_is_alive) == 1
        run = journal.lease_next("heir", now=clock(), lease_seconds=60)
        assert run is not None
        assert (run.run_id, run.attempts) == ("r", 2)


def test_an_owner_of_this_process_lives_and_a_doubtful_one_may() -> None:
    owner = new_owner()
    host, pid, start_time, token = owner.split(":")
    assert owner_is_alive(owner)
    assert new_owner() != owner
    assert owner_is_alive(f"elsewhere:{pid}:{start_time}:{token}")
    assert owner_is_alive("a name of another form")
    assert owner_is_alive(f"{host}:{2**70}:1:x")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_process_id_that_was_given_away_again_is_not_the_old_owner() -> None:
    host, pid, start_time, token = new_owner().split(":")
    assert not owner_is_alive(f"{host}:{pid}:{int(start_time) - 1}:{token}")
    assert not owner_is_alive(f"{host}:{2**22 + 1}:{start_time}:{token}")


def test_a_forked_child_has_an_owner_name_of_its_own() -> None:
    owner = new_owner()
    assert owner_in_child(owner) != owner
    assert owner_is_alive(owner_in_child(owner))
    assert owner_in_child("mine").startswith("mine~")
    assert owner_in_child(owner_in_child("mine")) == owner_in_child("mine")
