"""OpenAI-style message dicts to steps (placeholder until its room is built)."""

from __future__ import annotations

from typing import Any

from hindsight_core.steps import Step

__all__ = ["steps_from_messages"]


def steps_from_messages(messages: Any) -> tuple[Step, ...]:
    """Return the steps of `messages`."""
    raise TypeError(messages)
