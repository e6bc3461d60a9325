"""`python -m benchmarks report`: the report and its pictures from what `--json` wrote."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.errors import FiguresError, PicturesError
from benchmarks.pictures import Picture, draw_all
from benchmarks.report_markdown import Drawn, render
from benchmarks.report_runs import read_runs

__all__ = ["report_main"]

OUT = Path(__file__).parent / "REPORT.md"
FOLDER = "charts"
"""Folder of the pictures, beside the report."""
COMMAND = "python -m benchmarks report"


def report_main(argv: Sequence[str]) -> int:
    """Write the report.

    Args:
        argv: The arguments behind `report`.

    Returns:
        0, or 2 if a file holds no figures or the pictures can't be drawn.
    """
    options = _parser().parse_args(argv)
    try:
        runs = read_runs(options.files)
        pictures: Mapping[str, Picture] = {}
        if options.pictures:
            pictures = draw_all(runs, options.out.parent / FOLDER)
    except (FiguresError, PicturesError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    drawn = {
        name: Drawn(f"{FOLDER}/{one.path.name}", one.title, one.text)
        for name, one in pictures.items()
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(render(runs, drawn, COMMAND), "utf-8")
    print(f"{options.out}: {len(runs)} benchmarks, {len(drawn)} pictures")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--from", dest="files", type=Path, action="append", required=True, metavar="FILE",
        help="file that --json wrote, of one benchmark or of all; the newest row wins",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=OUT, help="the report, by default REPORT.md")
    parser.add_argument(
        "--no-pictures", dest="pictures", action="store_false", help="leave the pictures out"
    )
    return parser
