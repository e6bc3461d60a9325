"""The time that runs of an agent spend inside an adapter's code, and its table.

`own_ms` is what the goal is about: on a busy machine the difference between two runs says more
about the machine than about the adapter. `own_cpu_ms` is the same in processor time, which
other programs do not disturb, but without the wait for the disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.metrics import quantile_of
from benchmarks.report import surroundings

__all__ = ["GOAL_MS", "REFLECTION_SECONDS", "TOOL_CALLS", "OwnTime", "SlowModel", "run_command"]

TOOL_CALLS = 10
GOAL_MS = 5.0
REFLECTION_SECONDS = 5.0
WARM_UP = 3


class SlowModel:
    """A reflection model that sleeps before it finds nothing, unless it is let go.

    Args:
        seconds: How long it sleeps.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._leave = threading.Event()

    def __call__(self, prompt: str) -> str:
        """Answer late."""
        self._leave.wait(self._seconds)
        return '{"lessons": []}'

    def let_go(self) -> None:
        """Have all calls answer at once from now on."""
        self._leave.set()


@dataclass(slots=True)
class _Spent:
    total: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    own_cpu: list[float] = field(default_factory=list)


class OwnTime:
    """Counts the time that runs spend inside some functions of an adapter.

    Args:
        functions: The holders and names of the functions where the adapter is entered.
    """

    def __init__(self, functions: Sequence[tuple[Any, str]]) -> None:
        self._functions = functions
        self._depth = threading.local()
        self._wall = self._cpu = 0.0

    def measure(
        self, runs: Mapping[str, Callable[[], object]], rounds: int
    ) -> list[dict[str, Any]]:
        """Make each of `runs` so many times, in turn so that drift hits all alike.

        Args:
            runs: A run of each system, by its name.
            rounds: How often each is counted, after a few that are not.

        Returns:
            A row for each system.
        """
        spent = {name: _Spent() for name in runs}
        with self._counting():
            for number in range(rounds + WARM_UP):
                for name, run in runs.items():
                    self._wall = self._cpu = 0.0
                    start = time.perf_counter()
                    run()
                    if number >= WARM_UP:
                        spent[name].total.append((time.perf_counter() - start) * 1e3)
                        spent[name].own.append(self._wall * 1e3)
                        spent[name].own_cpu.append(self._cpu * 1e3)
        return [_row(name, one) for name, one in spent.items()]

    @contextmanager
    def _counting(self) -> Iterator[None]:
        plain = [(holder, name, getattr(holder, name)) for holder, name in self._functions]
        for holder, name, function in plain:
            setattr(holder, name, self._timed(function))
        try:
            yield
        finally:
            for holder, name, function in plain:
                setattr(holder, name, function)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._depth, "inside", False):
                return function(*args, **kwargs)
            self._depth.inside = True
            cpu, start = time.thread_time(), time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._wall += time.perf_counter() - start
                self._cpu += time.thread_time() - cpu
                self._depth.inside = False

        return timed


def run_command(
    name: str, measure: Callable[[int], dict[str, Any]], argv: Sequence[str] | None = None
) -> int:
    """Measure and print the table; return 1 if the goal is missed.

    Args:
        name: The adapter's module.
        measure: Measures so many runs.
        argv: The arguments, by default those of the process.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.adapters.{name}")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    found = measure(options.rounds)
    if options.json:
        print(json.dumps({**found, **surroundings()}))
    else:
        columns = [name for name in found["rows"][0] if not name.endswith(("_ci", "_n"))]
        print("  ".join(f"{column:>15}" for column in columns))
        for row in found["rows"]:
            print("  ".join(f"{row[column]!s:>15}" for column in columns))
        print(f"goal: own_ms_p95 <= {GOAL_MS}, {options.rounds} runs each")
    return int(any(row["own_ms_p95"] > GOAL_MS for row in found["rows"]))


def _row(name: str, spent: _Spent) -> dict[str, Any]:
    """Return a row; the figure that the goal is about has an interval."""
    goal = quantile_of(spent.own, 0.95)
    return {
        "system": name,
        "run_ms_p50": round(statistics.median(spent.total), 2),
        "run_ms_p95": round(_p95(spent.total), 2),
        "run_ms_max": round(max(spent.total), 2),
        "own_ms_p50": round(statistics.median(spent.own), 2),
        "own_ms_p95": round(_p95(spent.own), 2),
        "own_ms_p95_ci": [round(goal.low, 2), round(goal.high, 2)],
        "own_ms_p95_n": goal.n,
        "own_cpu_ms_p50": round(statistics.median(spent.own_cpu), 2),
        "own_cpu_ms_p95": round(_p95(spent.own_cpu), 2),
    }


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]
