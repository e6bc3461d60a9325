"""From a verdict to the revisions it makes."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_core.lifecycle.credit import credit_reason, judged, recredited
from hindsight_core.lifecycle.rejudge import rejudge_reason, rejudged
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.store.base import Get, MemoryFilter, Record, Scroll
from hindsight_core.trajectory import Outcome, OutcomeSource

__all__ = ["credit_run", "judge_memory", "rejudge_run"]


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


def rejudge_run(
    run_id: str,
    outcome: Outcome,
    namespace: Namespace,
    present: int | None,
    credited: Sequence[Revision] = (),
) -> Plan[list[Revision]]:
    """Return `credited` with what `outcome` does to the experience of `run_id` itself.

    Args:
        run_id: The run.
        outcome: The verdict.
        namespace: The run's own namespace.
        present: Trust of the source that judged the run before, `None` if nobody did.
        credited: What the verdict does otherwise; a memory occurs once in the result.
    """
    where = MemoryFilter(
        namespaces=(namespace,),
        statuses=("active", "archived", "quarantined"),
        categories=("experience",),
        run_id=run_id,
    )
    page = yield from ask(Scroll(where, 16))
    done: dict[tuple[Namespace, str], Revision] = {
        (revision.before.namespace, revision.before.id): revision for revision in credited
    }
    for record in page.records:
        before = record.memory
        if any(evidence.run_id != run_id for evidence in before.evidence):
            continue  # several runs stand behind it, and the verdict is about one
        earlier = done.get((before.namespace, before.id))
        known: Memory = earlier.after if earlier else before
        after = rejudged(known, outcome, present)
        if after != known:
            reason = rejudge_reason(outcome)
            reason = f"{earlier.reason}; {reason}" if earlier else reason
            done[before.namespace, before.id] = Revision(before, after, "rejudged", reason)
    return list(done.values())


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
