"""The verbs that read and change memories."""

from __future__ import annotations

import argparse
from typing import Any, cast

from hindsight_core.cli.arguments import UsageError
from hindsight_core.cli.inputs import read_input
from hindsight_core.cli.output import Output, as_json, plain
from hindsight_core.cli.session import Target, open_memory, require_run
from hindsight_core.cli.views import (
    details_table,
    memory_pieces,
    memory_table,
    retrieved_table,
    why_pieces,
)
from hindsight_core.clock import system_clock
from hindsight_core.models import STATUSES
from hindsight_core.options import StoreOptions

__all__ = ["feedback", "forget", "list_memories", "retrieve", "show", "stats", "store", "why"]


def store(options: argparse.Namespace, out: Output) -> int:
    """`hindsight store`: write one memory by hand."""
    content = options.content if options.content != "-" else read_input("-", "the text")
    started = system_clock()
    with open_memory(Target.of(options)) as hindsight:
        memory = hindsight.store(content.strip(), **_given(options))
    out.show({"memory": memory}, lambda: [memory_table([memory])])
    if memory.created_at < started:
        out.note("that was known already; nothing new was stored")
    elif memory.valid_until and memory.valid_until <= started:
        out.note(f"it held until {memory.valid_until:%Y-%m-%d}, so no retrieval finds it")
    return 0


def _given(options: argparse.Namespace) -> StoreOptions:
    """Return the options of `store` that were given; the facade knows the defaults."""
    names = StoreOptions.__optional_keys__
    given = {n: v for n, v in vars(options).items() if n in names and v not in (None, [], "")}
    return cast("StoreOptions", given)


def retrieve(options: argparse.Namespace, out: Output) -> int:
    """`hindsight retrieve`: rank the memories for a task."""
    with open_memory(Target.of(options)) as hindsight:
        results = hindsight.retrieve(
            options.task,
            top_k=options.top_k,
            task_type=options.task_type,
            tags=tuple(options.tags),
            kinds=options.kinds,
            since=options.since,
            until=options.until,
            min_confidence=options.min_confidence,
            abstain=options.abstain,
        )
    out.show({"results": results}, lambda: [retrieved_table(results)] if results else [])
    if not results:
        out.note("nothing found")
    return 0


def list_memories(options: argparse.Namespace, out: Output) -> int:
    """`hindsight list`: page through the memories."""
    names = ("kinds", "categories", "task_types", "tags", "run_id")
    filters: dict[str, Any] = {n: getattr(options, n) for n in names if getattr(options, n)}
    if options.statuses:
        filters["statuses"] = STATUSES if "any" in options.statuses else tuple(options.statuses)
    with open_memory(Target.of(options)) as hindsight:
        page = hindsight.list(limit=options.limit, cursor=options.cursor, **filters)
    out.show(page, lambda: [memory_table(page.memories)] if page.memories else [])
    if not page.memories:
        out.note("no memories")
    elif page.cursor:
        out.note(f"more with --cursor {page.cursor}")
    return 0


def show(options: argparse.Namespace, out: Output) -> int:
    """`hindsight show`: one memory with its history."""
    with open_memory(Target.of(options)) as hindsight:
        found = hindsight.why(options.id)
    out.show(
        {"memory": found.memory, "changes": found.changes},
        lambda: memory_pieces(found.memory, found.changes),
    )
    return 0


def why(options: argparse.Namespace, out: Output) -> int:
    """`hindsight why`: the runs and steps that taught a memory."""
    with open_memory(Target.of(options)) as hindsight:
        reasons = hindsight.why(options.id)
    out.show(reasons, lambda: why_pieces(reasons))
    return 0


def forget(options: argparse.Namespace, out: Output) -> int:
    """`hindsight forget`: take memories out of use."""
    reason = options.reason or "forgotten by hand"
    with open_memory(Target.of(options)) as hindsight:
        if options.id:
            hindsight.history(options.id)  # an unknown id is an error, a forgotten one is not
        if options.run_id:
            require_run(hindsight, options.run_id)
        forgotten = hindsight.forget(options.id or "", run_id=options.run_id or "", reason=reason)
    out.show({"forgotten": forgotten}, lambda: [plain(memory_id) for memory_id in forgotten])
    out.note(f"{len(forgotten)} forgotten")
    return 0


def feedback(options: argparse.Namespace, out: Output) -> int:
    """`hindsight feedback`: tell how a run or a memory turned out."""
    if bool(options.run_id) != bool(options.outcome):
        raise UsageError("--run goes with --outcome, and --memory with --helpful or --harmful")
    with open_memory(Target.of(options)) as hindsight:
        if options.run_id:
            require_run(hindsight, options.run_id)
            changed = hindsight.feedback(
                run_id=options.run_id,
                outcome=options.outcome,
                source=options.source,
                reason=options.reason,
            )
        else:
            changed = hindsight.feedback(
                memory_id=options.memory_id,
                helpful=options.helpful,
                source=options.source,
                reason=options.reason,
            )
    out.show({"memories": changed}, lambda: [memory_table(changed)] if changed else [])
    out.note(f"{len(changed)} changed")
    return 0


def stats(options: argparse.Namespace, out: Output) -> int:
    """`hindsight stats`: count what is stored, waiting and failed."""
    with open_memory(Target.of(options)) as hindsight:
        numbers = hindsight.stats()
    out.show(numbers, lambda: [details_table(as_json(numbers))])
    return 0
