"""What was found, as tables for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.context import Context
from benchmarks.ideas.measuring import HALVES, Difference, Measured
from benchmarks.ideas.variant import Variant
from benchmarks.metrics import Measure
from benchmarks.report import Report, Row, report_json

__all__ = ["COLUMNS", "Findings", "findings_json", "print_findings", "verdict"]

COLUMNS: Sequence[tuple[str, str]] = (
    ("locomo", "R@10"),
    ("beam", "R@10"),
    ("currency", "new_first"),
    ("contradiction", "both@5"),
    ("same-task", "MAP"),
    ("success-first", "same_task@5"),
    ("success-first", "success_first"),
    ("experience", "P@5"),
    ("chinese", "zh_R@1"),
    ("chinese", "en_R@1"),
)
"""Set and metric of each column; by these a variant pays or does not. The others are in JSON."""


@dataclass(slots=True)
class Findings:
    """What was found.

    Attributes:
        context: What the benchmark was given, with its notes.
        variants: The variants in the order they are told of.
        default: Figures of the default system by set and metric.
        cases: Cases by set.
        measured: Each variant on each set.
    """

    context: Context
    variants: Sequence[Variant]
    default: dict[str, Mapping[str, Measure]] = field(default_factory=dict)
    cases: dict[str, int] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)

    def by_variant(self) -> dict[Variant, dict[str, Mapping[str, Difference]]]:
        """Return the differences by variant, set and metric."""
        found: dict[Variant, dict[str, Mapping[str, Difference]]] = {}
        for one in self.measured:
            found.setdefault(one.variant, {})[one.set_name] = one.differences
        return {variant: found[variant] for variant in self.variants if variant in found}


def print_findings(findings: Findings, console: Console) -> None:
    """Print a table for each idea: a row per variant, a column per set and metric.

    A cell has the difference to the default system over its 95 % interval.
    """
    columns = [pair for pair in COLUMNS if pair[1] in findings.default.get(pair[0], {})]
    groups: dict[str, list[tuple[Variant, dict[str, Mapping[str, Difference]]]]] = {}
    for variant, changes in findings.by_variant().items():
        groups.setdefault(variant.group, []).append((variant, changes))
    for group, variants in groups.items():
        table = Table(title=group, title_justify="left", show_lines=True)
        table.add_column("variant")
        for set_name, metric in columns:
            table.add_column(f"{set_name} {metric}", justify="right")
        table.add_column("better / worse", justify="right")
        default = (_signless(findings.default[name][metric].value) for name, metric in columns)
        table.add_row("default", *default, "")
        for variant, changes in variants:
            cells = [_cell(changes.get(name, {}).get(metric)) for name, metric in columns]
            table.add_row(variant.name, *cells, "{} / {}".format(*verdict(changes)))
        console.print(table)
    console.print(
        "Differences to the default system with their paired 95 % bootstrap intervals; "
        "better / worse: sets in which the interval leaves out 0.",
        highlight=False,
    )
    for note in findings.context.notes:
        console.print(f"· {note}", highlight=False, markup=False)


def verdict(changes: Mapping[str, Mapping[str, Difference]]) -> tuple[int, int]:
    """Return in how many sets a variant is better and in how many worse, beyond chance."""
    better: set[str] = set()
    worse: set[str] = set()
    for name, metric in COLUMNS:
        found = changes.get(name, {}).get(metric)
        if found is not None and found.change.low > 0:
            better.add(name)
        if found is not None and found.change.high < 0:
            worse.add(name)
    return len(better), len(worse)


def findings_json(findings: Findings) -> dict[str, Any]:
    """Return the JSON that `--json` writes; `<figure>_halves` is of random halves."""
    default = {
        f"{name} {metric}": measure
        for name, figures in findings.default.items()
        for metric, measure in figures.items()
    }
    rows = [Row("default", default)]
    halves: list[dict[str, Any]] = [{}]
    for variant, changes in findings.by_variant().items():
        flat = {
            f"{name} {metric}": difference
            for name, by_metric in changes.items()
            for metric, difference in by_metric.items()
        }
        changed = {name: difference.change for name, difference in flat.items()}
        rows.append(Row(f"{variant.group}: {variant.name}", changed))
        better, worse = verdict(changes)
        halves.append(
            {"group": variant.group, "better": better, "worse": worse}
            | {f"{name}_halves": difference.halves for name, difference in flat.items()}
        )
    context = findings.context
    settings = context.settings(cases=findings.cases, halves=HALVES)
    total = sum(findings.cases.values())
    found = report_json(Report("ideas", total, tuple(rows), tuple(context.notes), settings))
    found["rows"] = [row | more for row, more in zip(found["rows"], halves, strict=True)]
    return found


def _cell(found: Difference | None) -> str:
    if found is None:
        return "–"
    change = found.change
    if change.value == change.low == change.high == 0.0:
        return "0"
    return f"{_signed(change.value)}\n{_signed(change.low)} {_signed(change.high)}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{_signless(abs(value))}"


def _signless(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
