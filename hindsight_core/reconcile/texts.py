"""Which words of a memory it is found by."""

from __future__ import annotations

from hindsight_core.models import Memory

__all__ = ["searchable_text"]


def searchable_text(memory: Memory) -> str:
    """Return the text that is embedded and indexed for `memory`.

    An experience is found by the task it was about, everything else by what it says and
    when it applies.
    """
    if memory.category == "experience" and memory.task_description:
        return memory.task_description
    if memory.applies_when and memory.applies_when not in memory.content:
        return f"{memory.content}\n{memory.applies_when}"
    return memory.content
