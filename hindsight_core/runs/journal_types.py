"""What the journal takes and gives back; all values are frozen, all times aware UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from hindsight_core.models import ReflectionStatus
from hindsight_core.namespaces import Namespace
from hindsight_core.trajectory import Trajectory

__all__ = [
    "RUN_STATUSES",
    "AuditEntry",
    "Erased",
    "Feedback",
    "JournalCounts",
    "JournaledRun",
    "LogHit",
    "PlannedChanges",
    "Recall",
    "RunResult",
    "RunStatus",
]

RunStatus: TypeAlias = Literal["pending", "leased", "applying", "done", "failed", "shed"]

RUN_STATUSES: tuple[RunStatus, ...] = (
    "pending",
    "leased",
    "applying",
    "done",
    "failed",
    "shed",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournaledRun:
    """One run as it stands in the journal.

    Attributes:
        position: Where it stands in the journal, rising with each append; pass it as `before`.
        namespace: Whose run it is.
        run_id: Its id, unique within the namespace.
        trajectory: What happened. Without its log (see `has_log`) it has no steps, no metadata
            and only the first 200 characters of its task.
        status: `pending` waits for reflection, `leased` is being reflected on, `applying` has
            a planned change set, `done` and `failed` have ended, `shed` waits for a retry by
            hand because too many runs were waiting.
        submitted_at: When it was appended.
        attempts: How often it was leased since it was appended or last retried by hand.
        reason: Why it failed, or why nothing was learned.
        raw_reply: What the model answered, verbatim, `""` if it never did.
        reflection_status: How reflection ended, `""` as long as it has not.
        memory_ids: What was stored or strengthened.
        superseded: What that replaced.
        notes: What was skipped, repaired or truncated on the way.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
        retry_at: When a pending run may be tried again, `None` for at once.
        lease_owner: Who holds it, `""` if nobody does.
        lease_until: When the lease runs out, `None` without one.
        finished_at: When it became `done` or `failed`, `None` before.
        has_log: Whether `trajectory` is complete: the log was neither dropped after its
            retention nor left out on request.
    """

    position: int
    namespace: Namespace
    run_id: str
    trajectory: Trajectory
    status: RunStatus
    submitted_at: datetime
    attempts: int = 0
    reason: str = ""
    raw_reply: str = ""
    reflection_status: ReflectionStatus | Literal[""] = ""
    memory_ids: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    retry_at: datetime | None = None
    lease_owner: str = ""
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    has_log: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How the reflection on a run ended.

    Attributes:
        reflection_status: `learned`, `nothing_to_learn` or `failed`.
        memory_ids: What was stored or strengthened.
        superseded: What that replaced.
        reason: Why nothing was learned.
        notes: What was skipped, repaired or truncated on the way.
        raw_reply: What the model answered, verbatim.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
    """

    reflection_status: ReflectionStatus
    memory_ids: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    raw_reply: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One thing that was done to a memory: who, when and why.

    Attributes:
        at: When.
        namespace: Whose memory.
        memory_id: Which memory.
        action: For example `stored`, `strengthened`, `superseded`, `credited`, `forgotten`.
        run_id: The run behind it, `""` if none.
        actor: Who did it, for example `reflection`, `user`, `cli`.
        reason: Why, in words.
        version: The memory's version afterwards.
    """

    at: datetime
    namespace: Namespace
    memory_id: str
    action: str
    run_id: str = ""
    actor: str = ""
    reason: str = ""
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChanges:
    """A change set that was decided on and may or may not have reached the store yet.

    Attributes:
        change_id: Pass it to `mark_applied` or `abandon`; rises with each plan.
        namespace: Whose memories it changes.
        run_id: The run behind it, `""` if none.
        blob: The changes, as they were given.
        audit: Becomes part of the audit once the changes are applied.
        planned_at: When it was decided on.
        finishes_run: Whether the run is done once the changes are applied.
    """

    change_id: int
    namespace: Namespace
    run_id: str
    blob: bytes
    audit: tuple[AuditEntry, ...]
    planned_at: datetime
    finishes_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What one run was given to read, and for which query.

    Attributes:
        run_id: The run.
        memory_ids: The memories in its brief, best first.
        query: What was asked for.
        at: When.
    """

    run_id: str
    memory_ids: tuple[str, ...]
    query: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What somebody said about a run or a memory.

    Attributes:
        run_id: The run it is about, `""` if about a memory alone.
        memory_id: The memory it is about, `""` if about a run as a whole.
        outcome: How the run turned out, `""` if not said.
        helpful: Whether the memory helped, `None` if not said.
        source: Who said it.
        reason: Why, in words.
        at: When it was first said.
    """

    run_id: str
    memory_id: str
    outcome: str
    helpful: bool | None
    source: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCounts:
    """How many runs stand where, and what reflection on them cost.

    Attributes:
        pending: Runs waiting for reflection.
        leased: Runs being reflected on.
        applying: Runs whose changes are on their way to the store.
        done: Runs that ended well.
        failed: Runs that ended badly and can be retried.
        shed: Runs kept without reflection because too many were waiting.
        learned: Done runs that taught something.
        nothing_to_learn: Done runs that did not.
        tokens_in: Tokens sent to models for all of them.
        tokens_out: Tokens that the models answered.
    """

    pending: int = 0
    leased: int = 0
    applying: int = 0
    done: int = 0
    failed: int = 0
    shed: int = 0
    learned: int = 0
    nothing_to_learn: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHit:
    """One run whose raw log holds the text that was looked for.

    Attributes:
        run_id: The run.
        step: Position of the first matching step, counted from 0, or -1 for the task.
        excerpt: The place with a little of what stands around it, on one line.
        submitted_at: When the run was appended.
    """

    run_id: str
    step: int
    excerpt: str
    submitted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """The receipt of an erasure: how many rows of each sort are gone.

    Attributes:
        runs: Runs with their logs.
        changes: Change sets that had not been applied.
        recalls: Recalls.
        feedback: Feedback.
        audit: Audit entries.
        scrubbed: Whether the write-ahead log was emptied too. `False` when another process
            was reading meanwhile; then its old pages go with the next checkpoint.
    """

    runs: int
    changes: int
    recalls: int
    feedback: int
    audit: int
    scrubbed: bool
