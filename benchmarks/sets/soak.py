"""`soak`: kills, crowds and failures; what was acknowledged has to be there, once.

No data set, no model. `--limit` is the number of kills, 20 by default, and scales the rest.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.context import Context
from benchmarks.metrics import Measure
from benchmarks.report import Report, Row
from benchmarks.soak.crowds import TASKS, THREADS, many_at_once
from benchmarks.soak.failures import MODELS, failing_model, failing_store
from benchmarks.soak.kills import killed_again_and_again
from benchmarks.soak.ledger import Tally
from hindsight_core.testing import HashingEmbedder

__all__ = ["run_soak"]

KILLS = 20
SECONDS_PER_KILL = 3
"""Of the threads and tasks: a minute in all."""
RUNS_PER_KILL = 5


def run_soak(context: Context) -> Report:
    """Everything that can go wrong at once, one after the other."""
    kills = min(KILLS, context.limit or KILLS)
    trials = _trials(kills)
    tallies: dict[str, Tally] = {}
    for name, trial in trials.items():
        with _quiet(), tempfile.TemporaryDirectory(prefix="hindsight-soak-") as folder:
            tallies[name] = trial(Path(folder) / "memory")
    tallies["all"] = sum(tallies.values(), Tally())
    rows = tuple(Row(context.system(name), _measures(tally)) for name, tally in tallies.items())
    context.notes.append(
        "acknowledged: memories and runs whose callers were told that they are kept; lost: not "
        "there or not learned from in the end; disturbed: calls of an agent's run that raised; "
        "counts, without intervals"
    )
    settings = context.settings(
        kills=kills,
        seconds=kills * SECONDS_PER_KILL,
        runs=kills * RUNS_PER_KILL,
        threads=THREADS,
        tasks=TASKS,
        poll_seconds=0.05,
        drain_seconds=1.0,
        embedding_model=HashingEmbedder().name,
        dimension=HashingEmbedder().dimension,
    )
    return Report(
        "soak", tallies["all"].acknowledged, rows, tuple(context.notes), settings, decimals=0
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what is told about failures on purpose from filling the screen."""
    logger = logging.getLogger("hindsight_core")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _trials(kills: int) -> Mapping[str, Callable[[Path], Tally]]:
    runs = kills * RUNS_PER_KILL
    seconds = kills * SECONDS_PER_KILL
    models = {
        f"a model that {name}": partial(failing_model, answer=answer, count=max(1, runs // 5))
        for name, answer in MODELS.items()
    }
    return {
        f"{kills} kills": partial(killed_again_and_again, kills=kills),
        f"{THREADS} threads, {TASKS} tasks": partial(many_at_once, seconds=seconds),
        "every third call fails": partial(failing_store, count=runs),
        **models,
    }


def _measures(tally: Tally) -> dict[str, Measure]:
    return {
        name: Measure(count, count, count, tally.acknowledged)
        for name, count in asdict(tally).items()
    }
