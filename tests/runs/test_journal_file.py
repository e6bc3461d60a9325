"""The journal's file: what is refused, what is never touched, what several users do to it."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hindsight_core.errors import ClosedError, JournalError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs import journal_file
from hindsight_core.runs.journal import Journal
from hindsight_core.testing import FrozenClock, csv_run
from hindsight_core.trajectory import Trajectory


def fill(path: Path, alice: Namespace, runs: int = 30) -> None:
    with Journal.open(path) as journal:
        for number in range(runs):
            journal.append_run(alice, csv_run(f"r{number}"), now=FrozenClock()())


def test_readers_hold_up_nobody(journal: Journal) -> None:
    assert journal._file.read(lambda db: db.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


@pytest.mark.parametrize(("sync", "level"), [(False, 1), (True, 2)])
def test_commits_wait_for_the_disk_where_that_is_asked_for(
    tmp_path: Path, sync: bool, level: int
) -> None:
    with Journal.open(tmp_path / "journal.sqlite3", sync=sync) as journal:
        found = journal._file.read(lambda db: db.execute("PRAGMA synchronous").fetchone()[0])
    assert found == level


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "journal.sqlite3"
    Journal.open(path).close()
    assert path.is_file()


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(JournalError, match="can't be made"):
        Journal.open(tmp_path / "file" / "journal.sqlite3")


def test_an_empty_file_becomes_a_journal(tmp_path: Path, alice: Namespace) -> None:
    path = tmp_path / "journal.sqlite3"
    path.touch()
    fill(path, alice, 1)


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def scribbled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 + 100] = b"\xff" * 100
    path.write_bytes(data)


def text(path: Path) -> None:
    path.write_text("dear diary, " * 1000)


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE songs (title)")
    db.close()


def marked_by_another(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 1234")
    db.close()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (newer, "format 2, newer than the 1"),
        (truncated, "damaged"),
        (scribbled, "damaged"),
        (text, "damaged or no SQLite file"),
        (foreign, "another program"),
        (marked_by_another, "another program"),
    ],
)
def test_a_file_that_is_no_sound_journal_is_refused_and_left_as_it_is(
    tmp_path: Path, alice: Namespace, harm: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "journal.sqlite3"
    fill(path, alice)
    harm(path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=message) as caught:
        Journal.open(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_damage_found_while_reading_is_told_with_path_and_remedy(
    tmp_path: Path, alice: Namespace, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.sqlite3"
    fill(path, alice, 150)
    data = bytearray(path.read_bytes())
    for page in range(30, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    path.write_bytes(data)
    monkeypatch.setattr(journal_file, "CHECKED_BYTES", 0)
    with Journal.open(path) as journal:
        for _ in range(2):
            with pytest.raises(JournalError, match="it is damaged; move it aside"):
                journal.runs([alice], limit=1000)


READ_ONLY = """
import os, sys
from pathlib import Path
from hindsight_core.errors import JournalError
from hindsight_core.runs.journal import Journal
if os.geteuid() == 0:
    os.setuid(65534)
try:
    Journal.open(Path(sys.argv[1]))
