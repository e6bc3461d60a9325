"""The time that runs of an agent spend inside an adapter's code, and its table.

`own_ms` is what the goal is about: on a busy machine the difference between two runs says more
about the machine than about the adapter. `own_cpu_ms` is the same in processor time, which
other programs do not disturb, but without the wait for the disk.

Of a coroutine each step counts, not what it waits for. What a run asks of others through the
adapter can be told apart: it is no part of `own_ms`, and stands in columns of its own, measured
from the call to its answer.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import statistics
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
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
    apart: dict[str, list[float]] = field(default_factory=dict)


class OwnTime:
    """Counts the time that runs spend inside some functions of an adapter.

    Args:
        functions: The holders and names of the functions where the adapter is entered, plain
            or async.
        apart: By the name of a column, the functions that are no part of the adapter's own
            time although it calls them.
    """

    def __init__(
        self,
        functions: Sequence[tuple[Any, str]],
        apart: Mapping[str, Sequence[tuple[Any, str]]] | None = None,
    ) -> None:
        self._functions = functions
        self._apart = apart or {}
        self._here = threading.local()
        self._wall = self._cpu = 0.0
        self._others = dict.fromkeys(self._apart, 0.0)

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
        spent = {name: _Spent(apart={key: [] for key in self._apart}) for name in runs}
        with self._counting():
            for number in range(rounds + WARM_UP):
                for name, run in runs.items():
                    self._wall = self._cpu = 0.0
                    self._others = dict.fromkeys(self._apart, 0.0)
                    start = time.perf_counter()
                    run()
                    if number >= WARM_UP:
                        self._keep(spent[name], time.perf_counter() - start)
        return [_row(name, one) for name, one in spent.items()]

    def _keep(self, spent: _Spent, seconds: float) -> None:
        spent.total.append(seconds * 1e3)
        spent.own.append(self._wall * 1e3)
        spent.own_cpu.append(self._cpu * 1e3)
        for key, taken in self._others.items():
            spent.apart[key].append(taken * 1e3)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        named = [("", holder, name) for holder, name in self._functions]
        named += [(key, *place) for key, places in self._apart.items() for place in places]
        plain = [(holder, name, getattr(holder, name)) for _, holder, name in named]
        for (key, holder, name), (_, _, function) in zip(named, plain, strict=True):
            timed = self._timed_apart(key, function) if key else self._timed(function)
            setattr(holder, name, timed)
        try:
            yield
        finally:
            for holder, name, function in plain:
                setattr(holder, name, function)

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):
            return lambda *args, **kwargs: _stepwise(function(*args, **kwargs), self._own)
        return lambda *args, **kwargs: self._own(function, *args, **kwargs)

    def _timed_apart(self, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
        async def waited(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return await _stepwise(function(*args, **kwargs), self._not_own)
            finally:
                self._others[key] += time.perf_counter() - start

        def called(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return self._not_own(function, *args, **kwargs)
            finally:
                self._others[key] += time.perf_counter() - start

        return waited if inspect.iscoroutinefunction(function) else called

    def _own(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` and count its time, unless a caller's is being counted."""
        if getattr(self._here, "is_counted", False):
            return function(*args, **kwargs)
        self._here.is_counted = True
        cpu, start = time.thread_time(), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self._wall += time.perf_counter() - start
            self._cpu += time.thread_time() - cpu
            self._here.is_counted = False

    def _not_own(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` and take its time off what is being counted."""
        if not getattr(self._here, "is_counted", False):
            return function(*args, **kwargs)
        cpu, start = time.thread_time(), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self._wall -= time.perf_counter() - start
            self._cpu -= time.thread_time() - cpu


@types.coroutine
def _stepwise(
    coroutine: Coroutine[Any, Any, Any], count: Callable[..., Any]
) -> Generator[Any, Any, Any]:
    """Await `coroutine`, each of its steps called by way of `count`."""
    step: Callable[[], Any] = functools.partial(coroutine.send, None)
    while True:
        try:
            awaited = count(step)
        except StopIteration as done:
            return done.value
        try:
            step = functools.partial(coroutine.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 - passed on to where it is awaited
            step = functools.partial(coroutine.throw, error)


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
        for note in found.get("notes", ()):
            print(note)
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
        **_apart_columns(spent.apart),
    }


def _apart_columns(apart: Mapping[str, Sequence[float]]) -> dict[str, float]:
    columns: dict[str, float] = {}
    for key, values in apart.items():
        columns[f"{key}_ms_p50"] = round(statistics.median(values), 2)
        columns[f"{key}_ms_p95"] = round(_p95(values), 2)
    return columns


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]
