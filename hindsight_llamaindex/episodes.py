"""The record of one run under way, and the trajectory it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_core.hindsight import Hindsight
from hindsight_core.messages import steps_from_messages
from hindsight_core.steps import Step
from hindsight_core.trajectory import Outcome, Trajectory
from hindsight_llamaindex.identity import Caller
from hindsight_llamaindex.outcomes import ANSWERED, LIMITED

__all__ = ["Episode", "StreamState"]

CONTEXT_LENGTH = 2_000
"""Characters of the answer before this run that go along, so that a correction has an object."""


@dataclass(slots=True)
class StreamState:
    """How far a streamed answer is.

    Attributes:
        is_returned: Whether the caller has got the response.
        is_written: Whether the framework has read the model's stream to its end.
        is_reading: Whether somebody has begun to read the response.
        is_over: Whether nobody will read any more of it.
        is_whole: Whether the reader got as far as the stream goes.
        answer: The whole answer, once it is written.
    """

    is_returned: bool = False
    is_written: bool = False
    is_reading: bool = False
    is_over: bool = False
    is_whole: bool = True
    answer: str = ""


@dataclass(slots=True, eq=False)
class Episode:
    """What one outermost run has done so far; the recorder's lock guards it.

    Attributes:
        run_id: The run.
        caller: Who started it, by the tags around it.
        started_at: When.
        asked: What was asked.
        answer_before: The last answer of the conversation before it.
        talk: Under which key the conversation's last answer is kept, `None` if that is unknown.
        messages: What happened, as message dicts.
        spans: Ids of its open spans.
        owner: The memory that its components use, and the depth of the run that uses it.
        session_id: The conversation.
        stream: How far its streamed answer is.
        is_done: Whether it has been handed on.
    """

    run_id: str
    caller: Caller
    started_at: datetime
    asked: str = ""
    answer_before: str = ""
    talk: Any = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    spans: set[str] = field(default_factory=set)
    owner: tuple[int, Hindsight] | None = None
    session_id: str = ""
    stream: StreamState = field(default_factory=StreamState)
    is_done: bool = False

    def add(self, messages: Sequence[dict[str, Any]]) -> None:
        """Add what happened."""
        self.messages.extend(messages)

    def announce(
        self, depth: int, hindsight: Hindsight, session_id: str, asked: str, answer_before: str
    ) -> None:
        """Take in which memory is used in this run, for which conversation.

        The memory of the outermost run counts, and the first that was used in it.
        """
        if self.owner is not None and self.owner[0] <= depth:
            return
        self.owner = (depth, hindsight)
        if depth == 0:
            self.session_id = self.session_id or session_id
            self.asked = self.asked or asked
            self.answer_before = self.answer_before or answer_before

    def close_with(self, answer: str) -> Outcome:
        """Add the final answer, and return how the run ended that gave it."""
        last = next((m for m in reversed(self.messages) if not m.get("agent")), None)
        is_answer = last is not None and last["role"] == "assistant" and not last.get("tool_calls")
        if last is not None and is_answer:
            last["content"] = answer or last["content"]
            return ANSWERED
        # The last thing the model wanted was to call tools. If they were never called, then it
        # was told to give an answer at once, because it had no iterations left.
        was_cut_short = last is not None and bool(last.get("tool_calls"))
        if answer:
            self.messages.append({"role": "assistant", "content": answer})
        return LIMITED if was_cut_short else ANSWERED

    def trajectory(self, outcome: Outcome, ended_at: datetime, error: str = "") -> Trajectory:
        """Return the finished run."""
        opening: list[dict[str, Any]] = []
        if self.answer_before:
            opening.append({"role": "assistant", "content": self.answer_before[:CONTEXT_LENGTH]})
        if self.asked:
            opening.append({"role": "user", "content": self.asked})
        steps = steps_from_messages([*opening, *self.messages])
        if error:
            steps = (*steps, Step("error", error))
        return Trajectory(
            run_id=self.run_id,
            steps=steps,
            outcome=outcome,
            task=self.asked,
            session_id=self.session_id or self.caller.session_id,
            started_at=self.started_at,
            ended_at=max(ended_at, self.started_at),
            metadata={"framework": "llama_index"},
        )
