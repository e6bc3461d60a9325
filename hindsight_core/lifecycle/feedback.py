"""From a verdict to the revisions it makes."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_core.lifecycle.credit import credit_reason, judged, recredited
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.store.base import Get, Record
from hindsight_core.trajectory import Outcome, OutcomeSource

__all__ = ["credit_run", "judge_memory"]


def credit_run(
    run_id: str,
    memory_ids: Sequence[str],
    outcome: Outcome,
    namespaces: tuple[Namespace, ...],
    lifecycle: Lifecycle,
) -> Plan[list[Revision]]:
    """Return what `outcome` does to the memories that were in the brief of `run_id`."""
    if outcome.label not in {"success", "failure"} or not memory_ids:
        return []
    records = yield from ask(Get(namespaces, tuple(dict.fromkeys(memory_ids))))
    reason = credit_reason(outcome, run_id)
    revisions = []
    for record in records:
        before = record.memory
        after = recredited(before, record.changes, outcome, run_id, lifecycle)
        if after != before:
            revisions.append(Revision(before, after, "credited", reason))
    return revisions


def judge_memory(
    record: Record,
    *,
    helpful: bool,
    why: str,
    lifecycle: Lifecycle,
    source: OutcomeSource = "user",
) -> Revision:
    """Return what a verdict does to one memory."""
    word = "helpful" if helpful else "wrong"
    by = "" if source == "user" else f" by {source}"
    reason = f"said to be {word}{by}" + (f": {why}" if why else "")
    after = judged(record.memory, helpful=helpful, lifecycle=lifecycle, source=source)
    return Revision(record.memory, after, "judged", reason)
