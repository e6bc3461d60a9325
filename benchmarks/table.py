"""A report as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from benchmarks.metrics import Measure
from benchmarks.report import Report, Row, machine, versions

__all__ = ["print_report"]


def print_report(report: Report, console: Console) -> None:
    """Print one table: a row per system, a column per metric, with n and 95 % intervals."""
    table = Table(title=f"{report.name} (n = {report.n})", title_justify="left")
    table.add_column("system", no_wrap=True)
    table.add_column("n", justify="right")
    for name in report.metrics:
        table.add_column(name, justify="right")
    for row in report.rows:
        table.add_row(row.system, str(_cases(report, row)), *_cells(report, row))
    console.print(table)
    for note in report.notes:
        console.print(f"· {note}", highlight=False, markup=False)
    console.print(_circumstances(), highlight=False, markup=False, style="dim")


def _cases(report: Report, row: Row) -> int:
    """Return the n that most of a row's figures rest on."""
    counts = [measure.n for measure in row.measures.values()]
    return max(counts, key=counts.count, default=report.n)


def _cells(report: Report, row: Row) -> list[str]:
    usual = _cases(report, row)
    return [
        _cell(measure, report.decimals, usual) if (measure := row.measures.get(name)) else "–"
        for name in report.metrics
    ]


def _cell(measure: Measure, decimals: int, usual: int) -> str:
    if measure.value != measure.value:
        return "–"
    text = f"{measure.value:.{decimals}f}\n[{measure.low:.{decimals}f}, "
    text += f"{measure.high:.{decimals}f}]".replace("[", r"\[")
    text = text.replace("\n[", "\n\\[")
    return text if measure.n == usual else f"{text}\nn = {measure.n}"


def _circumstances() -> str:
    here = machine()
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"Intervals: 95 %, bootstrap over the cases. {here['processor']}, {here['cores']} cores, "
        f"{here['system']} {here['architecture']}; {used}"
    )
