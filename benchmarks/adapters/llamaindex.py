"""What the LlamaIndex adapter adds to an agent's run, while reflection is slow.

`python -m benchmarks.adapters.llamaindex` runs one agent with ten tool calls as it is, recorded,
with the memory, and with both, in turn so that drift hits all alike. The reflection model sleeps
five seconds; the answer must not wait for it. `own_ms` is the time that a run spends inside the
adapter's code, recall left out; it is what the goal is about, since on a busy machine the
difference between two runs says more about the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from hindsight_core import Hindsight, Settings
from hindsight_llamaindex import HindsightMemory, instrument
from hindsight_llamaindex import memory as memory_room
from hindsight_llamaindex.instrumentation import HindsightSpanHandler

__all__ = ["SYSTEMS", "main", "run"]

SYSTEMS = ("bare", "recorded", "memory", "both")
TOOL_CALLS = 10
GOAL_MS = 5.0
REFLECTION_SECONDS = 5.0
QUESTION = "What do ten items cost?"


class Script(MockFunctionCallingLLM):
    """Calls a tool ten times, then answers."""

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Give the next reply."""
        done = sum(message.role.value == "tool" for message in messages)
        if done < TOOL_CALLS:
            call = ToolCallBlock(
                tool_call_id=f"call_{done}",
                tool_name="price_of",
                tool_kwargs={"item": f"item {done}"},
            )
            return ChatResponse(message=ChatMessage(role="assistant", blocks=[call]))
        return ChatResponse(message=ChatMessage(role="assistant", content="The total is 70."))

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Give the next reply in one piece."""

        async def stream() -> Any:
            yield await self.achat(messages)

        return stream()


def price_of(item: str) -> str:
    """Return the price of an item."""
    return f"{item} costs 7"


class _Own:
    """The time that the current run has spent inside the adapter's code."""

    METHODS = (
        (HindsightSpanHandler, "new_span"),
        (HindsightSpanHandler, "prepare_to_exit_span"),
        (HindsightSpanHandler, "prepare_to_drop_span"),
        (HindsightMemory, "_conversation"),
        (HindsightMemory, "_sent"),
        (memory_room, "turn_of"),
        (memory_room, "without_brief"),
        (memory_room, "_announced"),
    )

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = threading.local()

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count while the block runs."""
        plain = [(holder, name, getattr(holder, name)) for holder, name in self.METHODS]
        for holder, name, method in plain:
            setattr(holder, name, self._timed(method))
        try:
            yield
        finally:
            for holder, name, method in plain:
                setattr(holder, name, method)

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._depth, "inside", False):
                return method(*args, **kwargs)
            self._depth.inside = True
            start = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start
                self._depth.inside = False

        return timed


async def _one(hindsight: Hindsight, system: str) -> None:
    agent = FunctionAgent(tools=[price_of], llm=Script())
    uses_memory = system in {"memory", "both"}
    memory = HindsightMemory.from_defaults(hindsight=hindsight) if uses_memory else None
    await agent.run(QUESTION, memory=memory)


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

    total: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    own: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    counter = _Own()
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(
            folder, namespace="bench", model=slow_model, settings=Settings(drain_seconds=0.0)
        ) as hindsight,
        counter.counting(),
    ):
        for item in range(20):
            hindsight.store(f"The price of item {item} is 7 when it is bought in a set")
        for number in range(rounds + 3):
            for name in SYSTEMS:
                attached = instrument(hindsight) if name in {"recorded", "both"} else None
                counter.seconds = 0.0
                start = time.perf_counter()
                asyncio.run(_one(hindsight, name))
                if number >= 3:
                    total[name].append((time.perf_counter() - start) * 1e3)
                    own[name].append(counter.seconds * 1e3)
                if attached is not None:
                    attached.detach()
        leave.set()
    return {
        "name": "llamaindex-adapter",
        "n": rounds,
        "settings": {"tool_calls": TOOL_CALLS, "reflection_seconds": reflection_seconds},
        "rows": [_row(name, total[name], own[name]) for name in SYSTEMS],
    }


def _row(name: str, total: Sequence[float], own: Sequence[float]) -> dict[str, Any]:
    return {
        "system": name,
        "run_ms_p50": round(statistics.median(total), 2),
        "run_ms_p95": round(_p95(total), 2),
        "run_ms_max": round(max(total), 2),
        "own_ms_p50": round(statistics.median(own), 2),
        "own_ms_p95": round(_p95(own), 2),
    }


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters.llamaindex")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    found = run(options.rounds)
    if options.json:
        print(json.dumps(found))
    else:
        columns = list(found["rows"][0])
        print("  ".join(f"{column:>12}" for column in columns))
        for row in found["rows"]:
            print("  ".join(f"{row[column]!s:>12}" for column in columns))
        print(f"goal: own_ms_p95 <= {GOAL_MS}, {options.rounds} runs each")
    return int(any(row["own_ms_p95"] > GOAL_MS for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
