"""From what the agent said about its brief to the memories that it said it of.

Only memories that were in a brief of that run are touched, and an agent is trusted little
(`llm_judge`). A run has one say about a memory: what the agent set aside is not credited by
the run's outcome, and praise adds nothing where the outcome counts already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.lifecycle.feedback import judge_memory
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision
from hindsight_core.reflection.remarks import Remark
from hindsight_core.runs.journal import Recall
from hindsight_core.store.base import Get
from hindsight_core.trajectory import OutcomeSource, Trajectory

__all__ = ["SOURCE", "Said", "remarked", "said_of"]

SOURCE: OutcomeSource = "llm_judge"
"""Who an agent that judges its own brief counts as."""
_SAID = "said to be "


@dataclass(frozen=True, slots=True)
class Said:
    """What the agent said about a memory of its brief.

    Attributes:
        helpful: Whether it was of use.
        reason: Why, in the agent's words.
    """

    helpful: bool
    reason: str


def said_of(
    remarks: Sequence[Remark], recalls: Sequence[Recall], run: Trajectory
) -> Mapping[str, Said]:
    """Return what was said by memory id; of several remarks about one the last.

    A number means the place in the brief that was the last one when it was said, where times
    are known. Where they are not it has to mean the same in all of them.
    """
    said: dict[str, Said] = {}
    known = {memory_id for recall in recalls for memory_id in recall.memory_ids}
    for remark in remarks:
        at = run.steps[remark.step].at if 0 <= remark.step < len(run.steps) else None
        memory_id = remark.named if remark.named in known else _in_brief(remark.named, recalls, at)
        if memory_id:
            said.pop(memory_id, None)
            said[memory_id] = Said(remark.helpful, remark.reason)
    return said


def remarked(
    run_id: str,
    said: Mapping[str, Said],
    namespaces: tuple[Namespace, ...],
    lifecycle: Lifecycle,
    credited: Sequence[Revision],
) -> Plan[list[Revision]]:
    """Return `credited` with what the agent's remarks do; a memory occurs once in the result."""
    by_id = {revision.before.id: revision for revision in credited}
    if not said:
        return list(credited)
    records = yield from ask(Get(namespaces, tuple(said)))
    for record in records:
        memory_id = record.memory.id
        remark = said[memory_id]
        # The same run again, after a crash or by hand, has had its say.
        if any(c.run_id == run_id and _SAID in c.reason for c in record.changes):
            by_id.pop(memory_id, None)
        elif not (remark.helpful and memory_id in by_id):
            by_id[memory_id] = judge_memory(
                record,
                helpful=remark.helpful,
                why=remark.reason,
                lifecycle=lifecycle,
                source=SOURCE,
            )
    return list(by_id.values())


def _in_brief(name: str, recalls: Sequence[Recall], at: datetime | None) -> str:
    """Return the id of the memory with a number, `""` if that is none or not certain."""
    if not name.isdecimal():
        return ""
    place = int(name) - 1
    shown = [recall for recall in recalls if at is None or recall.at <= at]
    if at is not None and shown:
        shown = [max(shown, key=lambda recall: recall.at)]
    ids = {recall.memory_ids[place] for recall in shown if 0 <= place < len(recall.memory_ids)}
    return ids.pop() if len(ids) == 1 else ""
