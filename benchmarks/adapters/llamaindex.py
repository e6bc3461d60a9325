"""What the LlamaIndex adapter adds to an agent's run, while reflection is slow.

`python -m benchmarks.adapters.llamaindex` runs one agent with ten tool calls as it is, recorded,
with the memory, and with both, in turn so that drift hits all alike. The reflection model sleeps
five seconds; the answer must not wait for it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from benchmarks.adapters.own_time import (
    REFLECTION_SECONDS,
    TOOL_CALLS,
    OwnTime,
    SlowModel,
    run_command,
)
from hindsight_core import Hindsight, Settings
from hindsight_llamaindex import HindsightMemory, instrument
from hindsight_llamaindex import memory as memory_room
from hindsight_llamaindex.instrumentation import HindsightSpanHandler

__all__ = ["main", "run"]

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


ENTERED = (
    (HindsightSpanHandler, "new_span"),
    (HindsightSpanHandler, "prepare_to_exit_span"),
    (HindsightSpanHandler, "prepare_to_drop_span"),
    (HindsightMemory, "_conversation"),
    (HindsightMemory, "_sent"),
    (memory_room, "turn_of"),
    (memory_room, "without_brief"),
    (memory_room, "_announced"),
)
"""Where the adapter is entered."""


def run(rounds: int = 100, reflection_seconds: float = REFLECTION_SECONDS) -> dict[str, Any]:
    """Measure, and return a table of rows.

    Args:
        rounds: Runs of each system.
        reflection_seconds: How long the reflection model sleeps.
    """
    model = SlowModel(reflection_seconds)
    settings = Settings(drain_seconds=0.0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="bench", model=model, settings=settings) as hindsight,
    ):
        for item in range(20):
            hindsight.store(f"The price of item {item} is 7 when it is bought in a set")
        runs = {
            "bare": partial(_one, hindsight, recorded=False, remembers=False),
            "recorded": partial(_one, hindsight, recorded=True, remembers=False),
            "memory": partial(_one, hindsight, recorded=False, remembers=True),
            "both": partial(_one, hindsight, recorded=True, remembers=True),
        }
        rows = OwnTime(ENTERED).measure(runs, rounds)
        model.let_go()
    return {
        "name": "llamaindex-adapter",
        "n": rounds,
        "settings": {
            "tool_calls": TOOL_CALLS,
            "reflection_seconds": reflection_seconds,
            "drain_seconds": 0.0,
        },
        "rows": rows,
    }


def _one(hindsight: Hindsight, *, recorded: bool, remembers: bool) -> None:
    attached = instrument(hindsight) if recorded else None
    asyncio.run(_asked(hindsight, remembers))
    if attached is not None:
        attached.detach()


async def _asked(hindsight: Hindsight, remembers: bool) -> None:
    agent = FunctionAgent(tools=[price_of], llm=Script())
    memory = HindsightMemory.from_defaults(hindsight=hindsight) if remembers else None
    await agent.run(QUESTION, memory=memory)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the goal is missed."""
    return run_command("llamaindex", run, argv)


if __name__ == "__main__":
    sys.exit(main())
