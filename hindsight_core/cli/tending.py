"""The verbs that tend memory: history, rollback, release, restore, maintain, consolidate."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hindsight_core.cli.output import Output, counted, make_table, plain
from hindsight_core.cli.session import Target, open_memory, require_run
from hindsight_core.cli.views import memory_table
from hindsight_core.lifecycle import maintain as maintenance
from hindsight_core.lifecycle.tended import Action, Tended
from hindsight_core.lifecycle.versions import Version

__all__ = ["consolidate", "history", "maintain", "release", "restore", "rollback"]


def history(options: argparse.Namespace, out: Output) -> int:
    """`hindsight history`: a memory's life as a line of versions."""
    with open_memory(Target.of(options)) as hindsight:
        line = hindsight.versions(options.id)
    out.show({"versions": line}, lambda: _version_pieces(line))
    return 0


def rollback(options: argparse.Namespace, out: Output) -> int:
    """`hindsight rollback`: a memory to an earlier version, or all that a run taught."""
    with open_memory(Target.of(options)) as hindsight:
        if options.run_id:
            require_run(hindsight, options.run_id)
        report = hindsight.rollback(
            options.id or "", run_id=options.run_id or "", to=options.to, dry_run=options.dry_run
        )
    out.show(report, lambda: _step_pieces(report.steps))
    done = [f"{len(report.ids(a))} {a}" for a in _ACTIONS if report.ids(a)]
    out.note(_would(options.dry_run, ", ".join(done) or "nothing to roll back"))
    return 0


def release(options: argparse.Namespace, out: Output) -> int:
    """`hindsight release`: a memory out of quarantine."""
    with open_memory(Target.of(options)) as hindsight:
        memory = hindsight.release(options.id)
    out.show({"memory": memory}, lambda: [memory_table([memory])])
    return 0


def restore(options: argparse.Namespace, out: Output) -> int:
    """`hindsight restore`: an archived, forgotten or replaced memory back into use."""
    with open_memory(Target.of(options)) as hindsight:
        memory = hindsight.restore(options.id)
    out.show({"memory": memory}, lambda: [memory_table([memory])])
    return 0


def maintain(options: argparse.Namespace, out: Output) -> int:
    """`hindsight maintain`: let go of what expired, grew cold, proved wrong or is there twice."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    hidden = not out.messages.is_terminal
    with (
        open_memory(Target.of(options)) as hindsight,
        Progress(*columns, console=out.messages, transient=True, disable=hidden) as bars,
    ):
        tasks: dict[str, Any] = {}

        def tell(progress: maintenance.Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.total)
            bars.update(tasks[progress.stage], completed=progress.done, total=progress.total)

        report = hindsight.maintain(
            dry_run=options.dry_run, everything=options.everything, on_progress=tell
        )
    out.show(report, lambda: _step_pieces(report.steps))
    done = ", ".join(f"{count} {action}" for action, count in report.counts.items())
    for note in report.notes:
        out.note(note)
    looked = counted(report.examined, "memory", "memories")
    out.note(_would(options.dry_run, f"{looked} looked at, {done or 'nothing to change'}"))
    return 0


def consolidate(options: argparse.Namespace, out: Output) -> int:
    """`hindsight consolidate`: episodes become rules."""
    with open_memory(Target.of(options)) as hindsight:
        report = hindsight.consolidate(
            dry_run=options.dry_run,
            everything=options.everything,
            token_limit=options.token_limit,
        )
    out.show(report, lambda: _step_pieces(report.steps))
    for note in report.notes:
        out.note(note)
    said = f"{counted(len(report.rules), 'rule')} from {counted(report.groups, 'group')}"
    spent = report.tokens_in + report.tokens_out
    said += f", {counted(spent, 'token')}" if spent else ""
    out.note(_would(options.dry_run, said))
    return 0


_ACTIONS: tuple[Action, ...] = ("forgotten", "archived", "restored", "revised", "left")


def _would(dry_run: bool, text: str) -> str:
    return f"dry run, nothing was changed: {text}" if dry_run else text


def _step_pieces(steps: Sequence[Tended]) -> list[RenderableType]:
    """Return what was done to which memory, and why."""
    if not steps:
        return []
    table = make_table(columns=("what", "memory", "why"), numbers=("what",))
    for step in steps:
        said = plain(step.content).append_text(plain(f"\n{step.memory_id}", "dim"))
        table.add_row(step.action, said, plain(step.reason))
    return [table]


def _version_pieces(line: Sequence[Version]) -> Iterable[RenderableType]:
    """Return each version with when and why it was made, and what it changed."""
    yield plain(str(line[-1].fields["content"]), "bold")
    table = make_table(columns=("version", "when", "why", "change"), numbers=("version", "when"))
    for version in line:
        when = f"{version.at:%Y-%m-%d %H:%M} UTC"
        changed = "\n".join(
            f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in version.changed.items()
        )
        table.add_row(str(version.number), when, plain(version.reason), plain(changed))
    yield table


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return (
            ", ".join(str(i.get("run_id", i) if isinstance(i, dict) else i) for i in value) or "–"
        )
    text = str(value) if value not in ("", None) else "–"
    return text if len(text) <= 60 else text[:58] + " …"
