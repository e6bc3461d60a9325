"""Processes that are killed while they submit, reflect and store."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.progress import track
from benchmarks.soak.children import WORKS_FOR_EVER, killed_somewhere, start_child
from benchmarks.soak.ledger import Tally, everything, half_done
from hindsight_core import Hindsight, Settings
from hindsight_core.testing import HashingEmbedder

__all__ = ["NAMESPACE", "killed_again_and_again", "opened"]

NAMESPACE = ("acme", "alice")
MOST_LINES = 30
"""Lines, so acknowledged writes, after which a process is killed at the latest."""
SEED = 7


def opened(folder: Path, **options: object) -> Hindsight:
    """Open the memory in `folder` with settings under which a minute is enough for much."""
    given = {
        "namespace": NAMESPACE,
        "settings": Settings(poll_seconds=0.05, drain_seconds=1.0),
        "embedder": HashingEmbedder(),
    }
    return Hindsight.open(folder, **(given | options))  # type: ignore[arg-type]


def killed_again_and_again(folder: Path, kills: int) -> Tally:
    """Kill one process after the other at random points, and count what is left each time.

    Args:
        folder: The memory, which all of them work on in turn.
        kills: How many.
    """
    rng = random.Random(SEED)
    tally = Tally()
    stored: list[str] = []
    runs: list[str] = []
    for number in track(range(kills), "killing processes"):
        child = start_child(WORKS_FOR_EVER, folder, f"p{number}")
        try:
            said = killed_somewhere(child, rng, MOST_LINES)
        finally:
            child.kill()
            child.communicate(timeout=30)
        for line in said:
            kind, id_ = line.split()
            (runs if kind == "run" else stored).append(id_)
        with opened(folder) as h:
            tally += Tally(half_done=len(half_done(h, everything(h))))
            # What was not reflected on may stay so for the next process, every second time.
            if number % 2 or number == kills - 1:
                h.flush(120)
    with opened(folder) as h:
        h.flush(120)
        return tally.settle(h, stored, runs)
