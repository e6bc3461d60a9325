"""`hindsight contradictions`: what contradicts a statement, or what is open among memories."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hindsight_core.cli.output import Output
from hindsight_core.cli.session import Target, open_memory
from hindsight_core.cli.views import contradiction_table, dispute_table
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.review import contradicted_ids
from hindsight_core.models import Memory

__all__ = ["contradictions"]

PAGE = 256
"""Memories read at once."""


def contradictions(options: argparse.Namespace, out: Output) -> int:
    """Print what contradicts a statement; without one, the contradictions that are open."""
    if options.statement is None:
        return _open(options, out)
    with open_memory(Target.of(options)) as hindsight:
        found = hindsight.contradictions(
            options.statement, top_k=options.top_k, least=options.least
        )
    out.show({"contradictions": found}, lambda: [contradiction_table(found)] if found else [])
    if not found:
        out.note("nothing contradicts it")
    return 0


def _open(options: argparse.Namespace, out: Output) -> int:
    with open_memory(Target.of(options)) as hindsight:
        pairs = [pair for memory in _active(hindsight) if (pair := _sides(hindsight, memory))]
    found = [{"memory": memory, "against": against} for memory, against in pairs]
    out.show({"contradictions": found}, lambda: [dispute_table(pairs)] if pairs else [])
    out.note("`hindsight review` settles them" if pairs else "no contradiction is open")
    return 0


def _active(hindsight: Hindsight) -> Iterator[Memory]:
    cursor: str | None = None
    while True:
        page = hindsight.list(limit=PAGE, cursor=cursor)
        yield from page.memories
        cursor = page.cursor
        if cursor is None:
            return


def _sides(hindsight: Hindsight, memory: Memory) -> tuple[Memory, list[Memory]] | None:
    """Return a memory and what it contradicts that is in use too, `None` for nothing."""
    others = (hindsight.get(memory_id) for memory_id in contradicted_ids(memory))
    against = [other for other in others if other is not None and other.status == "active"]
    return (memory, against) if against else None
