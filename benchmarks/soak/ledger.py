"""What was acknowledged against what is there.

Looks behind the facade into the journal, where it is written how every run ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hindsight_core import Hindsight
from hindsight_core.models import Memory, Status

__all__ = ["EVERY", "Tally", "everything", "half_done", "wrongly_learned"]

EVERY: tuple[Status, ...] = ("active", "superseded", "archived", "forgotten", "quarantined")


@dataclass(slots=True)
class Tally:
    """What came of everything that was asked for.

    Attributes:
        acknowledged: Memories and runs that were taken in, as their callers were told.
        lost: Those of them that are not there, or not reflected on, in the end.
        duplicated: Memories that stand there twice, and runs that were learned from twice.
        half_done: Changes of which only a part could be seen.
        disturbed: Calls in the course of an agent's run that raised.
    """

    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    half_done: int = 0
    disturbed: int = 0

    def __add__(self, other: Tally) -> Tally:
        """Return both together."""
        return Tally(
            self.acknowledged + other.acknowledged,
            self.lost + other.lost,
            self.duplicated + other.duplicated,
            self.half_done + other.half_done,
            self.disturbed + other.disturbed,
        )

    def settle(self, h: Hindsight, stored: Collection[str], runs: Sequence[str]) -> Tally:
        """Return this tally after what is left was compared with what was acknowledged.

        To be called when every run was reflected on.

        Args:
            h: The memory.
            stored: Ids of memories that were acknowledged.
            runs: Ids of runs that were acknowledged.
        """
        memories = everything(h)
        missing, twice = wrongly_learned(h, runs, memories)
        told = Counter(m.content for m in memories.values() if m.status == "active")
        return self + Tally(
            acknowledged=len(stored) + len(runs),
            lost=len(set(stored) - set(memories)) + len(missing),
            duplicated=len(twice) + sum(count - 1 for count in told.values()),
            half_done=len(half_done(h, memories)),
        )


def everything(h: Hindsight) -> dict[str, Memory]:
    """Return all memories of a namespace, whatever their status, by id."""
    found: list[Memory] = []
    cursor: str | None = None
    while True:
        page = h.list(limit=500, statuses=EVERY, cursor=cursor)
        found += page.memories
        cursor = page.cursor
        if cursor is None:
            break
    memories = {memory.id: memory for memory in found}
    assert len(memories) == len(found), "an id is there twice"
    return memories


def half_done(h: Hindsight, memories: Mapping[str, Memory]) -> list[str]:
    """Return what shows that only a part of a change was made, in words."""
    found = [f"{one.change_id} is not applied" for one in h._engine.journal.unapplied()]
    for memory in memories.values():
        replacer = memories.get(memory.superseded_by)
        if memory.status == "superseded" and (
            replacer is None or memory.id not in replacer.supersedes
        ):
            found.append(f"nothing replaces {memory.id}")
        found += [
            f"{replaced} is replaced by {memory.id} and stands all the same"
            for replaced in memory.supersedes
            if memories[replaced].status != "superseded" or not memories[replaced].superseded_by
        ]
    return found


def wrongly_learned(
    h: Hindsight, runs: Sequence[str], memories: Mapping[str, Memory]
) -> tuple[list[str], list[str]]:
    """Return which runs were not learned from, and which more than once."""
    told = Counter(
        evidence.run_id
        for memory in memories.values()
        if memory.category == "experience"
        for evidence in memory.evidence
    )
    missing = []
    for run_id in runs:
        run = h._engine.journal.get_run(h.namespace, run_id)
        learned = run is not None and (run.status, run.reflection_status) == ("done", "learned")
        kept = run is not None and run.memory_ids and set(run.memory_ids) <= set(memories)
        if not (learned and kept and told[run_id]):
            missing.append(run_id)
    return missing, [run_id for run_id in runs if told[run_id] > 1]
