"""Which words of a memory it is found by."""

from __future__ import annotations

from hindsight_core.models import Category, Memory

__all__ = ["searchable_text"]

FOUND_BY_TASK: frozenset[Category] = frozenset({"rule", "correction", "preference"})
"""Categories that are also found by the task they were learned in."""


def searchable_text(memory: Memory) -> str:
    """Return the text that is embedded and indexed for `memory`.

    An experience is found by the task it was about. Rules, corrections and preferences are
    found by what they say, by when they apply, and by the task they were learned in: a fix
    shares few words with the request that will need it, the earlier request shares many. Facts
    and entities are found by what they say.
    """
    if memory.category == "experience" and memory.task_description:
        return memory.task_description
    parts = [memory.content]
    if memory.applies_when and memory.applies_when not in memory.content:
        parts.append(memory.applies_when)
    if memory.category in FOUND_BY_TASK and memory.task_description:
        parts.append(memory.task_description)
    return "\n".join(parts)
