"""Time of a retrieval against the size of the store, peers included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.goals import bare_name, goals_of
from benchmarks.pictures.look import (
    DASHES,
    GRAY,
    GREEN,
    LINE,
    PEERS,
    SYSTEMS,
    Look,
    Runs,
    blank,
)
from benchmarks.report_runs import Figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["latency"]

_SIZE = re.compile(r"([\d,]+) in ([\d,]+) namespaces?$")


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one system: memories, median and 95 % quantile in milliseconds."""

    label: str
    look: Look
    points: tuple[tuple[int, float, float], ...]
    shift: float = 1.0


def latency(runs: Runs) -> Figure | None:
    """Return the picture, `None` if nothing in it was timed."""
    series = [one for one in (*_of_peers(runs), *_of_ours(runs)) if one.points]
    if not series:
        return None
    figure = blank(10.4, 6.0)
    axes = figure.add_axes((0.08, 0.11, 0.55, 0.79))
    axes.set_title("Time of a retrieval outside the embedding")
    axes.set_xscale("log")
    axes.set_yscale("log")
    for one in series:
        xs, medians, highs = zip(*one.points, strict=True)
        xs = tuple(x * one.shift for x in xs)
        axes.vlines(xs, medians, highs, one.look.color, lw=1.3)
        axes.plot(xs, highs, linestyle="", marker="_", color=one.look.color, markersize=8)
        axes.plot(xs, medians, **one.look.options(label=one.label, lw=1.8))
    _goals_of_latency(axes, runs, series)
    _latency_axes(axes, sorted({x for one in series for x, _, _ in one.points}))
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, labelspacing=0.9)
    return figure


def _latency_axes(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xlim(sizes[0] / 1.6, sizes[-1] * 1.6)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xticks([], minor=True)
    low, high = axes.get_ylim()
    ticks = [n * 10**power for power in range(-2, 6) for n in (1, 2, 5)]
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(shown, [f"{tick:,g}" for tick in shown])
    axes.set_yticks([], minor=True)
    axes.set_ylim(low, high)
    axes.grid(axis="y", **LINE)
    axes.set_axisbelow(True)
    axes.set_xlabel("memories in the store, half of them active")
    axes.set_ylabel("milliseconds: median, and up to the 95 % quantile")


def _of_peers(runs: Runs) -> list[Series]:
    """Return the peers' series, and Hindsight's of the same run."""
    run = runs.get("peers")
    if run is None:
        return []
    size = run.settings.get("memories", 10_000)
    places = {name: 1.05 * 1.07**i for i, name in enumerate(PEERS)}
    looks = {**PEERS, "hindsight": Look(GREEN, "D")}
    found = []
    for row in run.rows:
        name = bare_name(row["system"])
        if name in looks:
            label = "hindsight, in turn with them" if name == "hindsight" else name
            found.append(Series(label, looks[name], _points(row, "added", size),
                                places.get(name, 0.93)))  # fmt: skip
    return sorted(found, key=lambda one: -(one.points or ((0, 0.0, 0.0),))[0][1])


def _of_ours(runs: Runs) -> list[Series]:
    shapes: dict[str, list[tuple[int, float, float]]] = {"20": [], "1": [], "": []}
    if scale := runs.get("scale"):
        for row in scale.rows:
            if match := _SIZE.match(bare_name(row["system"])):
                shape = match[2] if match[2] in shapes else ""
                shapes[shape] += _points(row, "outside", int(match[1].replace(",", "")))
    if speed := runs.get("speed"):
        size = speed.settings.get("memories", 10_000)
        one = speed.row("hindsight, one namespace")
        shapes["1"] = [*_points(one, "added", size), *shapes["1"]]
        if not shapes["20"]:
            shapes["20"] += _points(speed.row("hindsight"), "added", size)
    return [
        Series("hindsight, 1 namespace", Look(GRAY, "h", filled=True), tuple(shapes["1"]), 0.87),
        Series("hindsight, 20 namespaces", SYSTEMS["hindsight"], tuple(shapes["20"])),
        Series("hindsight, a namespace\nfor every 5 memories", Look("black", "X", filled=True),
               tuple(shapes[""]), 1.12),
    ]  # fmt: skip


def _points(row: Figures | None, prefix: str, size: int) -> tuple[tuple[int, float, float], ...]:
    median, high = ((row or {}).get(f"{prefix}_{which}_ms") for which in ("p50", "p95"))
    return ((size, median, max(median, high)),) if median and high else ()


def _goals_of_latency(axes: Axes, runs: Runs, series: Sequence[Series]) -> None:
    """Draw the bare embedding, the goal at 10,000 memories and the goal of growth."""
    bare = runs["speed"].row("embedder") if "speed" in runs else None
    if bare and bare.get("query_p50_ms"):
        axes.axhline(bare["query_p50_ms"], color=GRAY, lw=1.4, linestyle=":",
                     label="embedding the query alone")  # fmt: skip
    added = next(goal for goal in goals_of("speed") if goal.metric == "added_p50_ms")
    ten = 10_000
    axes.plot([ten / 1.35, ten * 1.35], [added.threshold] * 2, color="black",
              linestyle=DASHES, lw=1.8, label=f"goal at 10,000: {added.wanted}")  # fmt: skip
    ours = next((one.points for one in series if one.look is SYSTEMS["hindsight"]), ())
    if len(ours) > 1:
        growth = next(goal for goal in goals_of("scale") if goal.metric == "growth")
        (start, first, _), (end, _, _) = ours[0], ours[-1]
        axes.plot([start, end], [first, first * growth.threshold], color="black", lw=1.1,
                  linestyle=(0, (6, 2, 1, 2)),
                  label=f"goal of growth: {growth.wanted} ×")  # fmt: skip
