"""When this host last tended a namespace to the end, kept as counters of the journal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, TypeAlias

from hindsight_core.engine import Engine
from hindsight_core.namespaces import Namespace

__all__ = ["Tending", "last_time", "note_time"]

Tending: TypeAlias = Literal["maintained", "consolidated"]


def last_time(engine: Engine, tending: Tending, namespace: Namespace) -> datetime | None:
    """Return when `namespace` was last tended so, to the second, `None` if never."""
    seconds = engine.journal.counters().get(_counter(tending, namespace), 0)
    return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None


def note_time(engine: Engine, tending: Tending, namespace: Namespace, now: datetime) -> None:
    """Note that `namespace` was tended so at `now`."""
    name = _counter(tending, namespace)
    earlier = engine.journal.counters().get(name, 0)
    engine.journal.add_counter(name, int(now.timestamp()) - earlier)


def _counter(tending: Tending, namespace: Namespace) -> str:
    return f"{tending}_at:{namespace.key}"
