"""Who calls the memory, streaming or not: recalled once, said once, kept never.

The table in the documentation is what these runs measure.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.memory import Memory
from llamaindex_fakes import MARK, FixedRetriever, ScriptedLLM, briefs_in, released

from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import HindsightMemory, HindsightMemoryBlock, instrument

QUESTION = "Convert the recipe to my units"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "llamaindex.md"
ROUND = [("c1", "convert", {"amount": "2 cups"})]
THOUGHT = 'Thought: I need it.\nAction: convert\nAction Input: {"amount": "2 cups"}'
ANSWER = "That is 250 g of flour."


def convert(amount: str) -> str:
    """Convert an amount."""
    return f"{amount} are 250 g"


async def function_agent(memory: Any, is_streaming: bool) -> ScriptedLLM:
    llm = ScriptedLLM(replies=[ROUND, ANSWER])
    agent = FunctionAgent(tools=[convert], llm=llm, streaming=is_streaming)
    await agent.run(QUESTION, memory=memory)
    return llm


async def react_agent(memory: Any, is_streaming: bool) -> ScriptedLLM:
    llm = ScriptedLLM(replies=[THOUGHT, f"Thought: Done.\nAnswer: {ANSWER}"])
    agent = ReActAgent(tools=[convert], llm=llm, streaming=is_streaming)
    await agent.run(QUESTION, memory=memory)
    return llm


async def agent_workflow(memory: Any, is_streaming: bool) -> ScriptedLLM:
    hand_over = [("c0", "handoff", {"to_agent": "writer", "reason": "it writes"})]
    llm = ScriptedLLM(replies=[hand_over, ROUND, ANSWER])
    first = FunctionAgent(
        name="first", description="asks", llm=llm, can_handoff_to=["writer"], streaming=is_streaming
    )
    writer = FunctionAgent(
        name="writer", description="writes", llm=llm, tools=[convert], streaming=is_streaming
    )
    await AgentWorkflow(agents=[first, writer], root_agent="first").run(QUESTION, memory=memory)
    return llm


def chat_engine(kind: Any, **options: Any) -> Callable[[Any, bool], Awaitable[ScriptedLLM]]:
    async def call(memory: Any, is_streaming: bool) -> ScriptedLLM:
        llm = ScriptedLLM(replies=[ANSWER])
        engine = kind.from_defaults(llm=llm, memory=memory, **options)
        if is_streaming:
            response = await engine.astream_chat(QUESTION)
            assert "".join([piece async for piece in response.async_response_gen()]) == ANSWER
        else:
            await engine.achat(QUESTION)
        return llm

    return call


def sync_chat_engine(kind: Any, **options: Any) -> Callable[[Any, bool], Awaitable[ScriptedLLM]]:
    async def call(memory: Any, is_streaming: bool) -> ScriptedLLM:
        llm = ScriptedLLM(replies=[ANSWER])
        engine = kind.from_defaults(llm=llm, memory=memory, **options)
        # Called as it is, inside of the running loop.
        if is_streaming:
            assert "".join(engine.stream_chat(QUESTION).response_gen) == ANSWER
        else:
            engine.chat(QUESTION)
        return llm

    return call


CALLERS: dict[str, Any] = {
    "`FunctionAgent`": function_agent,
    "`ReActAgent`": react_agent,
    "`AgentWorkflow`": agent_workflow,
    "`SimpleChatEngine`": chat_engine(SimpleChatEngine),
    "`SimpleChatEngine`, sync": sync_chat_engine(SimpleChatEngine),
    "`ContextChatEngine`": chat_engine(ContextChatEngine, retriever=FixedRetriever()),
    "`ContextChatEngine`, sync": sync_chat_engine(ContextChatEngine, retriever=FixedRetriever()),
    "`CondensePlusContextChatEngine`": chat_engine(
        CondensePlusContextChatEngine, retriever=FixedRetriever()
    ),
    "`CondensePlusContextChatEngine`, sync": sync_chat_engine(
        CondensePlusContextChatEngine, retriever=FixedRetriever()
    ),
}
MEMORIES: dict[str, Callable[[Hindsight], Any]] = {
    "`HindsightMemory`": lambda h: HindsightMemory.from_defaults(hindsight=h),
    "`Memory` + block": lambda h: Memory.from_defaults(
        memory_blocks=[HindsightMemoryBlock.of(h)], insert_method="user"
    ),
}


@dataclass(frozen=True)
class Row:
    """What one caller was seen to do."""

    caller: str
    memory: str
    is_streaming: bool
    recalls: int
    briefs: int
    kept: int
    messages: int
    outcome: str

    def __str__(self) -> str:
        streaming = "yes" if self.is_streaming else "no"
        return (
            f"| {self.caller} | {self.memory} | {streaming} | {self.recalls} | {self.briefs} "
            f"| {self.messages}, {self.kept} with a brief | {self.outcome} |"
        )


HEADER = (
    "| caller | memory | streaming | recalls | briefs in the final prompt "
    "| messages kept afterwards | outcome |\n| --- | --- | --- | --- | --- | --- | --- |"
)


async def measured(h: Hindsight, caller: str, memory: str, is_streaming: bool) -> Row:
    """Let one caller answer one question, in a namespace of its own."""
    view = h.scoped(("acme", f"{caller} {memory} {is_streaming}"))
    view.store("The user always wants metric units in recipes", category="preference")
    used = MEMORIES[memory](view)
    llm = await CALLERS[caller](used, is_streaming)
    assert await h.aflush(30)
    (preference,) = (await view.alist(categories=["preference"])).memories
    (run,) = h._scope.engine.journal.runs((view.namespace,))
    kept = await used.aget_all()
    await released(used)
    return Row(
        caller=caller,
        memory=memory,
        is_streaming=is_streaming,
        recalls=preference.access_count,
        briefs=briefs_in(llm.seen[-1]),
        kept=sum(MARK in str(message) for message in kept),
        messages=len(kept),
        outcome=run.trajectory.outcome.label,
    )


@pytest.fixture
def shared(everybody: Hindsight) -> Iterator[Hindsight]:
    """One instrumented memory for all rows."""
    with instrument(everybody):
        yield everybody


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streaming"])
@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_gets_one_brief_and_keeps_none(
    shared: Hindsight, caller: str, is_streaming: bool, memory: str
) -> None:
    row = await measured(shared, caller, memory, is_streaming)
    assert (row.recalls, row.briefs, row.kept, row.outcome) == (1, 1, 0, "unknown")
    assert row.messages >= 2
    assert instrument(shared).open_spans == 0
    assert str(row) in DOCS.read_text("utf-8"), f"the table lacks what was measured:\n{row}"


def test_the_table_holds_a_row_for_each_caller_and_no_other() -> None:
    lines = DOCS.read_text("utf-8").split("\n")
    start = lines.index(HEADER.split("\n")[0])
    rows = [*itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])]
    assert len(rows) == len(CALLERS) * len(MEMORIES) * 2


def test_each_turn_recalls_once_more(shared: Hindsight) -> None:
    view = shared.scoped(("acme", "turns"))
    view.store("The user always wants metric units in recipes", category="preference")
    memory = HindsightMemory.from_defaults(hindsight=view)
    engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(replies=[ANSWER]), memory=memory)
    for _ in range(3):
        engine.chat(QUESTION)
        assert len(memory.get()) == len(memory.get_all())
    assert shared.flush(30)
    (preference,) = view.list(categories=["preference"]).memories
    assert preference.access_count == 3


async def main() -> None:
    """Print the table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="acme") as h,
        instrument(h),
    ):
        for _memory in MEMORIES:
            for _caller in CALLERS:
                for _is_streaming in (False, True):
                    pass


if __name__ == "__main__":
    asyncio.run(main())
