"""Memories as tables and lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hindsight_core.cli.output import as_json, counted, make_table, plain
from hindsight_core.models import Change, Memory, Retrieved
from hindsight_core.retrieval.contradicting import Contradiction
from hindsight_core.verbs.reading import Why

__all__ = [
    "contradiction_table",
    "details_table",
    "dispute_table",
    "memory_pieces",
    "memory_table",
    "retrieved_table",
    "short",
    "why_pieces",
]

VISIBLE_SHARE = 0.005
"""Least share of a factor that two decimals show."""


def short(text: str, limit: int = 240) -> str:
    """Return `text` on one line, cut to `limit` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def memory_table(memories: Sequence[Memory]) -> Table:
    """Return one row per memory: what it says, its id, what sort it is, how sure."""
    table = make_table(columns=("memory", "kind", "sure", "when"), numbers=("sure", "when"))
    for memory in memories:
        kind = memory.category if memory.status == "active" else memory.status
        table.add_row(
            _said(memory), plain(kind), f"{memory.confidence:.2f}", _day(memory.event_time)
        )
    return table


def retrieved_table(results: Sequence[Retrieved]) -> Table:
    """Return one row per result with its score and each factor's share of it.

    A factor that rounds to nothing in every result has no column.
    """
    names = list(
        dict.fromkeys(
            name
            for result in results
            for name, share in result.factors.items()
            if abs(share) >= VISIBLE_SHARE
        )
    )
    table = make_table(columns=("score", *names, "memory"), numbers=("score",))
    for result in results:
        shares = (result.factors.get(name) for name in names)
        table.add_row(
            f"{result.score:.3f}",
            *("" if share is None else f"{share:.2f}" for share in shares),
            _rated(result),
        )
    return table


def contradiction_table(found: Sequence[Contradiction]) -> Table:
    """Return one row per memory that contradicts a statement: how strongly, and of when it is."""
    numbers = ("score", "relevance", "difference", "when")
    table = make_table(columns=(*numbers[:3], "memory", "when"), numbers=numbers)
    for one in found:
        shares = (one.score, one.relevance, one.difference)
        table.add_row(
            *(f"{share:.2f}" for share in shares), _said(one.memory), _day(one.memory.event_time)
        )
    return table


def dispute_table(pairs: Sequence[tuple[Memory, Sequence[Memory]]]) -> Table:
    """Return one row per contradiction among memories: both sides, and of when each is."""
    table = make_table(columns=("when", "memory", "against", "of"), numbers=("when", "of"))
    for memory, against in pairs:
        for other in against:
            days = _day(memory.event_time), _day(other.event_time)
            table.add_row(days[0], _said(memory), _said(other), days[1])
    return table


def memory_pieces(memory: Memory, changes: Sequence[Change]) -> list[RenderableType]:
    """Return what a memory says, everything that is known of it, and its changes."""
    pieces: list[RenderableType] = [plain(memory.content, "bold"), _card(memory)]
    return [*pieces, plain(""), _change_table(changes)] if changes else pieces


def _card(memory: Memory) -> Table:
    context = memory.context
    rows = {
        "id": memory.id,
        "kind": f"{memory.kind}, {memory.category}",
        "status": memory.status,
        "applies when": memory.applies_when,
        "not when": memory.not_when,
        "task": memory.task_description,
        "task type": memory.task_type,
        "tools": ", ".join(context.tools_used),
        "outcome": memory.outcome,
        "confidence": f"{memory.confidence:.2f}",
        "importance": f"{memory.importance:.2f}",
        "source": memory.source,
        "tags": ", ".join(memory.tags),
        "namespace": str(memory.namespace),
        "runs": ", ".join(evidence.run_id for evidence in memory.evidence),
        "replaces": ", ".join(memory.supersedes),
        "replaced by": memory.superseded_by,
        "happened": _moment(memory.event_time),
        "stored": _moment(memory.created_at),
        "changed": _moment(memory.updated_at),
        "valid until": _moment(memory.valid_until),
        "recalled": f"{counted(memory.access_count, 'time')}; then "
        f"{counted(memory.success_count, 'run')} succeeded, {memory.failure_count} failed",
        "version": str(memory.version),
    }
    return details_table({name: text for name, text in rows.items() if text})


def _change_table(changes: Sequence[Change]) -> Table:
    table = make_table(columns=("version", "when", "why", "before"), numbers=("version", "when"))
    for change in changes:
        before = "; ".join(f"{name}: {value}" for name, value in change.before.items())
        table.add_row(
            str(change.version), _moment(change.at), plain(change.reason), plain(short(before))
        )
    return table


def why_pieces(why: Why) -> list[RenderableType]:
    """Return a memory, then each run behind it with the steps quoted, then what became of it."""
    pieces: list[RenderableType] = [plain(why.memory.content, "bold")]
    for run in why.runs:
        outcome = f"{run.outcome.label}, says {run.outcome.source}" if run.outcome else "unknown"
        pieces += [plain(""), plain(f"run {run.run_id} ({outcome})", "bold")]
        pieces += [plain(f"asked: {short(run.task)}")] if run.task else []
        pieces += [plain(run.note, "dim")] if run.note else []
        quotes = (plain(f"[{step.position}] {step.kind}: {step.text}") for step in run.steps)
        pieces += [Padding(quote, (0, 0, 0, 2)) for quote in quotes]
    if not why.runs:
        pieces.append(plain("no run taught it; it was written by hand", "dim"))
    if why.audit:
        table = make_table(columns=("when", "what", "by", "why"), numbers=("when",))
        for entry in why.audit:
            reason = plain(short(entry.reason))
            table.add_row(_moment(entry.at), plain(entry.action), plain(entry.actor), reason)
        pieces += [plain(""), table]
    return pieces


def details_table(rows: Mapping[str, Any]) -> Table:
    """Return names and values, nested mappings flattened with dots."""
    table = make_table(columns=("", ""))
    table.show_header = False
    for name, value in _flat(as_json(rows)):
        table.add_row(plain(name, "bold"), plain(value))
    return table


def _flat(rows: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in rows.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield prefix + name, ", ".join(str(item) for item in value)
        else:
            yield prefix + name, "–" if value is None else str(value)


def _rated(result: Retrieved) -> Text:
    said = _said(result.memory)
    if result.reason:
        said.append_text(plain(f"\nrated so because: {short(result.reason, 100)}"))
    return said


def _said(memory: Memory) -> Text:
    said = plain(short(memory.content))
    if memory.applies_when and memory.applies_when not in memory.content:
        said.append_text(plain(f"\nwhen: {short(memory.applies_when, 100)}"))
    return said.append_text(plain(f"\n{memory.id}", "dim"))


def _day(moment: datetime) -> str:
    return moment.date().isoformat()


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""
