"""Tokens of the first results against the recall that they bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.pictures.look import DASHES, LINE, SYSTEMS, Look, Runs, blank
from benchmarks.report_runs import Run
from hindsight_core.settings import Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["tokens"]

DEPTHS = (1, 5, 10, 20)
BRIEF = Look("black", "*", filled=True)


def tokens(runs: Runs) -> Figure | None:
    """Return the picture, `None` if no run counted tokens."""
    shown = [runs[name] for name in ("locomo", "beam") if name in runs and _curves(runs[name])]
    if not shown:
        return None
    figure = blank(10.8, 5.2)
    figure.subplots_adjust(left=0.075, right=0.985, top=0.81, bottom=0.13, wspace=0.17)
    for place, run in enumerate(shown, start=1):
        axes = figure.add_subplot(1, len(shown), place)
        _tokens_panel(axes, run)
        if place == 1:
            axes.set_ylabel("R@k: share of what answers")
            handles, labels = axes.get_legend_handles_labels()
            figure.legend(handles, labels, loc="upper center", ncols=6, frameon=False)
    return figure


def _curves(run: Run) -> dict[str, list[tuple[int, float, float]]]:
    """Return k, tokens and recall of each system that has them."""
    found = {}
    for system in SYSTEMS:
        row = run.row(system) or {}
        points = [(k, row.get(f"tokens@{k}"), row.get(f"R@{k}")) for k in DEPTHS]
        whole = [(k, x, y) for k, x, y in points if x and y is not None]
        if whole:
            found[system] = whole
    return found


def _tokens_panel(axes: Axes, run: Run) -> None:
    axes.set_title(f"{run.name} (n = {run.n:,})")
    axes.set_xscale("log")
    curves = _curves(run)
    for system, points in curves.items():
        _, xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, **SYSTEMS[system].options(label=system, lw=1.8))
    for k, x, y in curves.get("hindsight", ()):
        axes.annotate(f"k = {k}", (x, y), (-6, 8), textcoords="offset points", ha="right",
                      fontsize=9.5)  # fmt: skip
    row = run.row("hindsight") or {}
    if row.get("brief_tokens") and row.get("brief_recall") is not None:
        options = BRIEF.options(linestyle="", markersize=13, label="hindsight, a brief")
        axes.plot([row["brief_tokens"]], [row["brief_recall"]], **options)
    budget = Settings().token_budget
    label = f"budget of a brief: {budget} tokens"
    axes.axvline(budget, color="black", linestyle=DASHES, lw=1.3, label=label)
    axes.set_ylim(0, 1)
    low, high = axes.get_xlim()
    ticks = [n * 10**power for power in range(6) for n in (1, 2, 5)]
    kept = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(kept, [f"{tick:,}" for tick in kept])
    axes.set_xticks([], minor=True)
    axes.set_xlim(low, high)
    axes.grid(**LINE)
    axes.set_axisbelow(True)
    axes.set_xlabel("tokens of the first k results, mean")
