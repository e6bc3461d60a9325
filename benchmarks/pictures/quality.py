"""Quality by system: a panel for each benchmark, and in it a line for each goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.goals import Goal, goals_of
from benchmarks.pictures.look import DASHES, GRAY, LINE, SYSTEMS, Look, Runs, blank
from benchmarks.report_runs import Figures, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["quality"]

Panel: TypeAlias = tuple[Run, tuple[Goal, ...]]

QUALITY = (
    "locomo", "beam", "currency", "contradiction", "same-task", "success-first",
    "experience", "replay", "chinese", "poison",
)  # fmt: skip
"""The benchmarks whose systems are dense, bm25 and hindsight."""
ROW, HEAD, FOOT = 0.52, 0.4, 0.36
"""Inches of one metric, of a panel's title and of its axis."""


def quality(runs: Runs) -> Figure | None:
    """Return the picture, `None` if no run is of quality."""
    panels = [(runs[name], goals_of(name)) for name in QUALITY if name in runs]
    if not panels:
        return None
    left, right = _in_two(panels)
    sizes = [sum(_height(goals) for _, goals in side) for side in (left, right)]
    width, top = 11.6, 0.4
    height = max(sizes) + top + 0.05
    figure = blank(width, height)
    for side, start in ((left, 0.0), (right, width / 2)):
        below = height - top
        for run, goals in side:
            below -= _height(goals)
            inches = (start + 1.42, below + FOOT, 3.05, len(goals) * ROW)
            box = (inches[0] / width, inches[1] / height, inches[2] / width, inches[3] / height)
            _panel(figure.add_axes(box), run, goals)
    _legend_of_quality(figure)
    return figure


def _height(goals: Sequence[Goal]) -> float:
    return HEAD + len(goals) * ROW + FOOT


def _in_two(panels: Sequence[Panel]) -> tuple[list[Panel], list[Panel]]:
    """Return the panels in two columns of about the same height, in order."""
    half = sum(_height(goals) for _, goals in panels) / 2
    left: list[Panel] = []
    filled = 0.0
    for run, goals in panels:
        if left and filled + _height(goals) / 2 > half:
            break
        left.append((run, goals))
        filled += _height(goals)
    return left, list(panels[len(left) :])


def _panel(axes: Axes, run: Run, goals: Sequence[Goal]) -> None:
    axes.set_title(f"{run.name} (n = {run.n:,})")
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(goals) - 0.5, -0.5)
    axes.set_yticks(range(len(goals)), [f"{goal.metric}\ngoal {goal.wanted}" for goal in goals])
    axes.tick_params(axis="y", length=0, labelsize=9.5)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", ".25", ".5", ".75", "1"])
    axes.grid(axis="x", **LINE)
    axes.set_axisbelow(True)
    for place, goal in enumerate(goals):
        axes.axhline(place + 0.5, **LINE)
        axes.vlines(goal.threshold, place - 0.44, place + 0.44, "black", DASHES, lw=1.8)
        for system, offset in zip(SYSTEMS, (-0.27, 0.0, 0.27), strict=True):
            _point(axes, run.row(system), goal, place + offset, SYSTEMS[system])
        _say(axes, run.row("hindsight"), goal, place)


def _point(axes: Axes, row: Figures | None, goal: Goal, height: float, look: Look) -> None:
    value = (row or {}).get(goal.metric)
    if row is None or value is None:
        return
    low, high = row.get(f"{goal.metric}_ci") or (value, value)
    if low is not None and high is not None:
        axes.hlines(height, low, high, look.color, lw=1.8)
    axes.plot([value], [height], **look.options(linestyle="", markersize=6.5, clip_on=False))


def _say(axes: Axes, row: Figures | None, goal: Goal, height: int) -> None:
    value = (row or {}).get(goal.metric)
    if value is None:
        return
    said = f"{value:.3f}\n{'met' if goal.is_met(value) else 'missed'}"
    axes.annotate(
        said, (1.03, height), (10, 0), textcoords="offset points", va="center", fontsize=9.5,
        color="black", fontweight="normal" if goal.is_met(value) else "bold",
        annotation_clip=False,
    )  # fmt: skip


def _legend_of_quality(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    shown = [Line2D([], [], linestyle="", **look.options(), label=name)
             for name, look in SYSTEMS.items()]  # fmt: skip
    shown.append(Line2D([], [], color="black", linestyle=DASHES, lw=1.8, label="goal"))
    shown.append(Line2D([], [], color=GRAY, lw=1.8, label="95 % interval"))
    shown.append(Line2D([], [], linestyle="", label="(at the right: hindsight)"))
    figure.legend(handles=shown, loc="upper center", ncols=6, frameon=False)
