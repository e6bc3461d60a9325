"""What the LlamaIndex adapter adds to an agent's run, while reflection is slow.

`python -m benchmarks.adapters.llamaindex` runs one agent with ten tool calls as it is, recorded,
with the memory, and with both, in turn so that drift hits all alike. The reflection model sleeps
five seconds; the answer must not wait for it.

`own_ms` is all that the adapter itself does in a run: every span that it is told of, every read
and write of the conversation, and the journal at the end. Two things are told apart:

- `recall_ms`: the one recall of a run, from the call to the brief. Each run asks something new,
  so that no query is embedded before.
- `embedder_ms`: the part of it that embeds the query, as any memory of vectors has to. The row
  `embedder` is the same alone.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
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
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_llamaindex import HindsightMemory, instrument
from hindsight_llamaindex import turns as turns_room
from hindsight_llamaindex.instrumentation import HindsightSpanHandler

__all__ = ["main", "run"]

NOTES = (
    "own_ms is the adapter itself; recall_ms, the one recall of a run, stands beside it",
    "embedder_ms is the part of recall_ms that embeds a query that was not seen before",
)


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
    *((HindsightSpanHandler, name) for name in ("span_enter", "span_exit", "span_drop")),
    *((HindsightMemory, name) for name in ("aget", "aget_all", "aput", "aput_messages", "aset")),
    *((HindsightMemory, name) for name in ("get", "get_all", "put", "set", "reset")),
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
    embedder = open_embedder(settings)
    questions = (f"What do {10 + number} items cost?" for number in itertools.count())
    apart: dict[str, list[tuple[Any, str]]] = {
        "recall": [(turns_room, "_brief"), (turns_room, "_abrief")],
        "embedder": [(type(embedder), "embed_query")],
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(
            folder, namespace="bench", model=model, settings=settings, embedder=embedder
        ) as hindsight,
    ):
        for item in range(20):
            hindsight.store(f"The price of item {item} is 7 when it is bought in a set")
        one = partial(_one, hindsight, questions)
        runs: dict[str, Callable[[], object]] = {
            "bare": partial(one, recorded=False, remembers=False),
            "recorded": partial(one, recorded=True, remembers=False),
            "memory": partial(one, recorded=False, remembers=True),
            "both": partial(one, recorded=True, remembers=True),
            "embedder": lambda: embedder.embed_query(next(questions)),
        }
        rows = OwnTime(ENTERED, apart).measure(runs, rounds)
        model.let_go()
    return {
        "name": "llamaindex-adapter",
        "n": rounds,
        "settings": {
            "tool_calls": TOOL_CALLS,
            "reflection_seconds": reflection_seconds,
            "drain_seconds": 0.0,
        },
        "notes": NOTES,
        "rows": rows,
    }


def _one(
    hindsight: Hindsight, questions: Iterator[str], *, recorded: bool, remembers: bool
) -> None:
    attached = instrument(hindsight) if recorded else None
    asyncio.run(_asked(hindsight, next(questions), remembers))
    if attached is not None:
        attached.detach()


async def _asked(hindsight: Hindsight, question: str, remembers: bool) -> None:
    agent = FunctionAgent(tools=[price_of], llm=Script())
    memory = HindsightMemory.from_defaults(hindsight=hindsight) if remembers else None
    await agent.run(question, memory=memory)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if the goal is missed."""
    return run_command("llamaindex", run, argv)


if __name__ == "__main__":
    sys.exit(main())
