"""`store`, `feedback` and `forget`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from hindsight_core.errors import ConfigurationError
from hindsight_core.learning import propose
from hindsight_core.lifecycle.feedback import credit_run, judge_memory, rejudge_run
from hindsight_core.lifecycle.rejudge import most_trusted, verdicts_of
from hindsight_core.models import Memory, Status
from hindsight_core.options import FeedbackOptions, FilterOptions, ListOptions, StoreOptions
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision, Written
from hindsight_core.store.base import Get, MemoryFilter, Record, Scroll
from hindsight_core.store.jsonsafe import clean_text
from hindsight_core.store.narrowing import check_label
from hindsight_core.trajectory import OUTCOME_SOURCES, Outcome
from hindsight_core.verbs.checked import options_given
from hindsight_core.verbs.given import memory_of
from hindsight_core.verbs.reading import memory_filter
from hindsight_core.verbs.scope import Scope

__all__ = ["BATCH", "plan_feedback", "plan_forget", "store_all", "store_batch"]

BATCH = 64
"""Memories that are embedded and written at once."""
REMEMBERED: tuple[Status, ...] = ("active", "superseded", "archived", "quarantined")
"""Every status but `forgotten`."""


def store_batch(scope: Scope, items: Sequence[tuple[str, StoreOptions]]) -> tuple[Memory, ...]:
    """Write memories by hand, `BATCH` at a time; return where each one ended.

    All are checked before the first one is written.
    """
    scope.require_open()
    memories = [memory_of(scope, content, options) for content, options in items]
    return tuple(
        written
        for start in range(0, len(memories), BATCH)
        for written in _write_batch(scope, memories[start : start + BATCH])
    )


def _write_batch(scope: Scope, memories: Sequence[Memory]) -> tuple[Memory, ...]:
    engine = scope.engine
    now = engine.clock()
    proposals = propose(memories, engine.dense, engine.sparse)
    with engine.writer.lock:
        written: Written = engine.run(
            engine.writer.write(
                scope.namespace, proposals, [], lifecycle=engine.profile.lifecycle, now=now
            )
        )
    return written.by_proposal


def store_all(scope: Scope, items: Iterable[Mapping[str, Any]]) -> list[Memory]:
    """Write memories by hand from mappings; return where each one ended.

    Raises:
        ConfigurationError: If one can't be stored; then none was.
    """
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise ConfigurationError(
            f"store_many got {type(items).__name__}; give a list of mappings, each with its content"
        )
    return list(store_batch(scope, [_split(item) for item in items]))


def _split(item: Mapping[str, Any]) -> tuple[str, StoreOptions]:
    if not isinstance(item, Mapping):
        raise ConfigurationError(
            f"an item to store is {type(item).__name__}: {item!r}; give a mapping with its "
            'content and options, for example {"content": "…", "tags": ["…"]}'
        )
    rest = dict(item)
    try:
        content = rest.pop("content")
    except KeyError:
        raise ConfigurationError(f"an item to store has no content: {item!r}") from None
    return content, cast("StoreOptions", rest)


def plan_feedback(scope: Scope, options: FeedbackOptions) -> Plan[tuple[Memory, ...]]:
    """Take in a verdict about a run or a memory; return the memories that it changed."""
    scope.require_open()
    options = options_given("feedback", options, FeedbackOptions.__optional_keys__)
    engine, now = scope.engine, scope.engine.clock()
    run_id, memory_id = options.get("run_id", ""), options.get("memory_id", "")
    if memory_id:  # of a run, its outcome looks
        check_label("source", options.get("source", "user"), OUTCOME_SOURCES)
    reason = engine.redactor.redact(clean_text(options.get("reason", ""))).text
    outcome = _outcome(options, reason)
    engine.recalls.flush()

    def note() -> None:
        engine.journal.record_feedback(
            scope.namespace,
            run_id=run_id,
            memory_id=memory_id,
            outcome=outcome.label if outcome else "",
            helpful=options.get("helpful"),
            source=options.get("source", "user"),
            reason=reason,
            now=now,
        )

    if memory_id:
        revisions = yield from _on_memory(scope, options, reason)
        note()
    elif run_id and outcome:
        present = _present_trust(scope, run_id)
        # Noted before the run's memories are looked for: a reflection that is under way looks
        # for verdicts after it has written them, so that one of the two sees the other.
        note()
        revisions = yield from _on_run(scope, run_id, outcome, present)
    else:
        raise ConfigurationError(
            "feedback needs run_id and outcome, or memory_id and helpful; "
            f"got {', '.join(options) or 'nothing'}"
        )
    return (yield from _revise(scope, revisions, run_id))


def plan_forget(
    scope: Scope, *, memory_id: str, run_id: str, filters: FilterOptions, reason: str
) -> Plan[tuple[str, ...]]:
    """Soft-delete by id, by run or by filter; return the ids that are forgotten now."""
    scope.require_open()
    filters = options_given("forget", filters, FilterOptions.__optional_keys__)
    if not (memory_id or run_id or any(filters.values())):  # an empty filter would mean all
        raise ConfigurationError(
            "forget needs a memory_id, a run_id or a filter; nothing was forgotten"
        )
    where = _forgettable(scope, run_id, filters)
    if memory_id:
        found: list[Record] = list((yield from ask(Get((scope.namespace,), (memory_id,)))))
    else:
        found = yield from _all(where)
    revisions = [
        Revision(r.memory, replace(r.memory, status="forgotten"), "forgotten", reason)
        for r in found
        if r.memory.status != "forgotten"
    ]
    yield from _revise(scope, revisions, run_id)
    return tuple(revision.before.id for revision in revisions)


def _says_it_again(scope: Scope, memory_id: str, helpful: bool, source: str) -> bool:
    """Whether one source praises a memory twice in a row; repetition raises nothing."""
    said = scope.engine.journal.feedback(scope.namespace, memory_id=memory_id)
    by_source = [feedback.helpful for feedback in said if feedback.source == source]
    return helpful and by_source[-1:] == [True]


def _revise(scope: Scope, revisions: list[Revision], run_id: str) -> Plan[tuple[Memory, ...]]:
    if not revisions:
        return ()
    engine = scope.engine
    for start in range(0, len(revisions), BATCH):
        yield from engine.writer.write(
            scope.namespace,
            [],
            revisions[start : start + BATCH],
            lifecycle=engine.profile.lifecycle,
            now=engine.clock(),
            run_id=run_id,
        )
    ids = tuple(revision.before.id for revision in revisions)
    records = yield from ask(Get(scope.readable, ids))
    return tuple(record.memory for record in records)


def _forgettable(scope: Scope, run_id: str, filters: FilterOptions) -> MemoryFilter:
    wanted: ListOptions = {"statuses": REMEMBERED, "run_id": run_id}
    wanted.update(cast("ListOptions", filters))
    return memory_filter((scope.namespace,), wanted)


def _all(where: MemoryFilter) -> Plan[list[Record]]:
    records: list[Record] = []
    cursor: str | None = None
    while True:
        page = yield from ask(Scroll(where, 256, cursor))
        records += page.records
        cursor = page.cursor
        if cursor is None:
            return records


def _on_memory(scope: Scope, options: FeedbackOptions, reason: str) -> Plan[list[Revision]]:
    memory_id, helpful = options.get("memory_id", ""), options.get("helpful")
    if helpful is None:
        raise ConfigurationError(f"feedback on {memory_id!r} needs helpful=True or False")
    records = yield from ask(Get(scope.readable, (memory_id,)))
    if not records:
        raise scope.not_found(memory_id)
    source, lifecycle = options.get("source", "user"), scope.engine.profile.lifecycle
    if _says_it_again(scope, memory_id, helpful, source):
        return []
    (record, *_) = records
    return [judge_memory(record, helpful=helpful, why=reason, lifecycle=lifecycle, source=source)]


def _on_run(
    scope: Scope, run_id: str, outcome: Outcome, present: int | None
) -> Plan[list[Revision]]:
    """Return what a verdict does to what the run was given to read, and to its experience."""
    engine = scope.engine
    recalls = engine.journal.recalls(scope.namespace, run_id)
    ids = [memory_id for recall in recalls for memory_id in recall.memory_ids]
    lifecycle = engine.profile.lifecycle
    credited = yield from credit_run(run_id, ids, outcome, scope.readable, lifecycle)
    return (yield from rejudge_run(run_id, outcome, scope.namespace, present, credited))


def _present_trust(scope: Scope, run_id: str) -> int | None:
    """Return the trust of the best source that judged a run so far, `None` if none is known."""
    journal, namespace = scope.engine.journal, scope.namespace
    verdicts = verdicts_of(journal.feedback(namespace, run_id=run_id))
    run = journal.get_run(namespace, run_id)
    return most_trusted([*verdicts, run.trajectory.outcome] if run else verdicts)


def _outcome(options: FeedbackOptions, reason: str) -> Outcome | None:
    label = options.get("outcome")
    if label is None:
        return None
    return Outcome(label, options.get("source", "user"), reason)
