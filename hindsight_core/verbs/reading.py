"""`list`, `get`, `history`, `why` and `stats`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hindsight_core.errors import ConfigurationError, StoreError
from hindsight_core.models import Change, Memory, Page
from hindsight_core.namespaces import Namespace
from hindsight_core.options import ListOptions
from hindsight_core.plans import Plan, ask
from hindsight_core.runs.journal import AuditEntry, JournalCounts
from hindsight_core.store.base import Facet, Get, MemoryFilter, Scroll, StoreStats
from hindsight_core.trajectory import Outcome
from hindsight_core.verbs.checked import options_given
from hindsight_core.verbs.scope import Scope

__all__ = [
    "QuotedStep", "Stats", "Why", "WhyRun", "memory_filter", "plan_get", "plan_history",
    "plan_list", "plan_stats", "plan_why",
]  # fmt: skip

MAX_PAGE = 1_000
QUOTE_LENGTH = 400


@dataclass(frozen=True, slots=True)
class QuotedStep:
    """One step behind a memory.

    Attributes:
        position: Its position in the run, counted from 0.
        kind: Kind of step.
        text: What was said or done, at most `QUOTE_LENGTH` characters.
    """

    position: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class WhyRun:
    """One run behind a memory.

    Attributes:
        run_id: The run.
        task: What was asked; `""` once its log was dropped.
        outcome: How it ended, `None` if this host's journal does not know it.
        steps: The steps that show it.
        note: Why there are no steps, `""` if there are.
    """

    run_id: str
    task: str
    outcome: Outcome | None
    steps: tuple[QuotedStep, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """Where a memory comes from and what became of it.

    Attributes:
        memory: The memory as it stands.
        runs: The runs behind it.
        changes: Its history, oldest first.
        audit: What this host's journal knows about who did what.
    """

    memory: Memory
    runs: tuple[WhyRun, ...]
    changes: tuple[Change, ...]
    audit: tuple[AuditEntry, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """How memory is doing.

    Attributes:
        namespace: Whose.
        by_status: Memories by status.
        by_kind: Active memories by kind.
        by_category: Active memories by category.
        journal: Runs by state, and the tokens that reflection cost.
        counters: What was counted over time, redactions among it.
        failures: What went wrong quietly since this process opened the memory.
        last_failures: The last message of each.
        waiting: Recalls that are not yet in the journal.
        store: What the store says about itself, `None` when it can't be reached.
    """

    namespace: Namespace
    by_status: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_category: Mapping[str, int]
    journal: JournalCounts
    counters: Mapping[str, int]
    failures: Mapping[str, int] = field(default_factory=dict)
    last_failures: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0
    store: StoreStats | None = None


def memory_filter(namespaces: tuple[Namespace, ...], options: ListOptions) -> MemoryFilter:
    """Return the store's filter for what `list` and `forget` were asked."""
    return MemoryFilter(
        namespaces=namespaces,
        statuses=tuple(options.get("statuses", ("active",))),
        kinds=tuple(options.get("kinds", ())),
        categories=tuple(options.get("categories", ())),
        task_types=tuple(options.get("task_types", ())),
        tags=tuple(options.get("tags", ())),
        domains=tuple(options.get("domains", ())),
        sources=tuple(options.get("sources", ())),
        outcomes=tuple(options.get("outcomes", ())),
        keywords=tuple(options.get("keywords", ())),
        run_id=options.get("run_id", ""),
        since=options.get("since"),
        until=options.get("until"),
        min_confidence=options.get("min_confidence", 0.0),
    )


def plan_list(scope: Scope, limit: int, cursor: str | None, options: ListOptions) -> Plan[Page]:
    """Return one page of memories."""
    scope.require_open()
    options = options_given("list", options, ListOptions.__optional_keys__)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:
        raise ConfigurationError(
            f"limit {limit!r} is not a whole number in 1–{MAX_PAGE}; page with cursor"
        )
    where = memory_filter(scope.readable, options)
    page = yield from ask(Scroll(where, limit, cursor))
    return Page(tuple(record.memory for record in page.records), page.cursor)


def plan_get(scope: Scope, memory_id: str) -> Plan[Memory | None]:
    """Return a memory of any status but `forgotten`, `None` if there is none."""
    scope.require_open()
    records = yield from ask(Get(scope.readable, (memory_id,)))
    memory = records[0].memory if records else None
    return None if memory is None or memory.status == "forgotten" else memory


def plan_history(scope: Scope, memory_id: str) -> Plan[tuple[Change, ...]]:
    """Return a memory's changes, oldest first."""
    scope.require_open()
    records = yield from ask(Get(scope.readable, (memory_id,)))
    if not records:
        raise scope.not_found(memory_id)
    return records[0].changes


def plan_why(scope: Scope, memory_id: str) -> Plan[Why]:
    """Return where a memory comes from."""
    scope.require_open()
    records = yield from ask(Get(scope.readable, (memory_id,)))
    if not records:
        raise scope.not_found(memory_id)
    memory = records[0].memory
    runs = tuple(
        _why_run(scope, memory.namespace, evidence.run_id, evidence.steps)
        for evidence in memory.evidence
    )
    audit = scope.engine.journal.audit(memory.namespace, memory.id)
    return Why(memory, runs, records[0].changes, tuple(audit))


def plan_stats(scope: Scope) -> Plan[Stats]:
    """Return how memory is doing; works without the store as well."""
    scope.require_open()
    engine = scope.engine
    everything = MemoryFilter(namespaces=(scope.namespace,), statuses=())
    active = MemoryFilter(namespaces=(scope.namespace,))
    by_status: Mapping[str, int] = {}
    by_kind: Mapping[str, int] = {}
    by_category: Mapping[str, int] = {}
    store = None
    try:
        by_status = yield from ask(Facet(everything, "status"))
        by_kind = yield from ask(Facet(active, "kind"))
        by_category = yield from ask(Facet(active, "category"))
        store = engine.store.stats()
    except StoreError as error:
        scope.health.note("stats", error)
    return Stats(
        namespace=scope.namespace,
        by_status=by_status,
        by_kind=by_kind,
        by_category=by_category,
        journal=engine.journal.counts((scope.namespace,)),
        counters=engine.journal.counters(),
        failures=dict(scope.health.counts),
        last_failures=dict(scope.health.last),
        waiting=len(engine.recalls),
        store=store,
    )


def _why_run(scope: Scope, namespace: Namespace, run_id: str, positions: tuple[int, ...]) -> WhyRun:
    journaled = scope.engine.journal.get_run(namespace, run_id)
    if journaled is None:
        return WhyRun(run_id, "", None, (), "this host's journal does not hold the run")
    run = journaled.trajectory
    if not journaled.has_log:
        return WhyRun(run_id, "", run.outcome, (), "the run's log was dropped after retention")
    steps = []
    for position in positions:
        if position < len(run.steps):
            step = run.steps[position]
            calls = " ".join(f"{call.name}({dict(call.arguments)})" for call in step.tool_calls)
            text = " ".join(f"{step.text} {calls}".split())[:QUOTE_LENGTH]
            steps.append(QuotedStep(position, step.kind, text))
    return WhyRun(run_id, run.task[:QUOTE_LENGTH], run.outcome, tuple(steps))
