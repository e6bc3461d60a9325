"""`HindsightCallbackHandler`: the same for engines that are watched by the old events.

Chat and query engines still fire them, agents don't; `instrument` sees all of them and is the
better choice wherever it can be used. Where both are attached, a run is recorded once.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler

from hindsight_core.adapting import time_of
from hindsight_core.content import as_text, read_arguments
from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex.binding import Binding, bind
from hindsight_llamaindex.episodes import Episode
from hindsight_llamaindex.identity import current_caller
from hindsight_llamaindex.messages import text_of
from hindsight_llamaindex.outcomes import outcome_of_error, said_of_error
from hindsight_llamaindex.recorder import current_run_id

__all__ = ["HindsightCallbackHandler"]

MAX_OPEN = 1_000
"""Events under way that are followed; past it, the oldest is let go."""

_WATCHED = frozenset(
    {CBEventType.QUERY, CBEventType.SYNTHESIZE, CBEventType.LLM, CBEventType.FUNCTION_CALL}
)


@dataclass(slots=True)
class _Trace:
    """One trace: what it has shown so far, and what of it is still going on."""

    episode: Episode
    answer: str = ""
    error: BaseException | None = None
    open_events: int = 0
    is_over: bool = False
    tools: dict[str, str] = field(default_factory=dict)


class HindsightCallbackHandler(BaseCallbackHandler):
    """Records one episode for each trace of a chat or query engine.

    ```python
    Settings.callback_manager = CallbackManager([HindsightCallbackHandler(h)])
    ```

    Args:
        hindsight: An open memory; a run goes to the view of the user in the tags around it.
    """

    def __init__(self, hindsight: Hindsight) -> None:
        super().__init__([], [])
        self._binding: Binding = bind(hindsight)
        self._hindsight = hindsight
        self._lock = threading.RLock()
        self._open: OrderedDict[str, _Trace] = OrderedDict()
        self._current: ContextVar[_Trace | None] = ContextVar("hindsight_trace", default=None)

    def start_trace(self, trace_id: str | None = None) -> None:
        """Take in that something was started."""
        if current_run_id():
            self._current.set(None)
            return
        episode = Episode(
            run_id=f"run_{uuid.uuid4()}",
            caller=current_caller(),
            started_at=time_of(self._hindsight),
        )
        self._current.set(_Trace(episode))

    def end_trace(
        self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None
    ) -> None:
        """Take in that it is over, except for what still streams."""
        trace = self._current.get()
        self._current.set(None)
        if trace is not None:
            with self._lock:
                trace.is_over = True
            self._finish_if_over(trace)

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        """Take in that an event began."""
        trace = self._current.get()
        if trace is None:
            return event_id
        try:
            with self._lock:
                self._began(trace, event_type, payload or {}, event_id)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self._hindsight.note_failure("capture", error, trace.episode.run_id)
        return event_id

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        """Take in that an event ended."""
        with self._lock:
            trace = self._open.pop(event_id, None)
        if trace is None:
            return
        try:
            with self._lock:
                trace.open_events -= 1
                self._ended(trace, event_type, payload or {}, event_id)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self._hindsight.note_failure("capture", error, trace.episode.run_id)
        self._finish_if_over(trace)

    def _began(
        self, trace: _Trace, event_type: CBEventType, payload: dict[str, Any], event_id: str
    ) -> None:
        error = payload.get(EventPayload.EXCEPTION)
        if isinstance(error, BaseException):
            trace.error = error
        if event_type not in _WATCHED:
            return
        self._open[event_id] = trace
        trace.open_events += 1
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)[1].open_events -= 1
        asked = payload.get(EventPayload.QUERY_STR)
        messages = payload.get(EventPayload.MESSAGES)
        if not trace.episode.asked:
            trace.episode.asked = text_of(asked) if isinstance(asked, str) else _asked(messages)
        if event_type is CBEventType.FUNCTION_CALL:
            trace.episode.add([_call(payload, event_id)])
            trace.tools[event_id] = _tool_name(payload)

    def _ended(
        self, trace: _Trace, event_type: CBEventType, payload: dict[str, Any], event_id: str
    ) -> None:
        error = payload.get(EventPayload.EXCEPTION)
        if event_type is CBEventType.FUNCTION_CALL:
            is_error = isinstance(error, BaseException)
            output = payload.get(EventPayload.FUNCTION_OUTPUT)
            said = said_of_error(error) if isinstance(error, BaseException) else as_text(output)
            trace.episode.add(
                [
                    {
                        "role": "tool",
                        "tool_call_id": event_id,
                        "name": trace.tools.pop(event_id, ""),
                        "content": said,
                        "is_error": is_error,
                    }
                ]
            )
        elif isinstance(error, BaseException):
            trace.error = error
        elif EventPayload.RESPONSE in payload:
            trace.answer = _answer(payload[EventPayload.RESPONSE]) or trace.answer

    def _finish_if_over(self, trace: _Trace) -> None:
        with self._lock:
            episode = trace.episode
            is_over = trace.is_over and trace.open_events <= 0 and not episode.is_done
            if not is_over:
                return
            episode.is_done = True
        if not episode.asked and not trace.answer:
            return  # an index was built, for example: nobody asked for anything
        try:
            self._submit(trace)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self._hindsight.note_failure("capture", error, episode.run_id)

    def _submit(self, trace: _Trace) -> None:
        episode = trace.episode
        outcome = episode.close_with(trace.answer)
        said = ""
        if trace.error is not None:
            outcome = outcome_of_error(trace.error)
            said = said_of_error(trace.error)
        trajectory = episode.trajectory(outcome, time_of(self._hindsight), said)
        episode.caller.view(self._binding.hindsight()).submit(trajectory)


def _asked(messages: Any) -> str:
    if not isinstance(messages, list | tuple):
        return ""
    said = [m for m in messages if isinstance(m, ChatMessage) and m.role is MessageRole.USER]
    return text_of(said[-1]) if said else ""


def _answer(response: Any) -> str:
    if isinstance(response, ChatResponse):
        return text_of(response.message)
    text = getattr(response, "text", None) or getattr(response, "response", None)
    return text if isinstance(text, str) else ""


def _tool_name(payload: dict[str, Any]) -> str:
    return as_text(getattr(payload.get(EventPayload.TOOL), "name", ""))


def _call(payload: dict[str, Any], event_id: str) -> dict[str, Any]:
    arguments = read_arguments(payload.get(EventPayload.FUNCTION_CALL))
    call = {"id": event_id, "name": _tool_name(payload), "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
