"""`hindsight reflect`: learn from files of recorded runs, or retry what failed."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hindsight_core.cli.output import Output
from hindsight_core.cli.session import Target, open_memory
from hindsight_core.cli.views import details_table
from hindsight_core.errors import TrajectoryError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Memory, Reflection
from hindsight_core.runs.readers import ReadProblem, read_runs
from hindsight_core.trajectory import Trajectory

__all__ = ["Tally", "reflect"]

RETRY_SECONDS = 600.0
"""Most that a retry waits for the reflections."""

SHOWN_PROBLEMS = 20
"""Problems of files that are printed one by one; the rest is counted."""


@dataclass(slots=True)
class Tally:
    """What became of the runs so far.

    Attributes:
        read: Runs that were read.
        known: Runs among them that had been reflected on before.
        statuses: How the reflections on the others ended.
        memories: What was stored or strengthened, by id.
        failures: Run ids of failed reflections, with the reason.
        problems: What the files were wrong about.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
    """

    read: int = 0
    known: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    memories: dict[str, Memory] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    problems: list[ReadProblem] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, reflection: Reflection) -> None:
        """Count one run."""
        self.read += 1
        if reflection.repeated:
            self.known += 1
            return
        self.statuses[reflection.status] += 1
        self.memories.update((memory.id, memory) for memory in reflection.memories)
        if reflection.status == "failed":
            self.failures[reflection.run_id] = reflection.reason
        self.tokens_in += reflection.tokens_in
        self.tokens_out += reflection.tokens_out

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return the numbers by name.

        Args:
            seconds: How long it took.
        """
        kinds = Counter(f"{m.kind} {m.category}" for m in self.memories.values())
        return {
            "runs_read": self.read,
            "already_known": self.known,
            "learned": self.statuses["learned"],
            "nothing_to_learn": self.statuses["nothing_to_learn"],
            "failed": self.statuses["failed"],
            "memories": dict(sorted(kinds.items())),
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "seconds": round(seconds, 1),
            "skipped": sum(problem.is_lost for problem in self.problems),
        }

    @property
    def went_well(self) -> bool:
        """Whether no reflection failed and each file held runs."""
        return not self.failures and not any(p.is_lost and not p.line for p in self.problems)


def reflect(options: argparse.Namespace, out: Output) -> int:
    """`hindsight reflect`: learn from recorded runs."""
    return _retry(options, out) if options.retry else _reflect(options, out)


def _reflect(options: argparse.Namespace, out: Output) -> int:
    started = time.perf_counter()
    tally = Tally()
    with open_memory(Target.of(options)) as hindsight:
        _reflect_on_files(hindsight, options.files, tally, out)
    for problem in tally.problems[:SHOWN_PROBLEMS]:
        out.note(f"{'skipped' if problem.is_lost else 'note'}: {problem}")
    if len(tally.problems) > SHOWN_PROBLEMS:
        out.note(f"and {len(tally.problems) - SHOWN_PROBLEMS} more problems; --json lists them")
    for run_id, reason in tally.failures.items():
        out.note(f"failed: {run_id}: {reason}")
    summary = tally.summary(time.perf_counter() - started)
    out.show(
        {**summary, "problems": tally.problems, "failures": tally.failures},
        lambda: [_summary_table(summary)],
    )
    return 0 if tally.went_well else 1


def _retry(options: argparse.Namespace, out: Output) -> int:
    with open_memory(Target.of(options)) as hindsight:
        before = hindsight.stats().journal
        count = hindsight.retry()
        is_done = hindsight.flush(timeout=RETRY_SECONDS)
        after = hindsight.stats().journal
    summary = {
        "runs_retried": count,
        "learned": after.learned - before.learned,
        "nothing_to_learn": after.nothing_to_learn - before.nothing_to_learn,
        "failed": after.failed,
        "waiting": after.pending + after.leased + after.applying,
    }
    rows = {name.replace("_", " "): value for name, value in summary.items()}
    out.show(summary, lambda: [details_table(rows)])
    if not is_done:
        out.note("some runs still wait; they are tried again when the memory is next open")
    return 0 if is_done and not after.failed else 1


def _reflect_on_files(
    hindsight: Hindsight, files: Sequence[str], tally: Tally, out: Output
) -> None:
    total = _count(files) if out.messages.is_terminal else None
    with _progress(out) as progress:
        task = progress.add_task("reflecting", total=total)
        for run in _runs(files, tally.problems):
            tally.add(hindsight.reflect(run))
            progress.advance(task)


def _runs(files: Sequence[str], problems: list[ReadProblem]) -> Iterator[Trajectory]:
    for file in files:
        try:
            yield from read_runs(file, on_problem=problems.append)
        except TrajectoryError as error:
            problems.append(ReadProblem(file, 0, str(error).removeprefix(f"{file} ")))


def _count(files: Sequence[str]) -> int:
    return sum(1 for _ in _runs(files, []))


def _progress(out: Output) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=out.messages,
        transient=True,
        disable=not out.messages.is_terminal,
    )


def _summary_table(summary: dict[str, Any]) -> Table:
    rows = {name.replace("_", " "): value for name, value in summary.items() if name != "memories"}
    kinds = ", ".join(f"{count} {kind}" for kind, count in summary["memories"].items())
    return details_table({**rows, "memories": kinds or "none"})
