"""One thing that happened in a run: a message, a tool's answer, an error.

Readers and adapters make steps; everything downstream reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from hindsight_core.clock import as_utc

__all__ = ["Step", "StepKind", "ToolCall"]

StepKind: TypeAlias = Literal["system", "user", "assistant", "tool_result", "error", "note"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool as the model asked for it.

    Attributes:
        id: The call's id, unique within the run; made up by the reader where none was given.
        name: The tool's name.
        arguments: The arguments, JSON-safe. A raw string that is not JSON stands under `"_raw"`.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened in a run.

    Attributes:
        kind: `user` and `assistant` for messages, `tool_result` for what a tool returned,
            `error` for an exception outside a tool, `system` for instructions, `note` for
            what the recorder adds (for example "no result recorded").
        text: The text, `""` where there is none.
        tool_calls: Calls that an `assistant` step asks for, in order.
        tool_call_id: For a `tool_result`, the call that it answers; `""` if it answers none.
        tool_name: For a `tool_result`, the tool.
        is_error: Whether a `tool_result` reports a failure.
        agent: Name of the sub-agent that did this, `""` for the outermost agent. A user
            step with an agent name is what a parent agent asked, not what a person said.
        at: When it happened, aware UTC, where known.
    """

    kind: StepKind
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    agent: str = ""
    at: datetime | None = None

    def __post_init__(self) -> None:
        """Bring the time to UTC."""
        if self.at is not None:
            object.__setattr__(self, "at", as_utc(self.at, name="step time"))
