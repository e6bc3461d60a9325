"""The runs that a report is made of, read from what `--json` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.errors import FiguresError
from benchmarks.goals import bare_name

__all__ = ["Figures", "Run", "merged", "read_runs"]

Figures: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What one benchmark found.

    Attributes:
        name: The benchmark.
        n: Cases.
        rows: Its rows, each with a `system`, metrics, their `_ci` and `_n`.
        notes: What the table is read with.
        settings: What the figures depend on.
        defaults: The default settings and the default profile, empty where not recorded.
        source: Digest of the code, `""` where not recorded.
        versions: Versions of what the figures depend on.
        machine: What it ran on.
        date: When it ended, `""` where not recorded.
        counts: Whether its figures are counts, which have no intervals.
        older: Rows that the newest run does not have, with the date of theirs.
    """

    name: str
    n: int
    rows: tuple[Figures, ...]
    notes: tuple[str, ...] = ()
    settings: Figures = field(default_factory=dict)
    defaults: Figures = field(default_factory=dict)
    source: str = ""
    versions: Figures = field(default_factory=dict)
    machine: Figures = field(default_factory=dict)
    date: str = ""
    counts: bool = False
    older: Mapping[str, str] = field(default_factory=dict)

    @property
    def limited(self) -> bool:
        """Whether not all cases were asked."""
        return self.settings.get("limit") is not None

    def row(self, system: str) -> Figures | None:
        """Return the row of a system, under a limit or not, `None` if there is none."""
        return next((row for row in self.rows if bare_name(row["system"]) == system), None)


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Read the files and return one run per benchmark, in order of first appearance.

    Args:
        paths: Files that `--json` wrote, of one benchmark or of all.

    Raises:
        FiguresError: If a file is not there or holds no figures.
    """
    return merged([run for path in paths for run in _read(path)])


def merged(runs: Sequence[Run]) -> list[Run]:
    """Return one run per benchmark; of each row the newest, of equally old ones the later.

    What is said about a benchmark (notes, settings, machine) is that of its newest run, and
    rows that only an older run has stand below the others. Runs under a limit count only where
    there is no whole one.
    """
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    whole = {name: [run for run in some if not run.limited] for name, some in by_name.items()}
    return [_newest(whole[name] or some) for name, some in by_name.items()]


def _newest(runs: Sequence[Run]) -> Run:
    *before, newest = sorted(runs, key=lambda run: run.date)
    rows = {row["system"]: row for row in newest.rows}
    older: dict[str, str] = {}
    for run in reversed(before):
        for row in run.rows:
            if row["system"] not in rows:
                rows[row["system"]] = row
                older[row["system"]] = run.date
    return replace(newest, rows=tuple(rows.values()), older=older)


def _read(path: Path) -> list[Run]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise FiguresError(path, str(error)) from error
    some = found.get("benchmarks", [found]) if isinstance(found, dict) else found
    try:
        return [_run(one) for one in some]
    except (AttributeError, KeyError, TypeError) as error:
        raise FiguresError(path, f"{type(error).__name__}: {error}") from error


def _run(found: Figures) -> Run:
    rows = tuple(dict(row) for row in found["rows"])
    if any("system" not in row for row in rows):
        raise KeyError("system")
    return Run(
        name=str(found["name"]),
        n=int(found["n"]),
        rows=rows,
        notes=tuple(found.get("notes", ())),
        settings=dict(found.get("settings", {})),
        defaults=dict(found.get("defaults", {})),
        source=str(found.get("source", "")),
        versions=dict(found.get("versions", {})),
        machine=dict(found.get("machine", {})),
        date=str(found.get("date", "")),
        counts=found.get("decimals") == 0,
    )
