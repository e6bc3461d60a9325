"""What the LangChain adapter adds to an agent's run, while reflection is slow.

`python -m benchmarks.adapters.langchain` runs one agent with ten tool calls as it is, with the
handler, with the middleware and with both, in turn so that drift hits all alike. The reflection
model sleeps five seconds; the answer must not wait for it. `own_ms` is the time that a run spends
inside the adapter's code, recall left out; it is what the goal is about, since on a busy machine
the difference between two runs says more about the machine. `own_cpu_ms` is the same in processor
time, which other programs do not disturb, but without the wait for the disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from hindsight_core import Hindsight, Settings
from hindsight_langchain import HindsightMiddleware, create_hindsight_agent, with_hindsight
from hindsight_langchain.events import RecordingEvents

__all__ = ["SYSTEMS", "main", "run"]

SYSTEMS = ("bare", "handler", "middleware", "both")
TOOL_CALLS = 10
GOAL_MS = 5.0
REFLECTION_SECONDS = 5.0


class Script(BaseChatModel):
    """Calls a tool ten times, then answers."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Take the tools; the script knows them already."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        done = sum(isinstance(message, ToolMessage) for message in messages)
        reply = AIMessage("The total is 70.")
        if done < TOOL_CALLS:
            call = {"name": "price_of", "args": {"item": f"item {done}"}, "id": f"call_{done}"}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
def price_of(item: str) -> str:
    """Return the price of an item."""
    return f"{item} costs 7"


class _Own:
    """The time that the current run has spent inside the adapter's code."""

    METHODS = (
        (RecordingEvents, "_start"),
        (RecordingEvents, "_end"),
        (HindsightMiddleware, "_plan"),
        (HindsightMiddleware, "_with"),
        (HindsightMiddleware, "_take_part"),
    )

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._depth = threading.local()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count while the block runs."""
        plain = [(kind, name, getattr(kind, name)) for kind, name in self.METHODS]
        for kind, name, method in plain:
            setattr(kind, name, self._timed(method))
        try:
            yield
        finally:
            for kind, name, method in plain:
                setattr(kind, name, method)

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._depth, "inside", False):
                return method(*args, **kwargs)
            self._depth.inside = True
            start, cpu = time.perf_counter(), time.thread_time()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start
                self.cpu_seconds += time.thread_time() - cpu
                self._depth.inside = False

        return timed


def run(rounds: int = 100, reflection_seconds: float = REFLECTION_SECONDS) -> dict[str, Any]:
    """Measure, and return a table of rows.

    Args:
        rounds: Runs of each system.
        reflection_seconds: How long the reflection model sleeps.
    """
    leave = threading.Event()

    def slow_model(prompt: str) -> str:
        leave.wait(reflection_seconds)
        return '{"lessons": []}'

    with _opened(slow_model) as memory:
        agents = {
            "bare": create_agent(Script(), [price_of]),
            "handler": with_hindsight(create_agent(Script(), [price_of]), memory),
            "middleware": create_agent(
                Script(), [price_of], middleware=[HindsightMiddleware(memory)]
            ),
            "both": create_hindsight_agent(memory, Script(), [price_of]),
        }
        for item in range(20):
            memory.store(f"The price of item {item} is 7 when it is bought in a set")
        total: dict[str, list[float]] = {name: [] for name in SYSTEMS}
        own: dict[str, list[float]] = {name: [] for name in SYSTEMS}
        cpu: dict[str, list[float]] = {name: [] for name in SYSTEMS}
        counter = _Own()
        with counter.counting():
            for number in range(rounds + 3):
                for name in SYSTEMS:
                    counter.seconds = counter.cpu_seconds = 0.0
                    start = time.perf_counter()
                    agents[name].invoke({"messages": [("user", "What do ten items cost?")]})
                    if number >= 3:
                        total[name].append((time.perf_counter() - start) * 1e3)
                        own[name].append(counter.seconds * 1e3)
                        cpu[name].append(counter.cpu_seconds * 1e3)
        leave.set()
    return {
        "name": "langchain-adapter",
        "n": rounds,
        "settings": {"tool_calls": TOOL_CALLS, "reflection_seconds": reflection_seconds},
        "rows": [_row(name, total[name], own[name], cpu[name]) for name in SYSTEMS],
    }


@contextmanager
def _opened(model: Any) -> Iterator[Hindsight]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(drain_seconds=0.0, allow_download=False)
        with Hindsight.open(folder, namespace="bench", settings=settings, model=model) as opened:
            yield opened


def _row(
    name: str, total: Sequence[float], own: Sequence[float], cpu: Sequence[float]
) -> dict[str, Any]:
    return {
        "system": name,
        "run_ms_p50": round(statistics.median(total), 2),
        "run_ms_p95": round(_p95(total), 2),
        "run_ms_max": round(max(total), 2),
        "own_ms_p50": round(statistics.median(own), 2),
        "own_ms_p95": round(_p95(own), 2),
        "own_cpu_ms_p50": round(statistics.median(cpu), 2),
        "own_cpu_ms_p95": round(_p95(cpu), 2),
    }


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters.langchain")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    found = run(options.rounds)
    if options.json:
        print(json.dumps(found))
    else:
        columns = list(found["rows"][0])
        print("  ".join(f"{column:>15}" for column in columns))
        for row in found["rows"]:
            print("  ".join(f"{row[column]!s:>15}" for column in columns))
        print(f"goal: own_ms_p95 <= {GOAL_MS}, {options.rounds} runs each")
    return int(any(row["own_ms_p95"] > GOAL_MS for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
