"""Which memory, and whose part of it, a verb is about."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hindsight_core.engine import Engine
from hindsight_core.errors import ClosedError, MemoryNotFoundError
from hindsight_core.locks import ForkSafeLock
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, arun

__all__ = ["Health", "Scope"]

logger = logging.getLogger("hindsight_core")
R = TypeVar("R")

MESSAGES_KEPT = 100
"""Namespaces whose last message of a kind is remembered, the latest ones."""


@dataclass(slots=True)
class _Shared:
    """What all facades of one engine have in common, besides the engine."""

    closed: bool = False
    attached: dict[type[Any], Any] = field(default_factory=dict)
    before_close: list[Callable[[], None]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, dict[Namespace, str]] = field(default_factory=dict)
    lock: ForkSafeLock = field(default_factory=ForkSafeLock)


@dataclass(frozen=True, slots=True)
class Health:
    """What went wrong quietly, as one namespace may see it, and whether the engine is open.

    How often is counted for the engine as a whole. A message may quote a run, so it is shown
    only where it arose and to the namespaces above that.

    Attributes:
        namespace: Who looks, and where what is noted here arose.
    """

    namespace: Namespace
    _shared: _Shared = field(default_factory=_Shared)

    def of(self, namespace: Namespace) -> Health:
        """Return the health of another namespace on the same engine."""
        return Health(namespace, self._shared)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often what went wrong, in any namespace of the engine."""
        with self._shared.lock:
            return dict(self._shared.counts)

    @property
    def last(self) -> Mapping[str, str]:
        """The last message of each kind."""
        own, found = self.namespace.parts, {}
        with self._shared.lock:
            for what, messages in self._shared.last.items():
                for place, message in messages.items():
                    if place.parts[: len(own)] == own:
                        found[what] = message
        return found

    @property
    def closed(self) -> bool:
        """Whether the engine was closed."""
        return self._shared.closed

    @property
    def before_close(self) -> list[Callable[[], None]]:
        """What is called, once, before the engine is closed."""
        return self._shared.before_close

    def attach(self, kind: type[R], make: Callable[[], R]) -> R:
        """Return what is kept of `kind` for as long as the engine lives, made now if need be."""
        with self._shared.lock:
            if kind not in self._shared.attached:
                self._shared.attached[kind] = make()
            kept: R = self._shared.attached[kind]
            return kept

    def begin_close(self) -> None:
        """Call what waits for the close, then say that it is closed.

        What fails meanwhile is noted and stops nothing.
        """
        shared = self._shared
        with shared.lock:
            waiting, shared.before_close = shared.before_close, []
        for call in waiting:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - the close goes on
                self.note("close", error)
        shared.closed = True

    def note(self, what: str, error: BaseException, run_id: str = "") -> None:
        """Count a failure and log it once, with the run's id."""
        shared = self._shared
        with shared.lock:
            shared.counts[what] += 1
            messages = shared.last.setdefault(what, {})
            messages.pop(self.namespace, None)
            messages[self.namespace] = str(error) or type(error).__name__
            while len(messages) > MESSAGES_KEPT:
                messages.pop(next(iter(messages)))
        suffix = f" of run {run_id}" if run_id else ""
        logger.warning("%s%s failed: %s", what, suffix, error)


@dataclass(frozen=True, slots=True)
class Scope:
    """One engine, seen from one namespace.

    Attributes:
        engine: The open memory.
        namespace: Where is written, and what is read first.
        shared: Further namespaces that are read, in order of preference.
        health: What went wrong quietly.
    """

    engine: Engine
    namespace: Namespace
    shared: tuple[Namespace, ...]
    health: Health

    @property
    def readable(self) -> tuple[Namespace, ...]:
        """All namespaces that are read, the own one first."""
        return tuple(dict.fromkeys((self.namespace, *self.shared)))

    def require_open(self) -> None:
        """Refuse to work after `close`.

        Raises:
            ClosedError: If the facade was closed.
        """
        if self.health.closed:
            raise ClosedError("this Hindsight was closed; open a new one with Hindsight.open(…)")

    def run(self, plan: Plan[R]) -> R:
        """Run a plan that reads, in the calling thread."""
        return self.engine.run(plan)

    async def arun(self, plan: Plan[R]) -> R:
        """Run a plan that reads, without blocking the event loop."""
        return await arun(plan, self.engine.store)

    def write(self, plan: Plan[R]) -> R:
        """Run a plan that writes, one at a time for each store of this process."""
        with self.engine.writer.lock:
            return self.engine.run(plan)

    def flush(self, timeout: float) -> bool:
        """Wait until no run is due for reflection, at most `timeout` seconds."""
        self.require_open()
        done = self.engine.worker.flush(timeout)
        self.engine.note_recalls()
        return done

    def close(self) -> None:
        """Close the engine, once."""
        if not self.health.closed:
            self.health.begin_close()
            self.engine.close()

    def not_found(self, memory_id: str) -> MemoryNotFoundError:
        """Return the error for an id that is not there."""
        return MemoryNotFoundError(
            f"there is no memory {memory_id!r} in namespace {self.namespace}; list() shows "
            "those there are"
        )
