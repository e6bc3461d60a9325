"""The background worker: waking, draining, failing and retrying."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import (
    ConfigurationError,
    HindsightError,
    JournalError,
    ModelCallError,
    ModelReplyError,
    ModelUnavailableError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal, JournaledRun, RunResult
from hindsight_core.runs.worker import ReflectionWorker
from hindsight_core.runs.worker_retry import MAX_ATTEMPTS, retry_delay
from hindsight_core.testing import FrozenClock, csv_run

BUSY = ModelCallError("too many requests", status=429, retry_after=3, retryable=True)
Build = Callable[..., ReflectionWorker]


class Script:
    """A `process` that raises what it is told to, one item for each call, and then finishes."""

    def __init__(self, journal: Journal, clock: FrozenClock) -> None:
        self._journal = journal
        self._clock = clock
        self.errors: list[BaseException | None] = []
        self.seen: list[str] = []
        self.reported: list[tuple[str, str]] = []

    def __call__(self, run: JournaledRun) -> None:
        self.seen.append(run.run_id)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        result = RunResult(reflection_status="nothing_to_learn")
        self._journal.finish(run.namespace, run.run_id, result, now=self._clock(), owner="w")

    def report(self, run: JournaledRun, error: Exception) -> None:
        self.reported.append((run.run_id, str(error)))


@pytest.fixture
def script(journal: Journal, clock: FrozenClock) -> Script:
    return Script(journal, clock)


@pytest.fixture
def build(journal: Journal, script: Script, clock: FrozenClock) -> Iterator[Build]:
    made: list[ReflectionWorker] = []

    def build_one(process: Any = None, **options: Any) -> ReflectionWorker:
        given: dict[str, Any] = {
            "owner": "w",
            "clock": clock,
            "lease_seconds": 60.0,
            "poll_seconds": 60.0,
            "drain_seconds": 5.0,
            "on_failure": script.report,
            **options,
        }
        worker = ReflectionWorker(journal, process or script, **given)
        made.append(worker)
        return worker

    yield build_one
    for worker in made:
        worker.close(0.1)


def append(journal: Journal, clock: FrozenClock, *ids: str, tenant: str = "alice") -> None:
    for run_id in ids:
        journal.append_run(Namespace.of(("acme", tenant)), csv_run(run_id), now=clock())


def run_of(journal: Journal, namespace: Namespace, run_id: str) -> JournaledRun:
    run = journal.get_run(namespace, run_id)
    assert run is not None
    return run


def test_runs_are_worked_through_oldest_first(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    worker = build()
    append(journal, clock, "a", "b", "c")
    assert worker.flush(10)
    assert script.seen == ["a", "b", "c"]
    assert journal.counts().done == 3
    assert (worker.stats().processed, worker.stats().running) == (3, False)


def test_a_sleeping_worker_is_woken_by_notify(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    worked = threading.Event()

    def process(run: JournaledRun) -> None:
        script(run)
        worked.set()

    worker = build(process)
    assert worker.flush(10)
    append(journal, clock, "r")
    assert not worked.is_set()
    worker.notify()
    assert worked.wait(10)


def test_runs_that_others_left_are_found_by_looking(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    worked = threading.Event()

    def process(run: JournaledRun) -> None:
        script(run)
        worked.set()

    build(process, poll_seconds=0.02).start()
    append(journal, clock, "left by another process")
    assert worked.wait(10)


def test_a_worker_keeps_to_its_namespaces(
    journal: Journal, build: Build, script: Script, clock: FrozenClock, alice: Namespace
) -> None:
    append(journal, clock, "theirs", tenant="bob")
    append(journal, clock, "ours")
    assert build(namespaces=[alice]).flush(10)
    assert script.seen == ["ours"]


def test_a_busy_model_is_asked_again_when_it_said(
    journal: Journal, build: Build, script: Script, clock: FrozenClock, alice: Namespace
) -> None:
    script.errors = [BUSY, BUSY]
    worker = build()
    append(journal, clock, "r")
    assert worker.flush(10)
    for attempt in (1, 2):
        run = run_of(journal, alice, "r")
        assert (run.status, run.attempts) == ("pending", attempt)
        assert run.retry_at == clock() + timedelta(seconds=3)
        clock.advance(seconds=2.9)
        assert worker.flush(10)
        assert len(script.seen) == attempt
        clock.advance(seconds=0.1)
        assert worker.flush(10)
    assert run_of(journal, alice, "r").status == "done"
    assert script.reported == [("r", "too many requests")] * 2
    assert journal.counters() == {"reflection_retries": 2}
    assert (worker.stats().retried, worker.stats().paused_until) == (2, None)


def test_no_other_run_is_wasted_on_a_busy_model(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    script.errors = [BUSY]
    worker = build()
    append(journal, clock, "a", "b")
    assert not worker.flush(0.2)
    assert script.seen == ["a"]
    assert worker.stats().paused_until == clock() + timedelta(seconds=3)
    clock.advance(seconds=3)
    assert worker.flush(10)
    assert script.seen == ["a", "b", "a"]


def test_a_refused_key_is_not_tried_again(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    alice: Namespace,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.errors = [ModelCallError("401 unauthorized", status=401)]
    worker = build()
    append(journal, clock, "r", "next")
    with caplog.at_level(logging.WARNING, "hindsight_core"):
        assert worker.flush(10)
    clock.advance(days=1)
    assert worker.flush(10)
    run = run_of(journal, alice, "r")
    assert (run.status, run.reason, run.attempts) == ("failed", "401 unauthorized", 1)
    assert script.seen == ["r", "next"]
    assert journal.counters() == {"reflection_failures": 1}
    assert [record.getMessage() for record in caplog.records] == [
        "reflection on run r failed: 401 unauthorized"
    ]


@pytest.mark.parametrize(
    ("error", "reason", "raw_reply"),
    [
        (ModelReplyError("no lessons", raw_reply="Sure!"), "no lessons", "Sure!"),
        (ConfigurationError("a wrong setting"), "a wrong setting", ""),
        (ValueError("a bug"), "ValueError: a bug", ""),
        (SystemExit(3), "stopped by SystemExit: 3", ""),
        (KeyboardInterrupt(), "stopped by KeyboardInterrupt: ", ""),
        (asyncio.CancelledError(), "stopped by CancelledError: ", ""),
    ],
)
def test_any_other_error_fails_the_run_and_not_the_worker(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    alice: Namespace,
    error: BaseException,
    reason: str,
    raw_reply: str,
) -> None:
    script.errors = [error]
    worker = build()
    append(journal, clock, "bad", "good")
    assert worker.flush(10)
    run = run_of(journal, alice, "bad")
    assert (run.status, run.reason, run.raw_reply) == ("failed", reason, raw_reply)
    assert run_of(journal, alice, "good").status == "done"
    assert [run_id for run_id, _ in script.reported] == ["bad"]
    assert (worker.stats().failed, worker.stats().processed) == (1, 1)


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailableError("away"),
        StoreLockedError("held"),
        ModelUnavailableError("no model"),
        JournalError("busy"),
        ModelCallError("502", status=502, retryable=True),
    ],
)
def test_a_failure_that_may_pass_is_retried_a_bounded_number_of_times(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    alice: Namespace,
    error: HindsightError,
) -> None:
    script.errors = [error] * 100
    worker = build()
    append(journal, clock, "r")
    started = clock()
    for _ in range(MAX_ATTEMPTS):
        assert worker.flush(10)
        retry_at = run_of(journal, alice, "r").retry_at
        if retry_at is not None:
            clock.set(retry_at)
    run = run_of(journal, alice, "r")
    assert (run.status, run.attempts, len(script.seen)) == ("failed", MAX_ATTEMPTS, MAX_ATTEMPTS)
    assert run.reason == f"gave up after {MAX_ATTEMPTS} attempts: {error}"
    assert clock() - started == timedelta(seconds=5 * (2**7 - 1))
    assert journal.retry([alice], now=clock()) == 1
    script.errors = []
    clock.advance(hours=1)
    assert worker.flush(10)
    assert run_of(journal, alice, "r").status == "done"


@pytest.mark.parametrize(
    ("retry_after", "failures", "delay"),
    [
        (None, 1, 5.0),
        (None, 3, 20.0),
        (None, 10_000, 600.0),
        (0, 2, 10.0),
        (-5, 1, 5.0),
        (float("nan"), 1, 5.0),
        (1.5, 4, 1.5),
        (10**9, 1, 86_400.0),
    ],
)
def test_waits_grow_and_are_bounded(retry_after: float | None, failures: int, delay: float) -> None:
    error = ModelCallError("busy", retry_after=retry_after, retryable=True)
    assert retry_delay(error, failures) == delay


def test_a_run_that_kills_its_process_again_and_again_is_given_up(
    journal: Journal, build: Build, script: Script, clock: FrozenClock, alice: Namespace
) -> None:
    append(journal, clock, "killer")
    for _ in range(MAX_ATTEMPTS):
        assert journal.lease_next("killed", now=clock(), lease_seconds=1) is not None
        clock.advance(seconds=1)
    assert build().flush(10)
    run = run_of(journal, alice, "killer")
    assert (run.status, script.seen) == ("failed", [])
    assert run.reason == f"begun {MAX_ATTEMPTS} times and never ended"


def test_a_process_that_leaves_its_run_open_has_failed(
    journal: Journal, build: Build, script: Script, clock: FrozenClock, alice: Namespace
) -> None:
    append(journal, clock, "r")
    assert build(lambda run: None).flush(10)
    assert run_of(journal, alice, "r").reason == "reflection came back without a result"
    assert len(script.reported) == 1


def test_a_reporter_that_raises_does_no_harm(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def report(run: JournaledRun, error: Exception) -> None:
        raise RuntimeError("reporter broke")

    script.errors = [ValueError("a bug")]
    append(journal, clock, "a", "b")
    assert build(on_failure=report).flush(10)
    assert script.seen == ["a", "b"]
    assert "the failure of run a could not be reported" in caplog.text


def test_not_even_a_reporter_that_exits_ends_the_worker(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def report(run: JournaledRun, error: Exception) -> None:
        raise SystemExit(1)

    script.errors = [ValueError("a bug")]
    worker = build(on_failure=report)
    append(journal, clock, "a", "b")
    worker.flush(10)
    assert worker.flush(10)
    assert script.seen == ["a", "b"]
    assert "the reflection worker stumbled" in caplog.text


def test_a_lease_that_was_taken_over_is_not_ended_by_the_first_owner(
    journal: Journal, build: Build, script: Script, clock: FrozenClock, alice: Namespace
) -> None:
    def slow(run: JournaledRun) -> None:
        later = clock.advance(seconds=60)
        assert journal.lease_next("heir", now=later, lease_seconds=60) is not None
        raise ValueError("too late")

    append(journal, clock, "r")
    assert build(slow).flush(10)
    run = run_of(journal, alice, "r")
    assert (run.status, run.lease_owner, run.reason) == ("leased", "heir", "")


def test_a_damaged_journal_is_logged_and_the_worker_goes_on(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = build(poll_seconds=0.02)
    append(journal, clock, "r")
    journal._file.write(lambda db: db.execute("ALTER TABLE logs RENAME TO hidden"))
    assert not worker.flush(0.1)
    assert "no run could be taken from the journal" in caplog.text
    journal._file.write(lambda db: db.execute("ALTER TABLE hidden RENAME TO logs"))
    assert worker.flush(10)
    assert script.seen == ["r"]


def test_a_failure_that_can_not_be_journaled_is_logged(
    journal: Journal,
    build: Build,
    script: Script,
    clock: FrozenClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def process(run: JournaledRun) -> None:
        journal._file.write(lambda db: db.execute("DROP TABLE counters"))
        raise ValueError("a bug")

    append(journal, clock, "r")
    assert build(process).flush(10)
    assert "the failure of run r could not be journaled" in caplog.text
    assert script.reported == [("r", "a bug")]


def test_flush_waits_no_longer_than_it_was_told(
    journal: Journal, build: Build, clock: FrozenClock
) -> None:
    let_go, begun = threading.Event(), threading.Event()

    def process(run: JournaledRun) -> None:
        begun.set()
        let_go.wait(30)

    worker = build(process)
    append(journal, clock, "r")
    started = time.monotonic()
    assert not worker.flush(0.1)
    assert begun.wait(10)
    assert worker.stats().running
    assert time.monotonic() - started < 10
    let_go.set()
    assert worker.flush(10)


def test_flush_from_within_a_run_does_not_wait_for_itself(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    answers: list[bool] = []

    def process(run: JournaledRun) -> None:
        answers.append(worker.flush(60))
        answers.append(worker.close(60))
        script(run)

    worker = build(process)
    append(journal, clock, "r")
    worker.notify()
    deadline = time.monotonic() + 10
    while journal.counts().done == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert answers == [False, False]
    assert journal.counts().done == 1


def test_close_drains_what_is_due_and_ends_the_thread(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    worker = build()
    append(journal, clock, *"abcdef")
    worker.notify()
    assert worker.close()
    assert script.seen == list("abcdef")
    append(journal, clock, "late")
    worker.notify()
    assert not worker.flush(5)
    assert not worker.close()
    assert script.seen == list("abcdef")
    assert journal.backlog() == 1


def test_close_leaves_the_rest_in_the_journal_when_its_time_is_up(
    journal: Journal, build: Build, clock: FrozenClock, alice: Namespace
) -> None:
    let_go, begun = threading.Event(), threading.Event()

    def process(run: JournaledRun) -> None:
        begun.set()
        let_go.wait(30)

    worker = build(process, drain_seconds=0.1)
    append(journal, clock, "stuck", "waiting")
    worker.notify()
    assert begun.wait(10)
    assert not worker.close()
    assert run_of(journal, alice, "stuck").status == "leased"
    assert run_of(journal, alice, "waiting").status == "pending"
    let_go.set()


def test_a_worker_that_was_never_used_closes_at_once(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    assert build().close()
    append(journal, clock, "r")
    worker = build()
    assert not worker.close()
    assert script.seen == []


def test_a_closed_journal_ends_the_worker_quietly(
    tmp_path: Path, clock: FrozenClock, alice: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal.open(tmp_path / "other.sqlite3")
    ended = threading.Event()

    def process(run: JournaledRun) -> None:
        journal.close()
        ended.set()
        raise ValueError("too late")

    worker = ReflectionWorker(
        journal,
        process,
        owner="w",
        clock=clock,
        lease_seconds=60,
        poll_seconds=0.01,
        drain_seconds=5,
        on_failure=lambda run, error: None,
    )
    append(journal, clock, "r")
    worker.notify()
    assert ended.wait(10)
    assert worker.close()


def test_a_worker_that_nobody_refers_to_ends_its_thread(
    journal: Journal, clock: FrozenClock
) -> None:
    worker = ReflectionWorker(
        journal,
        lambda run: None,
        owner="w",
        clock=clock,
        lease_seconds=60,
        poll_seconds=60,
        drain_seconds=5,
        on_failure=lambda run, error: None,
    )
    assert worker.flush(10)
    thread = worker._thread
    gone = weakref.ref(worker)
    del worker
    gc.collect()
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    assert gone() is None


def test_memory_holds_one_run_at_a_time(
    journal: Journal, build: Build, script: Script, clock: FrozenClock
) -> None:
    held: list[int] = []

    def process(run: JournaledRun) -> None:
        gc.collect()
        runs = [thing for thing in gc.get_objects() if type(thing) is JournaledRun]
        held.append(sum(run.run_id.startswith("one of twenty") for run in runs))
        script(run)

    worker = build(process)
    append(journal, clock, *(f"one of twenty {number}" for number in range(20)))
    assert worker.flush(60)
    assert held == [1] * 20
