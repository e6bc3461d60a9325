"""`maintain`: what maintenance costs at several sizes, and that it may be killed."""

from __future__ import annotations

import pickle
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.context import Context
from benchmarks.metrics import Measure
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.sets.maintain_jobs import DIMENSION, Spent, fill, maintain, state
from benchmarks.sets.scale_process import JOB, in_own_process

__all__ = ["run_maintain"]

SIZES = (2_000, 20_000, 100_000)
KILLS = 3
OPENING = 1.0
"""Seconds that a process takes to open a store, about; a kill comes at any moment from then."""


def run_maintain(context: Context) -> Report:
    """Maintain stores of several sizes, once in peace and once killed again and again.

    `--limit` leaves out larger sizes, or sets the only one.
    """
    rows = []
    for size in _sizes(context.limit):
        with tempfile.TemporaryDirectory(prefix="hindsight-benchmark-") as folder:
            spent, killed, agrees = _maintained(Path(folder), size)
        rows.append(Row(f"{size:,} memories", _measures(spent, killed, agrees)))
    context.notes += _notes()
    settings = context.settings(sizes=list(_sizes(context.limit)), kills=KILLS, dimension=DIMENSION)
    return Report("maintain", len(rows), tuple(rows), tuple(context.notes), settings, decimals=1)


def _sizes(limit: int | None) -> Sequence[int]:
    if limit is None:
        return SIZES
    return [size for size in SIZES if size <= limit] or [limit]


def _maintained(folder: Path, size: int) -> tuple[Spent, int, bool]:
    """Return what it took, how many kills came in time, and whether both ended the same."""
    whole, cut = folder / "whole", folder / "cut"
    in_own_process(fill, whole, size)
    shutil.copytree(whole, cut)
    spent = in_own_process(maintain, whole)
    chance = random.Random(size)
    killed = sum(
        _killed(cut, OPENING + chance.uniform(0, spent.seconds))
        for _ in track(range(KILLS), f"killing at {size:,}")
    )
    in_own_process(maintain, cut)
    return spent, killed, in_own_process(state, cut) == in_own_process(state, whole)


def _killed(folder: Path, seconds: float) -> bool:
    """Maintain in a process that is killed after some time; say if that was before its end."""
    child = subprocess.Popen(
        [sys.executable, "-c", JOB], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        child.communicate(pickle.dumps((maintain, (folder,))), timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False


def _measures(spent: Spent, killed: int, agrees: bool) -> dict[str, Measure]:
    figures = {
        "seconds": spent.seconds,
        "processor_s": spent.processor,
        "peak_mb": spent.resident,
        "anonymous_mb": spent.anonymous,
        "changed": float(spent.changed),
        "killed": float(killed),
        "same_end": float(agrees),
    }
    return {name: Measure(value, value, value, 1) for name, value in figures.items()}


def _notes() -> list[str]:
    return """\
all memories of one namespace, all active; one of ten has expired, one of 20 is a copy, a \
quarter are experiences, and what was not used for 242 days has grown cold; their vectors are \
random unit vectors
`peak_mb` is what the process grew by at most above an open store, mapped files included, \
`anonymous_mb` the part of it that is no file's; every figure was taken once
`killed`: how many of the processes were killed before their end, at random moments; `same_end` \
is 1 if running it again then ended in the very store that an undisturbed run ended in\
""".splitlines()
