"""Turns callback events into episodes: one for each outermost run, on whatever way it runs.

There is one recorder for each engine. Every handler and middleware of that engine reports to
it, so a run is recorded once however many of them are attached. A run that nobody claims is
followed only by its ids and dropped at its end.

What the recorder holds is bounded: the runs under way that were quiet for longest, and the
oldest pauses, are submitted as they are when there are too many.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from hindsight_core.adapting import before_close, kept_with, note_quietly, time_of
from hindsight_core.errors import HindsightError, NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_langchain.endings import Ending, ending_of_error
from hindsight_langchain.episodes import Claim, Episode, RunInfo
from hindsight_langchain.identity import config_values

__all__ = ["MAX_OPEN", "Recorder", "recorder_of"]

MAX_OPEN = 256
"""Runs under way, and pauses, that are held at once."""
_REMEMBERED = 1_024
"""Ended runs that are remembered, so that a late event does not start them again."""


def recorder_of(hindsight: Hindsight) -> Recorder:
    """Return the recorder of this memory's engine."""
    return kept_with(hindsight, Recorder, lambda: Recorder(hindsight))


class Recorder:
    """Follows the runs of one engine; safe to use from several threads and loops.

    Args:
        hindsight: Any view of the engine.
        max_open: Runs under way, and pauses, that are held at once.
    """

    def __init__(self, hindsight: Hindsight, max_open: int = MAX_OPEN) -> None:
        self.hindsight = hindsight
        self.max_open = max_open
        self._lock = threading.RLock()
        self._open: OrderedDict[UUID, Episode] = OrderedDict()
        self._paused: OrderedDict[tuple[str, str], Episode] = OrderedDict()
        self._by_run: dict[UUID, Episode] = {}
        self._ended: deque[UUID] = deque(maxlen=_REMEMBERED)
        before_close(hindsight, self.settle)

    @property
    def open_runs(self) -> int:
        """How many callback runs are followed at the moment."""
        return len(self._by_run)

    @property
    def paused_runs(self) -> int:
        """How many episodes wait to be resumed."""
        return len(self._paused)

    def start(
        self,
        run_id: UUID,
        parent: UUID | None,
        info: RunInfo,
        *,
        inputs: Any = None,
        metadata: Mapping[str, Any] | None = None,
        claim: Claim | None = None,
    ) -> tuple[Episode, RunInfo] | None:
        """Follow a callback run; return its episode, `None` if it was known or is not followed.

        Args:
            run_id: The callback run.
            parent: The run above it.
            info: What it is.
            inputs: What it was given.
            metadata: The config's metadata, read for an outermost run.
            claim: Whether and how the outermost run is to be recorded.
        """
        with self._lock:
            known = self._by_run.get(run_id)
            if known is not None:
                if claim is not None and known.root == run_id:
                    self._claimed(known, claim)
                return None
            above = self._by_run.get(parent) if parent else None
            if above is None:
                if run_id in self._ended or (parent and parent in self._ended):
                    return None
                above = self._begin(
                    run_id, info, inputs, config_values({"metadata": metadata}), claim
                )
            self._open.move_to_end(above.root)
            above.runs[run_id] = info
            self._by_run[run_id] = above
            return above, info

    def info(self, run_id: UUID | None) -> RunInfo | None:
        """Return what a callback run is, `None` if it is not followed."""
        with self._lock:
            episode = self._by_run.get(run_id) if run_id else None
            return episode.runs.get(run_id) if episode and run_id else None

    def claim(self, run_id: UUID, claim: Claim) -> Episode | None:
        """Have the outermost run above `run_id` recorded; return it if it is followed."""
        with self._lock:
            episode = self._by_run.get(run_id)
            if episode is not None:
                self._claimed(episode, claim)
            return episode

    def find(self, run_id: UUID | None) -> Episode | None:
        """Return the episode that a callback run belongs to."""
        with self._lock:
            return self._by_run.get(run_id) if run_id else None

    def records(self, question: str) -> bool:
        """Whether a run that was asked `question` is under way and being recorded."""
        with self._lock:
            return any(
                record["role"] == "user" and record["content"] == question
                for episode in self._open.values()
                if episode.claim is not None
                for record in episode.records[:1]
            )

    def end(self, run_id: UUID) -> tuple[Episode, RunInfo] | None:
        """Stop following a callback run; return what it was, `None` if it is not followed."""
        with self._lock:
            episode = self._by_run.pop(run_id, None)
            if episode is None:
                return None
            self._open.move_to_end(episode.root)
            return episode, episode.runs.pop(run_id, RunInfo("chain"))

    def note(self, episode: Episode, record: dict[str, Any], agent: str) -> None:
        """Note one thing that happened in an episode."""
        with self._lock:
            episode.add(record, self._now(), agent)

    def call(self, episode: Episode, run_id: UUID, info: RunInfo, arguments: Any) -> None:
        """Note that a tool was called, and which call of a model that answers."""
        with self._lock:
            info = info._replace(arguments=dict(arguments))
            call_id = episode.open_call(info.call_id, info, self._now())
            episode.runs[run_id] = info._replace(call_id=call_id)

    def answer(
        self,
        episode: Episode,
        info: RunInfo,
        content: Any,
        *,
        is_error: bool = False,
        error: BaseException | None = None,
    ) -> None:
        """Note what a tool returned, or what it raised."""
        with self._lock:
            if error is not None:
                episode.failed_call(info, error)
            episode.answer_call(info, content, self._now(), is_error=is_error)

    def finish(self, episode: Episode, outputs: Any) -> None:
        """End an outermost run that returned `outputs`: submit it, or keep it if it paused."""
        with self._lock:
            self._forget(episode)
            if episode.claim is None:
                return
            episode.take_unseen(outputs, self._now())
            key = self._thread_key(episode)
            if episode.expects_more(outputs) and key is not None:
                self._keep_paused(key, episode)
                return
        ending: Ending = "paused" if episode.paused else "finished"
        self._submit(episode, ending, "")

    def fail(self, episode: Episode, error: BaseException) -> None:
        """End an outermost run that raised `error`."""
        ending = ending_of_error(error)
        with self._lock:
            self._forget(episode)
            if episode.claim is None:
                return
            key = self._thread_key(episode)
            if ending == "paused" and key is not None:
                self._keep_paused(key, episode)
                return
        self._submit(episode, ending, episode.reason_of(error) if ending != "abandoned" else "")

    def settle(self) -> None:
        """Submit everything that is open or paused, as it is; what a close of the memory does."""
        with self._lock:
            waiting = list(self._paused.values())
            lost = [episode for episode in self._open.values() if episode.claim is not None]
            self._paused.clear()
            for episode in list(self._open.values()):
                self._forget(episode)
        for episode in waiting:
            self._submit(episode, "paused", "")
        for episode in lost:
            self._submit(episode, "lost", "")

    def _begin(
        self,
        root: UUID,
        info: RunInfo,
        inputs: Any,
        values: Mapping[str, Any],
        claim: Claim | None,
    ) -> Episode:
        resumed, said = _resumption(inputs)
        episode = Episode.begin(root, info.name, inputs, values, self._now())
        before = self._take_paused(episode)
        if before is not None and resumed:
            before.resume(root, said, self._now())
            episode = before
        elif before is not None:
            self._submit(before, "paused", "")
        self._open[root] = episode
        if claim is not None:
            self._claimed(episode, claim)
        while len(self._open) > self.max_open:
            oldest = next(iter(self._open.values()))
            self._forget(oldest)
            if oldest.claim is not None:
                self._submit(oldest, "lost", "")
        return episode

    def _claimed(self, episode: Episode, claim: Claim) -> None:
        episode.accept(claim, self._now())

    def _forget(self, episode: Episode) -> None:
        self._open.pop(episode.root, None)
        for run_id in [episode.root, *episode.runs]:
            self._by_run.pop(run_id, None)
        episode.runs.clear()
        self._ended.append(episode.root)

    def _keep_paused(self, key: tuple[str, str], episode: Episode) -> None:
        episode.paused = True
        before = self._paused.pop(key, None)
        self._paused[key] = episode
        waiting = [before] if before is not None and before is not episode else []
        while len(self._paused) > self.max_open:
            waiting.append(self._paused.popitem(last=False)[1])
        for old in waiting:
            self._submit(old, "paused", "")

    def _thread_key(self, episode: Episode) -> tuple[str, str] | None:
        """Return under what an episode is kept while it is paused: its thread, and whose it is."""
        if not episode.thread_id or episode.claim is None:
            return None
        try:
            return episode.thread_id, _owner(episode.claim, episode.values)
        except NamespaceError:
            return None  # nobody's: submitting it will say so

    def _take_paused(self, episode: Episode) -> Episode | None:
        """Return the paused episode of the same thread and the same owner, if there is one."""
        thread = episode.thread_id
        for key, paused in self._paused.items() if thread else ():
            if key[0] != thread or paused.claim is None:
                continue
            try:
                owner = _owner(paused.claim, episode.values)
            except NamespaceError:
                continue
            if owner == key[1]:
                return self._paused.pop(key)
        return None

    def _submit(self, episode: Episode, ending: Ending, reason: str) -> None:
        """Hand a run over; what goes wrong is noted, and raised only where that is wished."""
        claim = episode.claim
        if claim is None:
            return
        try:
            view = claim.identity.view(claim.hindsight, episode.values)
            run = episode.trajectory(ending, reason, self._now())
        except HindsightError as error:
            note_quietly(claim.hindsight, "recording", error, episode.run_id)
            return
        try:
            run = episode.judged(run)
        except Exception as error:  # noqa: BLE001 - a validator may raise anything
            note_quietly(claim.hindsight, "validator", error, episode.run_id)
        try:
            view.submit(run)
        except HindsightError as error:
            note_quietly(claim.hindsight, "submit", error, episode.run_id)

    def _now(self) -> datetime:
        return time_of(self.hindsight)


def _owner(claim: Claim, values: Mapping[str, Any]) -> str:
    return claim.identity.view(claim.hindsight, values).namespace.key


def _resumption(inputs: Any) -> tuple[bool, str]:
    """Return whether inputs resume a paused run, and what the person said with it."""
    if inputs is None:
        return True, ""
    if type(inputs).__name__ != "Command" or not hasattr(inputs, "resume"):
        return False, ""
    return True, _said(inputs.resume)


def _said(value: Any) -> str:
    """Return what a person answered to an interrupt, as text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return "" if value is None else str(value)
    decisions = value.get("decisions")
    if not isinstance(decisions, list):
        return "\n".join(text for text in (_said(item) for item in value.values()) if text)
    said = []
    for decision in decisions:
        if isinstance(decision, Mapping):
            parts = (decision.get("type"), decision.get("message"), decision.get("edited_action"))
            said.append(": ".join(str(part) for part in parts if part))
    return "\n".join(said)
