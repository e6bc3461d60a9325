"""`submit` and `reflect`: a finished run comes in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from hindsight_core.errors import HindsightError, ReflectionError
from hindsight_core.models import Memory, Reflection
from hindsight_core.runs.journal import JournaledRun, LogHit
from hindsight_core.runs.worker_retry import retry_delay
from hindsight_core.safety.marks import strip_trajectory
from hindsight_core.store.base import Get
from hindsight_core.trajectory import Trajectory
from hindsight_core.verbs.checked import check_run
from hindsight_core.verbs.scope import Scope

__all__ = ["reflect_now", "retry_runs", "search_runs", "submit_run"]

SECONDS_BETWEEN_LOOKS = 0.02


def submit_run(scope: Scope, trajectory: Trajectory) -> str:
    """Journal a run, durably, and wake the worker; return its id.

    Recalled blocks are stripped and secrets redacted before anything is written.
    """
    scope.require_open()
    check_run(trajectory)
    engine = scope.engine
    try:
        _journal(scope, trajectory)
    except Exception as error:  # memory never breaks the agent
        if engine.settings.strict:
            raise
        scope.health.note("submit", error, trajectory.run_id)
    else:
        engine.worker.notify()
    return trajectory.run_id


def reflect_now(scope: Scope, trajectory: Trajectory) -> Reflection:
    """Journal a run if that has not been done, and reflect on it in the calling thread.

    Where somebody else is working on it already, they are waited for instead.
    """
    scope.require_open()
    check_run(trajectory)
    engine = scope.engine
    run_id, namespace = trajectory.run_id, scope.namespace
    is_new = _journal(scope, trajectory, lease=True)
    leased = _leased(scope, run_id, is_new=is_new)
    if leased is None:
        _wait_for_holder(scope, run_id)
        engine.is_ready()  # what they planned is in the store when this returns
        return _as_it_stands(scope, run_id)
    try:
        return engine.learn(leased)
    except HindsightError as error:
        raw_reply = error.raw_reply if isinstance(error, ReflectionError) else None
        reason, now = str(error), engine.clock()
        delay = retry_delay(error, leased.attempts)
        engine.journal.fail(
            namespace, run_id, reason=reason, raw_reply=raw_reply or "", now=now,
            retry_at=None if delay is None else now + timedelta(seconds=delay),
        )  # fmt: skip
        if engine.settings.strict:
            raise
        scope.health.note("reflection", error, run_id)
        return Reflection(run_id, "failed", reason=reason)


def retry_runs(scope: Scope, run_ids: Sequence[str]) -> int:
    """Queue failed and shed runs of the own namespace again, and return how many."""
    scope.require_open()
    engine = scope.engine
    count = engine.journal.retry((scope.namespace,), now=engine.clock(), run_ids=tuple(run_ids))
    engine.worker.notify()
    return count


def search_runs(scope: Scope, text: str, limit: int) -> tuple[LogHit, ...]:
    """Return where the raw logs of the own namespace's runs say `text`, newest first."""
    scope.require_open()
    return tuple(scope.engine.journal.search_log(scope.namespace, text, limit))


def _journal(scope: Scope, trajectory: Trajectory, *, lease: bool = False) -> bool:
    """Keep a run, leased to the caller if asked for, and return whether it was new."""
    engine, now = scope.engine, scope.engine.clock()
    clean, counts = engine.redactor.redact_trajectory(strip_trajectory(trajectory))
    status: Literal["pending", "shed"] = "pending"
    if not lease and engine.backlog.is_full(scope.namespace):
        status = "shed"
    added = engine.journal.append_run(
        scope.namespace,
        clean,
        now=now,
        status=status,
        lease_to=engine.worker.owner if lease else "",
        lease_until=now + timedelta(seconds=engine.settings.lease_seconds),
    )
    if added:
        for name, count in counts.items():
            engine.journal.add_counter(f"redacted:{name}", count)
    return added


def _leased(scope: Scope, run_id: str, *, is_new: bool) -> JournaledRun | None:
    """Return the run to reflect on, `None` if it is done or somebody else is working on it."""
    engine = scope.engine
    if is_new:
        return engine.journal.get_run(scope.namespace, run_id)
    return engine.journal.lease_run(
        scope.namespace,
        run_id,
        engine.worker.owner,
        now=engine.clock(),
        lease_seconds=engine.settings.lease_seconds,
    )


def _wait_for_holder(scope: Scope, run_id: str) -> None:
    """Wait until nobody holds the run any more, a whole lease at most."""
    journal = scope.engine.journal
    deadline = time.monotonic() + scope.engine.settings.lease_seconds
    while time.monotonic() < deadline:
        journaled = journal.get_run(scope.namespace, run_id)
        if journaled is None or journaled.status != "leased":
            return
        while (
            journal.is_held(scope.namespace, run_id, journaled.lease_owner)
            and time.monotonic() < deadline
        ):
            # The holder may be a thread of ours or another process; the journal alone knows.
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _as_it_stands(scope: Scope, run_id: str) -> Reflection:
    """Return how a run stands that is done already, or that somebody else is working on."""
    journaled = scope.engine.journal.get_run(scope.namespace, run_id)
    if journaled is None or not journaled.reflection_status:
        reason = journaled.reason if journaled else "the run is not in the journal"
        return Reflection(run_id, "failed", reason=reason or "reflection is under way")
    return Reflection(
        run_id=run_id,
        status=journaled.reflection_status,
        memories=_memories(scope, journaled),
        superseded=journaled.superseded,
        reason=journaled.reason,
        notes=journaled.notes,
        tokens_in=journaled.tokens_in,
        tokens_out=journaled.tokens_out,
        repeated=True,
    )


def _memories(scope: Scope, journaled: JournaledRun) -> tuple[Memory, ...]:
    if not journaled.memory_ids:
        return ()
    records = scope.engine.store.execute(Get((scope.namespace,), journaled.memory_ids))
    return tuple(record.memory for record in records)
