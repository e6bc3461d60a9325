"""`success-first` and `experience`: which earlier runs are brought up for a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.context import Context
from benchmarks.loaders.runs import Run, load_alfworld, load_tau_bench
from benchmarks.metrics import Measure, first_position, mean_of, precision_at
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore, all_memories
from benchmarks.systems.lanes import Bm25, Dense, LeaveOneOut, OthersRanker

__all__ = ["run_experience", "run_success_first", "success_first_of"]

DEPTH = 50
"""Results that are looked at; what is not among them was not found."""


def run_success_first(context: Context) -> Report:
    """Does a successful run of the same task come before a failed one."""
    return _run("success-first", load_tau_bench(context.data), success_first_of, context)


def run_experience(context: Context) -> Report:
    """Are successful runs of the same type of task brought up."""
    return _run("experience", load_alfworld(context.data), _experience, context)


Judge = Callable[[Sequence[Run], Sequence[int], OthersRanker, str], dict[str, Measure]]


def _run(name: str, runs: list[Run], judge: Judge, context: Context) -> Report:
    asked = context.first(range(len(runs)))
    texts = [run.trajectory.task for run in runs]
    context.embedder.documents(texts, "tasks")
    context.embedder.queries([texts[own] for own in asked], "tasks")
    with HindsightStore(context.embedder) as store:
        rankers: dict[str, OthersRanker] = {
            "dense": LeaveOneOut(Dense(texts, context.embedder)),
            "bm25": LeaveOneOut(Bm25(texts)),
        }
        stored = store.reflect(name, [run.trajectory for run in runs])
        rankers["hindsight"] = stored
        rows = tuple(
            Row(context.system(system), judge(runs, asked, ranker, system))
            for system, ranker in rankers.items()
        )
        lessons = len(list(all_memories(stored.memory)))
    context.notes.append(
        f"hindsight: {len(runs)} runs were reflected on by the rules, without a model, which gave "
        f"{lessons} memories; ranks are counted among episodes, beside which "
        f"{sum(stored.beside) / len(stored.beside):.2f} other lessons stand in the top five"
    )
    settings = context.settings(runs=len(runs), top_k=DEPTH)
    return Report(name, len(asked), rows, tuple(context.notes), settings)


def success_first_of(
    runs: Sequence[Run], asked: Sequence[int], ranker: OthersRanker, system: str
) -> dict[str, Measure]:
    """Return how often other trials of a task are found, and a successful one before a failed."""
    first: list[float] = []
    same: list[int] = []
    for own in track(asked, system):
        ranking = ranker.rank_others(own, runs[own].trajectory.task, DEPTH)
        others = _others(runs, own)
        same.append(first_position(ranking, others))
        successes = [place for place in others if runs[place].succeeded]
        failures = [place for place in others if not runs[place].succeeded]
        if successes and failures:
            first.append(first_position(ranking, successes) < first_position(ranking, failures))
    return {
        "same_task@1": mean_of([place < 1 for place in same]),
        "same_task@5": mean_of([place < 5 for place in same]),
        "success_first": mean_of(first),
    }


def _experience(
    runs: Sequence[Run], asked: Sequence[int], ranker: OthersRanker, system: str
) -> dict[str, Measure]:
    helpful: list[float] = []
    of_type: list[float] = []
    for own in track(asked, system):
        ranking = ranker.rank_others(own, runs[own].trajectory.task, 5)
        others = _others(runs, own)
        of_type.append(precision_at(ranking, others, 5))
        helpful.append(precision_at(ranking, [o for o in others if runs[o].succeeded], 5))
    return {"P@5": mean_of(helpful), "type_P@5": mean_of(of_type)}


def _others(runs: Sequence[Run], own: int) -> list[int]:
    """Return the other runs of the same group."""
    return [
        place for place, run in enumerate(runs) if place != own and run.group == runs[own].group
    ]
