"""The report's pictures; matplotlib draws them, and is only imported to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.errors import PicturesError
from benchmarks.pictures.latency import latency
from benchmarks.pictures.look import STYLE, Runs
from benchmarks.pictures.quality import quality
from benchmarks.pictures.tokens import tokens
from benchmarks.report_runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Picture", "draw_all"]

PICTURES: Mapping[str, tuple[str, str, Callable[[Runs], Figure | None]]] = {
    "quality": (
        "Quality by system",
        "for each benchmark dense, bm25 and hindsight with their 95 % intervals, and the goals",
        quality,
    ),
    "latency": (
        "Latency against size",
        "median and 95 % quantile of a retrieval outside the embedding, both axes logarithmic",
        latency,
    ),
    "tokens": (
        "Tokens against recall",
        "recall of the first k results against their mean tokens, and of a brief",
        tokens,
    ),
}
"""Title, text and drawing of every picture by name."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the report.

    Attributes:
        path: The file.
        title: What it shows, in a few words.
        text: What is to be seen in it, for those who can not see it.
    """

    path: Path
    title: str
    text: str


def draw_all(runs: Sequence[Run], folder: Path, suffix: str = "svg") -> dict[str, Picture]:
    """Draw each picture whose figures are there, into `folder`.

    Args:
        runs: One per benchmark.
        folder: Is made if it is not there.
        suffix: `svg` or `png`.

    Returns:
        The pictures by name: `quality`, `latency`, `tokens`.

    Raises:
        PicturesError: If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise PicturesError from error
    by_name = {run.name: run for run in runs}
    drawn: dict[str, Picture] = {}
    with mpl.rc_context(dict[Any, Any](STYLE)):
        for name, (title, text, draw) in PICTURES.items():
            figure = draw(by_name)
            if figure is None:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}.{suffix}"
            # Without the date the same figures give the same file.
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(path, dpi=110, metadata=metadata)
            drawn[name] = Picture(path, title, text)
    return drawn
