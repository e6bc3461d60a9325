"""What becomes of a new memory when it meets what is already known.

Pure: takes the new memory and its nearest neighbors, returns changed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_core.models import Memory, is_statement
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.contradictions import Retirement, differ_in_condition, settle
from hindsight_core.reconcile.instances import same_but_for_instances
from hindsight_core.reconcile.named import MAX_RETIRED, Neighbor, believed, may_overrule
from hindsight_core.retrieval.profiles import Lifecycle
from hindsight_core.safety.trust import backed_by

__all__ = [
    "Decision",
    "Neighbor",
    "Retirement",
    "decide",
    "independent",
    "strengthened",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to write.

    Attributes:
        memory: The new memory, or the known one that it strengthens.
        strengthens: The known memory as it was, `None` for a new memory.
        retired: Memories replaced or weakened.
        refused: What the lesson named and does not replace, each with the reason.
    """

    memory: Memory
    strengthens: Memory | None = None
    retired: tuple[Retirement, ...] = ()
    refused: tuple[str, ...] = ()


def decide(
    new: Memory,
    neighbors: Sequence[Neighbor],
    *,
    named: Sequence[Neighbor],
    lifecycle: Lifecycle,
    now: datetime,
) -> Decision:
    """Return what becomes of `new`.

    The same statement again strengthens the known memory; a newer statement about the same
    subject replaces, weakens or stands beside the older one as the profile says; experiences
    are what happened and always stand for themselves. What goes into quarantine changes nothing.

    Args:
        new: The new memory.
        neighbors: Active memories of the same namespace, nearest first.
        named: Memories that the lesson itself says it replaces; those that it may not, or
            that are about something else, stay.
        lifecycle: The profile's thresholds.
        now: The present moment.
    """
    if new.status == "quarantined":
        return Decision(new)
    replaced, told = believed(new, named)
    refused = tuple(told)
    if not is_statement(new):
        changes = settle(new, replaced, lifecycle, now).changes
        return Decision(new, retired=changes, refused=refused)
    contradicted: list[Memory] = []
    for neighbor in neighbors:
        known = neighbor.memory
        if not is_statement(known) or known.id == new.id:
            continue
        same_cosine = lifecycle.duplicate_similarity
        found = relation(new.content, known.content, neighbor.cosine, same_cosine=same_cosine)
        if _is_same_rule(new, known):
            found = "same"
        if found == "same" and not replaced:
            again = strengthened(known, new, lifecycle, now)
            return Decision(again, strengthens=known, refused=refused)
        if found == "replaces" and _may_replace(new, known):
            contradicted.append(known)
    retired = [*replaced, *(m for m in contradicted[:MAX_RETIRED] if m not in replaced)]
    settled = settle(new, retired, lifecycle, now)
    return Decision(settled.memory, retired=settled.changes, refused=refused)


def strengthened(known: Memory, new: Memory, lifecycle: Lifecycle, now: datetime) -> Memory:
    """Return `known` after `new` said the same thing again.

    Evidence is added, counts stay. Only an independent run, or a person, raises confidence:
    to the larger of the two and by the profile's gain, up to its cap.
    """
    confidence = known.confidence
    if independent(known, new):
        larger = max(known.confidence, new.confidence)
        gained = min(lifecycle.success_cap, larger + lifecycle.duplicate_gain)
        confidence = max(larger, gained) if lifecycle.duplicate_gain else larger
    runs = {evidence.run_id for evidence in known.evidence}
    return replace(
        known,
        confidence=confidence,
        source=backed_by(known, new),
        importance=max(known.importance, new.importance),
        evidence=(*known.evidence, *(e for e in new.evidence if e.run_id not in runs)),
        tags=tuple(dict.fromkeys((*known.tags, *new.tags))),
        event_time=max(known.event_time, new.event_time),
        valid_until=new.valid_until if known.valid_until else None,
        updated_at=now,
    )


def independent(known: Memory, new: Memory) -> bool:
    """Whether `new` comes from a run that is not yet behind `known`."""
    if not new.evidence:
        return new.source == "user_feedback" and known.source != "user_feedback"
    runs = {evidence.run_id for evidence in known.evidence}
    return any(evidence.run_id not in runs for evidence in new.evidence)


def _is_same_rule(new: Memory, known: Memory) -> bool:
    """Whether both are one rule, learned from different ids or after more repetitions."""
    return (
        new.category == known.category == "rule"
        and new.outcome == known.outcome
        and same_but_for_instances(new.content, known.content)
    )


def _may_replace(new: Memory, known: Memory) -> bool:
    """Whether wording alone may let `new` replace `known`.

    Rules with another remedy stand beside each other: both may be right. A source that is
    trusted less replaces nothing, and only a person what a person said. What holds under
    different conditions does not contradict each other. Nothing replaces what the same run
    taught, nor what holds since later.
    """
    if new.category == "rule" or known.category == "rule":
        return False
    if differ_in_condition(new, known):
        return False
    if not may_overrule(new, known):
        return False
    runs = {evidence.run_id for evidence in known.evidence}
    return not any(evidence.run_id in runs for evidence in new.evidence)
