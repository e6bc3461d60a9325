"""Follows the runs that a middleware or a graph node takes part in, where no handler is passed.

A middleware's hooks don't see how a run ends when it fails outside them: at the step limit,
when a stream is abandoned, when a task is cancelled. LangChain offers a hook by which a handler
joins every run of the process; this one only keeps ids, and records what has been claimed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from contextvars import ContextVar
from uuid import UUID

from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook

from hindsight_core.hindsight import Hindsight
from hindsight_langchain.events import RecordingEvents, Target
from hindsight_langchain.recorder import Recorder, recorder_of

__all__ = ["current_run", "watch"]


class _Watch(RecordingEvents):
    """Passes events on to the recorder of every memory that asked for it and still lives."""

    def __init__(self) -> None:
        self._watched: tuple[weakref.ref[Recorder], ...] = ()

    def add(self, recorder: Recorder) -> None:
        """Follow runs for a recorder; those that are gone or closed are let go."""
        live = [known for known in (reference() for reference in self._watched) if known]
        live = [known for known in live if not known.hindsight.is_closed and known is not recorder]
        self._watched = tuple(weakref.ref(known) for known in (*live, recorder))

    def _targets(self) -> Iterable[Target]:
        found: list[Target] = []
        for reference in self._watched:
            recorder = reference()
            if recorder is not None and not recorder.hindsight.is_closed:
                found.append((recorder.hindsight, recorder, None))
        return found


_watcher = _Watch()
# The default makes it present in every context and thread, once the hook is registered.
_variable: ContextVar[_Watch | None] = ContextVar("hindsight_watch", default=_watcher)
_lock = threading.Lock()
_registered: list[ContextVar[_Watch | None]] = []


def watch(hindsight: Hindsight) -> None:
    """Follow the runs of this process from now on, for this memory."""
    with _lock:
        if not _registered:
            _registered.append(_variable)
            register_configure_hook(_variable, inheritable=True)
        _watcher.add(recorder_of(hindsight))


def current_run() -> UUID | None:
    """Return the callback run around the caller, `None` outside of any."""
    config = var_child_runnable_config.get()
    manager = config.get("callbacks") if config else None
    return getattr(manager, "parent_run_id", None)
