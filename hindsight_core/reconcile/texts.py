"""Which words of a memory it is found by."""

from __future__ import annotations

from hindsight_core.models import Memory

__all__ = ["searchable_text"]


def searchable_text(memory: Memory) -> str:
    """Return the text that is embedded and indexed for `memory`.

    An experience is found by the task it was about. A rule is found by what it says, by when
    it applies, and by the task it was learned in: a fix shares few words with the request that
    will need it, the earlier request shares many. Everything else is found by what it says.
    """
    if memory.category == "experience" and memory.task_description:
        return memory.task_description
    parts = [memory.content]
    if memory.applies_when and memory.applies_when not in memory.content:
        parts.append(memory.applies_when)
    if memory.category == "rule" and memory.task_description:
        parts.append(memory.task_description)
    return "\n".join(parts)
