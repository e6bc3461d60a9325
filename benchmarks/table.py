"""A report as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.goals import verdicts
from benchmarks.metrics import Measure
from benchmarks.report import Report, Row, machine, report_rows, versions

__all__ = ["print_report"]

MOST_COLUMNS = 6
"""Metrics that fit beside each other."""


def print_report(report: Report, console: Console) -> None:
    """Print one table: a row per system, a column per metric, with n and 95 % intervals.

    Below it stand the notes, and what came of each goal.

    With many metrics they become the rows and the systems the columns.
    """
    title = f"{report.name} (n = {report.n})"
    table = Table(title=title, title_justify="left", show_lines=True)
    if len(report.metrics) > MOST_COLUMNS:
        table.add_column("metric", no_wrap=True)
        for row in report.rows:
            table.add_column(row.system, justify="right")
        for name in report.metrics:
            cells = [
                _cell(row.measures.get(name), report.decimals, report.n) for row in report.rows
            ]
            table.add_row(name, *cells)
    else:
        table.add_column("system", no_wrap=True)
        table.add_column("n", justify="right")
        for name in report.metrics:
            table.add_column(name, justify="right")
        for row in report.rows:
            usual = _cases(report, row)
            cells = [_cell(row.measures.get(m), report.decimals, usual) for m in report.metrics]
            table.add_row(row.system, str(usual), *cells)
    console.print(table)
    for note in report.notes:
        console.print(f"· {note}", highlight=False, markup=False)
    for verdict in verdicts(report.name, report_rows(report)):
        goal = verdict.goal
        console.print(
            f"goal: {goal.metric} {goal.wanted}, {verdict.system}: {verdict}",
            highlight=False,
            markup=False,
        )
    console.print(_circumstances(), highlight=False, markup=False, style="dim")


def _cases(report: Report, row: Row) -> int:
    """Return the n that most of a row's figures rest on."""
    counts = [measure.n for measure in row.measures.values()]
    return max(counts, key=counts.count, default=report.n)


def _cell(measure: Measure | None, decimals: int, usual: int) -> str:
    """Return a figure over its interval, with its n where that is not the usual one."""
    if measure is None or measure.value != measure.value:
        return "–"
    low, high = f"{measure.low:.{decimals}f}", f"{measure.high:.{decimals}f}"
    text = f"{measure.value:.{decimals}f}\n\\[{low}, {high}]"
    return text if measure.n == usual else f"{text}\nn = {measure.n}"


def _circumstances() -> str:
    here = machine()
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"Intervals: 95 %, bootstrap over the cases. {here['processor']}, {here['cores']} cores, "
        f"{here['system']} {here['architecture']}, load {here['load']}; {used}"
    )
