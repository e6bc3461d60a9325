"""Tables of the report, in Markdown; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.goals import Verdict, bare_name
from benchmarks.report_runs import Figures, Run

__all__ = [
    "FEW_METRICS",
    "cell",
    "figures_table",
    "goals_table",
    "metrics_of",
    "number",
    "quality_table",
    "table",
]

FEW_METRICS = 6
"""Metrics that fit beside each other; more of them become the rows."""
NOTHING = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return the lines of a table.

    Args:
        head: Titles of the columns.
        rows: Cells.
        right: The first column that is aligned to the right.
    """
    rule = ["---:" if place >= right else "---" for place in range(len(head))]
    lines = [list(head), rule, *([_safe(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def number(value: float | None) -> str:
    """Return a figure with about three digits that count."""
    if value is None:
        return NOTHING
    size = abs(value)
    if size >= 1_000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 10 else f"{value:.3f}"


def cell(run: Run, row: Figures | None, metric: str, usual: int | None = None) -> str:
    """Return a figure with its interval, and its n where that is not the usual one.

    Counts, and figures that were taken once, have neither.
    """
    value = (row or {}).get(metric)
    if row is None or value is None:
        return NOTHING
    if run.counts:
        return f"{value:,.0f}"
    n = row.get(f"{metric}_n")
    if n == 1:
        return number(value)
    text = number(value)
    low, high = row.get(f"{metric}_ci") or (None, None)
    if low is not None and high is not None:
        text += f" [{number(low)}, {number(high)}]"
    return text if usual is None or n in (None, usual) else f"{text} (n = {n:,})"


def quality_table(runs: Sequence[Run], verdicts: Mapping[str, Sequence[Verdict]]) -> list[str]:
    """Return a line for each goal, with the baselines of the same run beside it."""
    head = ("benchmark", "metric", "n", "dense", "bm25", "hindsight", "goal", "result")
    rows = []
    for run in runs:
        for one in verdicts[run.name]:
            metric = one.goal.metric
            own = next((row for row in run.rows if row["system"] == one.system), None)
            rows.append((
                f"`{run.name}`", f"`{metric}`", _count(one), _beside(run, "dense", metric),
                _beside(run, "bm25", metric), _strong(cell(run, own, metric), one),
                one.goal.wanted, str(one),
            ))  # fmt: skip
    return table(head, rows, right=2)


def goals_table(runs: Sequence[Run], verdicts: Mapping[str, Sequence[Verdict]]) -> list[str]:
    """Return a line for each goal and row that it is about."""
    head = ("benchmark", "row", "metric", "n", "figure", "goal", "result")
    rows = []
    for run in runs:
        for one in verdicts[run.name]:
            metric = one.goal.metric
            own = next((row for row in run.rows if row["system"] == one.system), None)
            rows.append((
                f"`{run.name}`", one.system, f"`{metric}`", _count(one),
                _strong(cell(run, own, metric), one), one.goal.wanted, str(one),
            ))  # fmt: skip
    return table(head, rows, right=3)


def figures_table(run: Run) -> list[str]:
    """Return all figures of a run: a row per system, or per metric if there are many."""
    metrics = metrics_of(run)
    if len(metrics) > FEW_METRICS:
        head = ("metric", *(_name(run, row) for row in run.rows))
        rows = [
            (f"`{metric}`", *(cell(run, row, metric, run.n) for row in run.rows))
            for metric in metrics
        ]
    else:
        head = ("system", *(f"`{metric}`" for metric in metrics))
        rows = [
            (_name(run, row), *(cell(run, row, metric, run.n) for metric in metrics))
            for row in run.rows
        ]
    return table(head, rows, right=1)


def metrics_of(run: Run) -> list[str]:
    """Return the metrics of a run, in order of first use."""
    names = dict.fromkeys(name for row in run.rows for name in row if name != "system")
    return [
        name
        for name in names
        if not any(name == f"{of}{end}" for of in names for end in ("_ci", "_n"))
    ]


def _beside(run: Run, system: str, metric: str) -> str:
    """Return a baseline's figure, which says so if it is of another run."""
    row = run.row(system)
    text = cell(run, row, metric)
    return f"{text} (older run)" if row and row["system"] in run.older else text


def _name(run: Run, row: Figures) -> str:
    system = str(row["system"])
    date = run.older.get(system)
    return system if date is None else f"{system} (run of {date or 'an unknown date'})"


def _count(verdict: Verdict) -> str:
    return NOTHING if verdict.n is None else f"{verdict.n:,}"


def _strong(text: str, verdict: Verdict) -> str:
    limited = verdict.system != bare_name(verdict.system)
    text = f"{text} ({verdict.system})" if limited else text
    return text if verdict.met or verdict.value is None else f"**{text}**"


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
