"""`versions`, `rollback`, `restore` and `review`."""

from __future__ import annotations

from datetime import datetime

from hindsight_core.errors import ConfigurationError
from hindsight_core.learning import propose
from hindsight_core.lifecycle.review import ReviewItem, plan_queue
from hindsight_core.lifecycle.rollback import RolledBack, plan_run_rollback
from hindsight_core.lifecycle.standing import as_it_stood, released, restored, unlinked
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.lifecycle.versions import Version, lifeline, version_for
from hindsight_core.models import Memory
from hindsight_core.plans import Plan, ask, blocking
from hindsight_core.reconcile.neighbors import Proposal
from hindsight_core.reconcile.writer import Revision
from hindsight_core.store.base import Get, Record
from hindsight_core.verbs.scope import Scope

__all__ = ["plan_release", "plan_restore", "plan_review", "plan_rollback", "plan_versions"]

MAX_REVIEW = 1_000


def plan_rollback(
    scope: Scope, *, memory_id: str, run_id: str, to: int | datetime | None, dry_run: bool
) -> Plan[RolledBack]:
    """Take back one memory to an earlier version, or all that a run taught."""
    scope.require_open()
    if bool(memory_id) == bool(run_id):
        raise ConfigurationError(
            "rollback needs either a memory_id or a run_id, not both and not neither; "
            "nothing was changed"
        )
    if run_id and to is not None:
        raise ConfigurationError("to= goes with a memory_id; a run is rolled back as a whole")
    yield from scope.engine.writer.redo(scope.engine.clock())
    if run_id:
        return (yield from _rollback_run(scope, run_id, dry_run))
    return (yield from _rollback_memory(scope, memory_id, to, dry_run))


def plan_release(scope: Scope, memory_id: str, reason: str) -> Plan[Memory]:
    """Let a memory out of quarantine."""
    scope.require_open()
    record = yield from _own(scope, memory_id)
    yield from _write(scope, [], [released(record.memory, scope.engine.clock(), reason)])
    return (yield from _own(scope, memory_id)).memory


def plan_restore(scope: Scope, memory_id: str, reason: str) -> Plan[Memory]:
    """Bring an archived, forgotten or replaced memory back into everyday use."""
    scope.require_open()
    record = yield from _own(scope, memory_id)
    now = scope.engine.clock()
    revisions = [restored(record.memory, now, reason)]
    replacer = yield from _find(scope, record.memory.superseded_by)
    if replacer is not None and memory_id in replacer.memory.supersedes:
        revisions.append(unlinked(replacer.memory, memory_id))
    yield from _write(scope, [], revisions)
    return (yield from _own(scope, memory_id)).memory


def plan_versions(scope: Scope, memory_id: str) -> Plan[tuple[Version, ...]]:
    """Return a memory's line of versions."""
    scope.require_open()
    records = yield from ask(Get(scope.readable, (memory_id,)))
    if not records:
        raise scope.not_found(memory_id)
    return lifeline(records[0])


def plan_review(scope: Scope, limit: int, seed: int) -> Plan[tuple[ReviewItem, ...]]:
    """Return what a person should judge."""
    scope.require_open()
    if not 1 <= limit <= MAX_REVIEW:
        raise ConfigurationError(f"limit {limit!r} is not in 1–{MAX_REVIEW}")
    engine = scope.engine
    return (
        yield from plan_queue(
            scope.namespace, engine.profile.lifecycle, engine.clock(), limit=limit, seed=seed
        )
    )


def _rollback_run(scope: Scope, run_id: str, dry_run: bool) -> Plan[RolledBack]:
    engine, now = scope.engine, scope.engine.clock()
    found = yield from plan_run_rollback(
        scope.namespace,
        run_id,
        least_evidence=engine.profile.lifecycle.consolidate_evidence,
        now=now,
    )
    if not dry_run:
        yield from _write(scope, [], list(found.revisions), run_id)
    return RolledBack(found.steps, dry_run)


def _rollback_memory(
    scope: Scope, memory_id: str, to: int | datetime | None, dry_run: bool
) -> Plan[RolledBack]:
    record = yield from _own(scope, memory_id)
    before, now = record.memory, scope.engine.clock()
    wanted = version_for(record, to).fields["superseded_by"]
    then = yield from _find(scope, wanted)
    after, reason = as_it_stood(record, to, then.memory if then else None, now)
    revisions: list[Revision] = []
    today = yield from _find(scope, before.superseded_by)
    if today is not None and after.superseded_by != today.memory.id:
        revisions.append(unlinked(today.memory, memory_id))
    if dry_run:
        return RolledBack((Tended.of(after, "revised", reason),), dry_run=True)
    if after.content == before.content and after.task_description == before.task_description:
        yield from _write(scope, [], [Revision(before, after, "rolled back", reason), *revisions])
    else:
        engine = scope.engine
        proposals = yield from blocking(
            lambda: propose([after], engine.dense, engine.sparse, reason=reason)
        )
        yield from _write(scope, proposals, revisions)
    return RolledBack((Tended.of(after, "revised", reason),))


def _write(
    scope: Scope, proposals: list[Proposal], revisions: list[Revision], run_id: str = ""
) -> Plan[None]:
    """Write everything as one change set, so that nothing is half undone."""
    engine = scope.engine
    yield from engine.writer.write(
        scope.namespace,
        proposals,
        revisions,
        lifecycle=engine.profile.lifecycle,
        now=engine.clock(),
        run_id=run_id,
    )


def _own(scope: Scope, memory_id: str) -> Plan[Record]:
    """Return a memory of the own namespace; what is shared is not ours to change."""
    found = yield from _find(scope, memory_id)
    if found is None:
        raise scope.not_found(memory_id)
    return found


def _find(scope: Scope, memory_id: str) -> Plan[Record | None]:
    if not memory_id:
        return None
    records = yield from ask(Get((scope.namespace,), (memory_id,)))
    return records[0] if records else None
