"""Which memory, and whose part of it, a verb is about."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hindsight_core.engine import Engine
from hindsight_core.errors import ClosedError, MemoryNotFoundError
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, arun

__all__ = ["Health", "Scope"]

logger = logging.getLogger("hindsight_core")
R = TypeVar("R")


@dataclass(slots=True)
class Health:
    """What went wrong quietly, counted; shared by all facades of one engine.

    Attributes:
        counts: How often what went wrong.
        last: The last message of each kind.
        closed: Whether the engine was closed.
        attached: What adapters keep for as long as the engine lives, by its type.
        before_close: Called, once, before the engine is closed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    last: dict[str, str] = field(default_factory=dict)
    closed: bool = False
    attached: dict[type[Any], Any] = field(default_factory=dict)
    before_close: list[Callable[[], None]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def attach(self, kind: type[R], make: Callable[[], R]) -> R:
        """Return what is kept of `kind`, made now if there is none."""
        with self._lock:
            if kind not in self.attached:
                self.attached[kind] = make()
            kept: R = self.attached[kind]
            return kept

    def prepare_close(self) -> None:
        """Call what waits for the close; what fails there is noted and stops nothing."""
        with self._lock:
            waiting, self.before_close = self.before_close, []
        for call in waiting:
            try:
                call()
            except Exception as error:  # noqa: BLE001 - the close goes on
                self.note("close", error)

    def note(self, what: str, error: BaseException, run_id: str = "") -> None:
        """Count a failure and log it once, with the run's id."""
        with self._lock:
            self.counts[what] += 1
            self.last[what] = str(error) or type(error).__name__
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
            self.health.prepare_close()
            self.health.closed = True
            self.engine.close()

    def not_found(self, memory_id: str) -> MemoryNotFoundError:
        """Return the error for an id that is not there."""
        return MemoryNotFoundError(
            f"there is no memory {memory_id!r} in namespace {self.namespace}; list() shows "
            "those there are"
        )