except JournalError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions work otherwise there")
@pytest.mark.parametrize(("folder", "file"), [(0o555, 0o444), (0o755, 0o444), (0o555, 0o644)])
def test_a_journal_that_can_not_be_written_is_told_at_open(
    alice: Namespace, folder: int, file: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "memory"
        path = place / "journal.sqlite3"
        fill(path, alice, 1)
        path.chmod(file)
        place.chmod(folder)
        Path(name).chmod(0o755)
        told = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        place.chmod(0o755)
    assert str(path) in told
    assert "check the" in told
    assert "permissions" in told


def test_a_disk_that_is_full_fails_the_append_and_loses_nothing_before(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("kept"), now=clock())
    journal._file.read(lambda db: db.execute("PRAGMA max_page_count = 1"))
    long = Trajectory(
        "long", (), metadata={"incompressible": random.Random(1).randbytes(2**18).hex()}
    )
    with pytest.raises(JournalError, match="disk is full"):
        journal.append_run(alice, long, now=clock())
    assert journal.get_run(alice, "kept") is not None
    assert journal.append_run(alice, csv_run("after"), now=clock())


def test_a_closed_journal_says_so(tmp_path: Path, alice: Namespace, clock: FrozenClock) -> None:
    journal = Journal.open(tmp_path / "journal.sqlite3")
    journal.close()
    journal.close()
    with pytest.raises(ClosedError, match="was closed"):
        journal.append_run(alice, csv_run(), now=clock())


def test_a_journal_held_by_another_program_is_waited_for_and_then_told(
    tmp_path: Path, alice: Namespace, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_file, "BUSY_SECONDS", 0.05)
    with Journal.open(tmp_path / "journal.sqlite3") as journal:
        other = sqlite3.connect(journal.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="another process holds it"):
            journal.append_run(alice, csv_run(), now=clock())
        assert journal.get_run(alice, "run_csv") is None
        other.execute("COMMIT")
        other.close()
        assert journal.append_run(alice, csv_run(), now=clock())


def test_erasing_beside_a_reader_says_that_the_log_was_not_emptied(
    tmp_path: Path, alice: Namespace, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_file, "BUSY_SECONDS", 0.05)
    with Journal.open(tmp_path / "journal.sqlite3") as journal:
        journal.append_run(alice, csv_run(), now=clock())
        reader = sqlite3.connect(journal.path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchone()
        assert not journal.erase(alice).scrubbed
        reader.close()
        assert journal.erase(alice).scrubbed


def test_many_threads_share_one_journal(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    barrier = threading.Barrier(8)

    def work(thread: int) -> int:
        barrier.wait(10)
        taken = 0
        for number in range(10):
            journal.append_run(alice, csv_run(f"{thread}-{number}"), now=clock())
            journal.add_counter("appended")
            taken += journal.lease_next(str(thread), now=clock(), lease_seconds=9) is not None
        return taken

    with ThreadPoolExecutor(8) as pool:
        taken = sum(pool.map(work, range(8)))
    assert taken == journal.counts().leased == 80
    assert journal.counters() == {"appended": 80}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
# What Python warns of, threads of the test runner that are not in the child, does no harm here.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork_parent_and_child_write_the_same_journal(
    journal: Journal, alice: Namespace, clock: FrozenClock
) -> None:
    journal.append_run(alice, csv_run("before"), now=clock())
    pid = os.fork()
    if pid == 0:  # the child may not run the rest of the tests, whatever happens
        status = 1
        try:
            for number in range(20):
                journal.append_run(alice, csv_run(f"child-{number}"), now=clock())
            status = 0 if journal.get_run(alice, "before") is not None else 2
        finally:
            os._exit(status)
    for number in range(20):
        journal.append_run(alice, csv_run(f"parent-{number}"), now=clock())
    # Closing here must not remove the write-ahead log under the child.
    journal._file.close()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with Journal.open(journal.path) as reopened:
        assert reopened.counts().pending == 41


C_FORK = """
import ctypes, os, sys
from pathlib import Path
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal
from hindsight_core.testing import FrozenClock, csv_run
journal, alice, now = Journal.open(Path(sys.argv[1])), Namespace.of("alice"), FrozenClock()()
journal.append_run(alice, csv_run("before"), now=now)
if sys.argv[2] == "busy":
    journal._file._connection.execute("BEGIN IMMEDIATE")
pid = ctypes.PyDLL(None).fork()
if pid == 0:
    ctypes.pythonapi.PyOS_AfterFork_Child()
    try:
        journal.append_run(alice, csv_run("child"), now=now)
    except Exception as error:
        print(error, flush=True)
    finally:
        os._exit(0)
if sys.argv[2] == "busy":
    journal._file._connection.execute("COMMIT")
os.waitpid(pid, 0)
journal.append_run(alice, csv_run("parent"), now=now)
print(sorted(run.run_id for run in journal.runs()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks by the C library")
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_server_that_forks_in_c_harms_no_one(tmp_path: Path, state: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", C_FORK, str(tmp_path / "journal.sqlite3"), state],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    if state == "idle":
        assert told == ["['before', 'child', 'parent']"]
    else:
        assert "forked while journal" in told[0]
        assert told[1:] == ["['before', 'parent']"]


def test_threads_that_make_one_journal_at_once_all_get_it(tmp_path: Path) -> None:
    for number in range(12):
        path = tmp_path / f"{number}.sqlite3"
        opened: list[Journal] = []
        gate = threading.Barrier(6)

        def open_one(
            path: Path = path, gate: threading.Barrier = gate, opened: list[Journal] = opened
        ) -> None:
            gate.wait(30)
            opened.append(Journal.open(path))

        threads = [threading.Thread(target=open_one) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(opened) == 6
        for journal in opened:
            journal.close()
