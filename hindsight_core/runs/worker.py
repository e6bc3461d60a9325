"""The background worker: one daemon thread that takes runs from the journal, one at a time.

The queue is the journal on disk, so a backlog costs no memory and survives the process. The
thread sleeps on a condition until `notify` wakes it, and looks by itself every
`poll_seconds` for runs that other processes left.

What goes wrong with a run stays with that run. Failures that may pass (the model is busy, the
store or the embedding model is away) put it back with a growing wait, and the worker takes no
other run meanwhile, since it would meet the same failure; after `MAX_ATTEMPTS` the run is
failed. Any other error fails it at once. A `BaseException` that `process` raises
(`SystemExit`, `CancelledError`, `KeyboardInterrupt`) is treated like any other error: in a
thread of its own it can neither end the process nor answer a key press.

At exit, live workers are drained within their drain time; a run stuck in a call is left to
the next process, which takes it over when its lease runs out or its owner is seen to be dead.
After a fork the child has no thread until it uses its worker, which then starts one.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Unpack

from hindsight_core.clock import Clock
from hindsight_core.errors import ClosedError, HindsightError, ReflectionError
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import Journal, JournaledRun
from hindsight_core.runs.journal_owner import owner_in_child, owner_is_alive
from hindsight_core.runs.worker_retry import MAX_ATTEMPTS, reason_of, retry_delay
from hindsight_core.runs.worker_signal import Signal
from hindsight_core.runs.worker_stats import Counts, WorkerStats

__all__ = ["ReflectionWorker"]

logger = logging.getLogger(__name__)


class ReflectionWorker:
    """Takes runs from the journal and has them processed, until it is closed.

    Nothing runs before `start`, `notify` or `flush`.

    Args:
        journal: Where the runs are.
        process: Reflects on one leased run and ends it in the journal (`finish`, or
            `plan_changes` and `mark_applied`). A run that it leaves leased is failed.
        owner: Name of this worker in leases, unique on the host; `new_owner` makes one.
        clock: Tells when runs are due. Waiting itself uses real time.
        lease_seconds: After this time others may take a run over.
        poll_seconds: Seconds between looks for runs that others left.
        drain_seconds: Most seconds that `close` and exit wait for runs that are due.
        on_failure: Told of each failure once, after it was logged and journaled. What it
            raises is logged.
        namespaces: Whose runs to take, `None` for everybody's.
        ready: Asked before each run; while it says no, none is taken and none fails.
    """

    def __init__(
        self,
        journal: Journal,
        process: Callable[[JournaledRun], None],
        *,
        owner: str,
        clock: Clock,
        lease_seconds: float,
        poll_seconds: float,
        drain_seconds: float,
        on_failure: Callable[[JournaledRun, Exception], None],
        namespaces: Sequence[Namespace] | None = None,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ready = ready
        self._journal = journal
        self._process = process
        self._owner = owner
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._on_failure = on_failure
        self._namespaces = namespaces
        self._lock = threading.Lock()
        self._signal = Signal()
        self._thread: threading.Thread | None = None
        self._failures_in_a_row = 0
        self._stats = WorkerStats()
        self.drain_seconds = drain_seconds
        weakref.finalize(self, self._signal.wake, closing=True).atexit = False
        _live.add(self)

    @property
    def owner(self) -> str:
        """Name of this worker in leases; a forked child has one of its own."""
        return self._owner

    def start(self) -> None:
        """Start the thread unless it runs already or the worker was closed."""
        with self._lock:
            if self._signal.closing or (self._thread is not None and self._thread.is_alive()):
                return
            thread = threading.Thread(
                target=_work,
                args=(weakref.ref(self), self._signal, self._poll_seconds),
                name="hindsight-reflection",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError as error:  # the interpreter is shutting down
                logger.debug("no thread for reflection: %s", error)
                return
            self._thread = thread

    def notify(self) -> None:
        """Say that a run may have become due."""
        self.start()
        self._signal.wake()

    def flush(self, timeout: float) -> bool:
        """Wait until no run is due, for at most `timeout` seconds.

        A run that waits for its retry time is not due. Runs that other processes hold are
        theirs.

        Returns:
            Whether no run was due in the end. Always `False` from within `process`.
        """
        if threading.current_thread() is self._thread:
            return False
        self.notify()
        deadline = time.monotonic() + timeout
        signal = self._signal
        while True:
            with signal.condition:
                turns, idle = signal.turns, not signal.busy
            due = self._is_due()
            with signal.condition:
                if idle and not due and turns == signal.turns:
                    return True
                left = deadline - time.monotonic()
                if left <= 0 or signal.closing:
                    return False
                if turns == signal.turns:
                    signal.condition.wait(min(left, self._poll_seconds))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for runs that are due within the drain time, then stop; twice is harmless.

        Args:
            timeout: Seconds to wait instead of `drain_seconds`.

        Returns:
            Whether no run was due in the end and the thread has ended. What was due stays in
            the journal.
        """
        budget = self.drain_seconds if timeout is None else timeout
        deadline = time.monotonic() + budget
        thread = self._thread
        drained = self._drained(budget)
        self._signal.wake(closing=True)
        if thread is None or thread is threading.current_thread():
            return drained
        # An idle thread needs a moment to see that it is to end, even with no time to drain.
        thread.join(max(0.5 if drained else 0.05, deadline - time.monotonic()))
        return drained and not thread.is_alive()

    def stats(self) -> WorkerStats:
        """Return what this worker did so far."""
        with self._lock:
            return self._stats

    def drain_at_exit(self, timeout: float) -> None:
        """Drain as `close` does while the interpreter goes down."""
        self._signal.exiting = True
        if self._thread is not None:
            self.close(timeout)

    def reset_after_fork(self) -> None:
        """Become a worker without a thread, in a child process."""
        self._lock = threading.Lock()
        closing = self._signal.closing
        self._signal = Signal()
        self._signal.closing = closing
        self._thread = None
        self._owner = owner_in_child(self._owner)

    def _drained(self, budget: float) -> bool:
        if self._signal.closing or self._thread is None or not self._ready():
            return not self._is_due()
        return self.flush(budget)

    def _is_due(self) -> bool:
        try:
            return self._journal.backlog(self._namespaces, due_by=self._clock()) > 0
        except HindsightError as error:
            logger.debug("can't tell whether runs are due: %s", error)
            return not isinstance(error, ClosedError)

    def step(self) -> bool:
        """Work on one run that is due in the calling thread, and return whether there was one.

        The thread calls this again and again; it never raises what `process` raises.
        """
        now = self._clock()
        paused = self._stats.paused_until
        if paused is not None and now < paused:
            return False
        try:
            run = self._next_run(now)
        except ClosedError:
            self._signal.wake(closing=True)
            return False
        except Exception:
            logger.exception("no run could be taken from the journal; trying again later")
            return False
        if run is None:
            return False
        self._work_on(run)
        return True

    def _next_run(self, now: datetime) -> JournaledRun | None:
        """Lease the next run that is due; when there is none, one whose holder has died."""
        if not self._ready():
            return None
        lease = partial(
            self._journal.lease_next,
            self._owner,
            now=now,
            lease_seconds=self._lease_seconds,
            namespaces=self._namespaces,
        )
        run = lease()
        if run is None and self._journal.release_dead_leases(owner_is_alive):
            run = lease()
        return run

    def _work_on(self, run: JournaledRun) -> None:
        self._count(running=True)
        try:
            if run.attempts > MAX_ATTEMPTS:
                raise ReflectionError(f"begun {run.attempts - 1} times and never ended")
            self._process(run)
            if self._journal.is_held(run.namespace, run.run_id, self._owner):
                raise ReflectionError("reflection came back without a result")
        except Exception as error:  # noqa: BLE001 - journaled, logged and reported there
            self._failed(run, error)
        except BaseException as error:  # noqa: BLE001 - see the policy above
            wrapped = ReflectionError(f"stopped by {type(error).__name__}: {error}")
            wrapped.__cause__ = error
            self._failed(run, wrapped)
        else:
            self._failures_in_a_row = 0
            self._count(processed=1)
        finally:
            self._count(running=False)

    def _failed(self, run: JournaledRun, error: Exception) -> None:
        try:
            dying = self._signal.exiting and isinstance(error, RuntimeError)
            if dying or isinstance(error, ClosedError):
                # Not the run's fault: the store was closed under it when its time was up, or a
                # dying interpreter refuses new threads and the like, to this run and any other.
                self._signal.wake(closing=True)
                self._journal.release(run.namespace, run.run_id, self._owner)
                return
            self._put_back_or_fail(run, error)
        except ClosedError:
            logger.debug("run %s ended after the journal was closed", run.run_id)
            return
        except Exception:
            logger.exception("the failure of run %s could not be journaled", run.run_id)
        try:
            self._on_failure(run, error)
        except Exception:
            logger.exception("the failure of run %s could not be reported", run.run_id)

    def _put_back_or_fail(self, run: JournaledRun, error: Exception) -> None:
        now = self._clock()
        reason = reason_of(error)
        delay = retry_delay(error, run.attempts)
        retry_at = None
        if delay is None:
            self._failures_in_a_row = 0
        else:
            self._failures_in_a_row += 1
            pause = retry_delay(error, self._failures_in_a_row) or 0.0
            self._count(paused_until=now + timedelta(seconds=pause))
            if run.attempts < MAX_ATTEMPTS:
                retry_at = now + timedelta(seconds=delay)
            else:
                reason = f"gave up after {run.attempts} attempts: {reason}"
        if retry_at is None:
            self._count(failed=1)
            logger.error("reflection on run %s failed: %s", run.run_id, reason, exc_info=error)
        else:
            self._count(retried=1)
            logger.warning(
                "reflection on run %s failed, next attempt in %g s: %s", run.run_id, delay, reason
            )
        self._journal.fail(
            run.namespace,
            run.run_id,
            reason=reason,
            raw_reply=error.raw_reply if isinstance(error, ReflectionError) else None,
            now=now,
            retry_at=retry_at,
            owner=self._owner,
        )
        self._journal.add_counter(
            "reflection_failures" if retry_at is None else "reflection_retries"
        )

    def _count(self, **counts: Unpack[Counts]) -> None:
        with self._lock:
            self._stats = self._stats.counted(**counts)


def _work(reference: weakref.ref[ReflectionWorker], signal: Signal, poll_seconds: float) -> None:
    """Step until the worker is closed or nobody refers to it any more."""
    while not signal.closing:
        seen = signal.wakes
        worker = reference()
        if worker is None:
            return
        signal.turn(busy=True)
        try:
            worked = worker.step()
        except BaseException:
            logger.exception("the reflection worker stumbled; it goes on")
            worked = False
        finally:
            del worker
            signal.turn(busy=False)
        if not worked:
            signal.sleep(seen, poll_seconds)


_live: weakref.WeakSet[ReflectionWorker] = weakref.WeakSet()


def _drain_live_workers() -> None:
    started = time.monotonic()
    for worker in list(_live):
        elapsed = time.monotonic() - started
        worker.drain_at_exit(max(0.0, worker.drain_seconds - elapsed))


def _reset_workers_after_fork() -> None:
    for worker in list(_live):
        worker.reset_after_fork()


atexit.register(_drain_live_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_workers_after_fork)
