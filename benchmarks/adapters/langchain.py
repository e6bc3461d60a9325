"""What the LangChain adapter adds to an agent's run, while reflection is slow.

`python -m benchmarks.adapters.langchain` runs one agent with ten tool calls as it is, with the
handler, with the middleware and with both, in turn so that drift hits all alike. The reflection
model sleeps five seconds; the answer must not wait for it. Recall is left out of `own_ms`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from benchmarks.adapters.own_time import (
    REFLECTION_SECONDS,
    TOOL_CALLS,
    OwnTime,
    SlowModel,
    run_command,
)
from hindsight_core import Hindsight, Settings
from hindsight_langchain import HindsightMiddleware, create_hindsight_agent, with_hindsight
from hindsight_langchain.events import RecordingEvents

__all__ = ["main", "run"]


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


ENTERED = (
    (RecordingEvents, "_start"),
    (RecordingEvents, "_end"),
    (HindsightMiddleware, "_plan"),
    (HindsightMiddleware, "_with"),
    (HindsightMiddleware, "_take_part"),
)
"""Where the adapter is entered; recall happens between these."""


def run(rounds: int = 100, reflection_seconds: float = REFLECTION_SECONDS) -> dict[str, Any]:
    """Measure, and return a table of rows.

    Args:
        rounds: Runs of each system.
        reflection_seconds: How long the reflection model sleeps.
    """
    model = SlowModel(reflection_seconds)
    with _opened(model) as memory:
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
        asked = {"messages": [("user", "What do ten items cost?")]}
        runs = {name: partial(agent.invoke, asked) for name, agent in agents.items()}
        rows = OwnTime(ENTERED).measure(runs, rounds)
        model.let_go()
    return {
        "name": "langchain-adapter",
        "n": rounds,
        "settings": {
            "tool_calls": TOOL_CALLS,
            "reflection_seconds": reflection_seconds,
            "drain_seconds": 0.0,
            "allow_download": False,
        },
        "rows": rows,
    }


@contextmanager
def _opened(model: SlowModel) -> Iterator[Hindsight]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(drain_seconds=0.0, allow_download=False)
        with Hindsight.open(folder, namespace="bench", settings=settings, model=model) as opened:
            yield opened


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the goal is missed."""
    return run_command("langchain", run, argv)


if __name__ == "__main__":
    sys.exit(main())
