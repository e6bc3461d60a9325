"""Which run a span belongs to, when a run is over, and whom it is handed to."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llama_index_instrumentation.dispatcher import active_instrument_tags
from llama_index_instrumentation.span import active_span_id

from hindsight_core.adapting import time_of
from hindsight_core.hindsight import Hindsight
from hindsight_core.trajectory import Outcome, Trajectory
from hindsight_llamaindex.answers import LastAnswers
from hindsight_llamaindex.episodes import Episode
from hindsight_llamaindex.identity import current_caller
from hindsight_llamaindex.outcomes import (
    ANSWERED,
    CANCELLED,
    LOST,
    UNREAD,
    Validator,
    outcome_of_error,
    said_of_error,
    verdict_of,
)
from hindsight_llamaindex.spans import (
    Node,
    RunKind,
    answer_of,
    is_content,
    messages_of_result,
    messages_of_tool,
    method_of,
    name_of,
    opening_of,
    run_kind,
)
from hindsight_llamaindex.streams import watch

__all__ = ["Recorder", "announce", "current_run_id"]

MAX_OPEN = 1_000
"""Runs under way that are followed; past it, the oldest is handed on as it is."""

GARBAGE_SECONDS = 2.0
"""Most seconds that letting go of a stream waits for its run to be kept."""

_WRITES = frozenset({"write_response_to_history", "awrite_response_to_history"})

_recorders: list[Recorder] = []
"""The recorders that are attached."""


class _Span(NamedTuple):
    """Where an open span stands.

    A run has a hundred spans, and what each costs is felt. So all that are inside of one run and
    no run themselves share one of these, and nothing of a span itself is kept: the dispatcher
    shows its object and its arguments again at its end.

    Attributes:
        episode: The episode of the outermost run.
        node: The innermost run around it, or which it is.
        inside: What spans inside of it share, `None` for one that is no run.
    """

    episode: Episode
    node: Node
    inside: _Span | None = None


class Recorder:
    """Turns spans into one episode for each outermost run; safe to use from many threads.

    Args:
        hindsight: Gets the runs that no memory of its own is used in.
        validator: Tells how a run turned out, where it ended with an answer.
    """

    def __init__(self, hindsight: Hindsight, validator: Validator | None = None) -> None:
        self.hindsight = hindsight
        self._validator = validator
        self._lock = threading.RLock()
        self._spans: dict[str, _Span] = {}
        self._episodes: OrderedDict[int, Episode] = OrderedDict()
        self._answers = LastAnswers()

    def attach(self) -> None:
        """Let components announce themselves to this recorder."""
        if self not in _recorders:
            _recorders.append(self)

    def detach(self) -> None:
        """Hand on everything as far as it is."""
        if self in _recorders:
            _recorders.remove(self)
        self.drain()
        with self._lock:
            left = list(self._episodes.values())
        for episode in left:
            self._finish(episode, LOST)

    @property
    def open_spans(self) -> int:
        """Spans of runs under way."""
        return len(self._spans)

    def drain(self) -> None:
        """Hand on runs whose answer is complete and only waits for a reader."""
        with self._lock:
            waiting = [e for e in self._episodes.values() if e.stream.is_written]
        for episode in waiting:
            self._finish_stream(episode)

    def enter(
        self,
        span_id: str,
        parent_id: str | None,
        instance: Any,
        arguments: inspect.BoundArguments,
    ) -> None:
        """Take in that a span was opened."""
        kind = run_kind(span_id, instance)
        oldest = None
        with self._lock:
            parent = self._spans.get(parent_id or "")
            if parent is None and kind is None:
                return
            if kind is None and parent is not None:
                span = parent.inside or parent
            else:
                span = self._run(span_id, parent, kind or "workflow", instance, arguments)
                self._episodes[id(span.episode)] = span.episode
            self._spans[span_id] = span
            span.episode.spans.add(span_id)
            if len(self._episodes) > MAX_OPEN:
                oldest = next(iter(self._episodes.values()))
        if oldest is not None:
            self._finish(oldest, LOST)

    def leave(self, span_id: str, instance: Any, result: Any) -> None:
        """Take in that a span was closed with a result."""
        span = self._taken(span_id)
        if span is None:
            return
        if not span.inside:
            self._left_part(span, span_id, instance, result)
        elif span.node.depth:
            self._left_inner(span, result)
        elif isinstance(result, StreamingAgentChatResponse):
            self._streaming(span.episode, result)
        elif result is None and span.node.kind != "chat":
            self._finish(span.episode, CANCELLED)
        else:
            with self._lock:
                outcome = span.episode.close_with(answer_of(result))
            self._finish(span.episode, outcome)

    def drop(
        self, span_id: str, instance: Any, arguments: inspect.BoundArguments, error: BaseException
    ) -> None:
        """Take in that a span was closed by an error."""
        span = self._taken(span_id)
        if span is None:
            return
        is_whole_run = span.inside and not span.node.depth
        if is_whole_run or method_of(span_id) in _WRITES:
            outcome = outcome_of_error(error)
            said = said_of_error(error) if outcome.source == "exception" else ""
            self._finish(span.episode, outcome, said)
        elif method_of(span_id) in {"call", "acall"} and span.node.kind != "agent":
            given = arguments.arguments.get("kwargs", {})
            with self._lock:
                span.episode.add(messages_of_tool(span.node, instance, given, error))

    def run_of(self, span_id: str) -> tuple[Episode, int] | None:
        """Return the run that a span belongs to and the depth at which it stands."""
        with self._lock:
            span = self._spans.get(span_id)
        return (span.episode, span.node.depth) if span else None

    def announce(
        self, span_id: str, hindsight: Hindsight, session_id: str, asked: str, answer: str
    ) -> str:
        """Take in which memory a run uses, and return the run's id, `""` if it is not known."""
        with self._lock:
            found = self.run_of(span_id)
            if found is None:
                return ""
            episode, depth = found
            episode.announce(depth, hindsight, session_id, asked, answer)
            return episode.run_id

    def failed(self, what: str, error: BaseException, run_id: str = "") -> None:
        """Count and log what went wrong here; the agent is not told."""
        self.hindsight.note_failure(what, error, run_id)

    def _run(
        self,
        span_id: str,
        parent: _Span | None,
        kind: RunKind,
        instance: Any,
        arguments: inspect.BoundArguments,
    ) -> _Span:
        """Return the span of a run, a new episode where nothing runs around it."""
        opening = opening_of(kind, instance, arguments)
        if parent is not None:
            node = Node(kind, name_of(instance), parent.node.depth + 1, f"{span_id[-8:]}/")
            if opening.asked:
                parent.episode.add(
                    [{"role": "user", "content": opening.asked, "agent": node.agent}]
                )
            return _Span(parent.episode, node, _Span(parent.episode, node))
        caller = current_caller()
        talk = caller.session_id or opening.memory
        episode = Episode(
            run_id=_run_id(span_id, kind),
            caller=caller,
            started_at=time_of(self.hindsight),
            asked=opening.asked,
            answer_before=opening.answer_before or self._answers.last(caller, talk),
            talk=talk,
        )
        return _Span(episode, Node(kind), _Span(episode, Node(kind)))

    def _taken(self, span_id: str) -> _Span | None:
        with self._lock:
            span = self._spans.get(span_id)
            if span is None:
                return None
            is_streaming = span.inside and not span.node.depth and span.node.kind == "chat"
            if not is_streaming:
                # The background reader of a stream looks for the span of its chat, so that
                # one stays until the episode is done.
                del self._spans[span_id]
                span.episode.spans.discard(span_id)
            return span

    def _left_part(self, span: _Span, span_id: str, instance: Any, result: Any) -> None:
        """Take in the end of what happens inside of a run."""
        if "write_response" in span_id and method_of(span_id) in _WRITES:
            self._written(span.episode, instance)
        elif is_content(result.__class__):
            messages = messages_of_result(span.node, method_of(span_id), instance, result)
            with self._lock:
                span.episode.add(messages)

    def _left_inner(self, span: _Span, result: Any) -> None:
        if span.node.kind == "agent" or isinstance(result, StreamingAgentChatResponse):
            return
        answer = answer_of(result)
        if answer:
            message = {"role": "assistant", "content": answer, "agent": span.node.agent}
            with self._lock:
                span.episode.add([message])

    def _streaming(self, episode: Episode, stream: StreamingAgentChatResponse) -> None:
        state = episode.stream

        def began() -> None:
            state.is_reading = True

        def ended(is_whole: bool) -> None:
            state.is_over, state.is_whole = True, is_whole
            self._guarded(episode) if is_whole else self._aside(episode)

        def gone() -> None:
            if not state.is_over:
                state.is_over, state.is_whole = True, not state.is_reading
            self._aside(episode)

        with self._lock:
            state.is_returned = True
            if episode.is_done:
                return
        if not watch(stream, began=began, ended=ended, gone=gone):
            state.is_over = True
        self._maybe_finish_stream(episode)

    def _guarded(self, episode: Episode) -> None:
        """Go on from within a reader, whom nothing that fails here may reach."""
        try:
            self._maybe_finish_stream(episode)
        except Exception as error:  # noqa: BLE001 - the reader is in the user's own code
            self.failed("capture", error, episode.run_id)

    def _aside(self, episode: Episode) -> None:
        """Do the same where garbage is collected.

        That can happen in the middle of anything, a write to the journal included, so it is
        another thread that goes on, and it is not waited for without end.
        """
        try:
            thread = threading.Thread(target=self._guarded, args=(episode,), daemon=True)
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._guarded(episode)
        else:
            thread.join(GARBAGE_SECONDS)

    def _written(self, episode: Episode, stream: Any) -> None:
        episode.stream.answer = answer_of(stream)
        episode.stream.is_written = True
        self._maybe_finish_stream(episode)

    def _maybe_finish_stream(self, episode: Episode) -> None:
        state = episode.stream
        if state.is_returned and state.is_written and state.is_over:
            self._finish_stream(episode)

    def _finish_stream(self, episode: Episode) -> None:
        with self._lock:
            if episode.is_done:
                return
            outcome = episode.close_with(episode.stream.answer)
        self._finish(episode, outcome if episode.stream.is_whole else UNREAD)

    def _finish(self, episode: Episode, outcome: Outcome, error: str = "") -> None:
        """Hand a run on, once."""
        with self._lock:
            if episode.is_done:
                return
            episode.is_done = True
            for span_id in episode.spans:
                self._spans.pop(span_id, None)
            episode.spans.clear()
            self._episodes.pop(id(episode), None)
            self._keep_answer(episode)
        trajectory = episode.trajectory(outcome, time_of(self.hindsight), error)
        self._submit(episode, self._judged(trajectory))

    def _judged(self, trajectory: Trajectory) -> Trajectory:
        if self._validator is None or trajectory.outcome != ANSWERED:
            return trajectory
        try:
            verdict = verdict_of(self._validator(trajectory))
        except Exception as error:  # noqa: BLE001 - a validator is the user's own code
            self.failed("validator", error, trajectory.run_id)
            return trajectory
        return trajectory if verdict is None else replace(trajectory, outcome=verdict)

    def _submit(self, episode: Episode, trajectory: Trajectory) -> None:
        if episode.owner is not None:
            episode.owner[1].submit(trajectory)
        else:
            episode.caller.view(self.hindsight).submit(trajectory)

    def _keep_answer(self, episode: Episode) -> None:
        answers = [
            message["content"]
            for message in episode.messages
            if message["role"] == "assistant" and not message.get("agent") and message["content"]
        ]
        if answers:
            self._answers.keep(episode.caller, episode.talk, answers[-1])


def announce(hindsight: Hindsight, session_id: str, asked: str, answer_before: str) -> str:
    """Tell the run that the calling code is part of which memory it uses; return the run's id.

    Args:
        hindsight: The memory, for the user whom it is used for.
        session_id: The conversation.
        asked: What the user said last.
        answer_before: What the agent had answered before that.

    Returns:
        The id, `""` outside of a run or where runs are not recorded.
    """
    span_id = active_span_id.get()
    run_id = ""
    for recorder in tuple(_recorders) if span_id else ():
        told = recorder.announce(span_id or "", hindsight, session_id, asked, answer_before)
        run_id = told or run_id
    return run_id


def current_run_id() -> str:
    """Return the id of the run that the calling code is part of, `""` outside of one."""
    span_id = active_span_id.get()
    found = (recorder.run_of(span_id) for recorder in tuple(_recorders) if span_id)
    return next((run[0].run_id for run in found if run), "")


def _run_id(span_id: str, kind: RunKind) -> str:
    """Return the id of a run: a workflow's own, which its handler shows, or the span's."""
    given = active_instrument_tags.get().get("llamaindex.run_id") if kind != "chat" else None
    return given if isinstance(given, str) and given.strip() else f"run_{span_id[-36:]}"
