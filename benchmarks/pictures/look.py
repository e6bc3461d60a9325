"""How systems look: a marker, a fill and a color each, so that no difference is one of color.

The colors are of the palette of Okabe and Ito (2008), which people who see few colors can tell
apart; purple is darker than theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from benchmarks.report_runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DASHES", "GRAY", "LINE", "PEERS", "STYLE", "SYSTEMS", "Look", "Runs", "blank"]

Runs: TypeAlias = Mapping[str, Run]
"""Runs by the name of their benchmark."""

BLUE, RED, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#9B5586"
GRAY = "#555555"
LINE: Mapping[str, Any] = {"color": "#DDDDDD", "linewidth": 0.8}
"""Lines that only guide the eye."""
DASHES = (0, (3, 1.5))
"""The line of a goal."""
STYLE: Mapping[str, Any] = {
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "hindsight",
    "svg.fonttype": "path",
}
"""What matplotlib is told."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a system is drawn."""

    color: str
    marker: str
    filled: bool = False

    def options(self, **more: Any) -> dict[str, Any]:
        """Return what matplotlib takes."""
        face = self.color if self.filled else "white"
        return {
            "color": self.color,
            "marker": self.marker,
            "markerfacecolor": face,
            "markeredgecolor": self.color,
            "markeredgewidth": 1.6,
            "markersize": 7.5,
            **more,
        }


SYSTEMS: Mapping[str, Look] = {
    "dense": Look(BLUE, "o"),
    "bm25": Look(RED, "s"),
    "hindsight": Look(GREEN, "D", filled=True),
}
PEERS: Mapping[str, Look] = {
    "QdrantVectorStore": Look(BLUE, "o"),
    "VectorMemoryBlock": Look(RED, "s"),
    "mem0": Look(PURPLE, "^"),
    "InMemoryStore": Look(ORANGE, "v"),
}


def blank(width: float, height: float) -> Figure:
    """Return an empty picture; both sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))
