"""Two turns teach: what was corrected in one session is known in the next."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import ScriptedLLM, released

from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import HindsightMemory, HindsightMemoryBlock, Instrumentation

FIRST = "How much flour does the bread recipe need?"
CORRECTION = "No, that's wrong. I always use metric units in recipes, please remember that."


def own(h: Hindsight) -> Any:
    return HindsightMemory.from_defaults(hindsight=h)


def with_block(h: Hindsight) -> Any:
    return Memory.from_defaults(memory_blocks=[HindsightMemoryBlock.of(h)])


async def by_engine(llm: ScriptedLLM, memory: Any, messages: list[str]) -> None:
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    for message in messages:
        await engine.achat(message)


async def by_agent(llm: ScriptedLLM, memory: Any, messages: list[str]) -> None:
    agent = FunctionAgent(tools=[], llm=llm)
    for message in messages:
        await agent.run(message, memory=memory)


@pytest.mark.parametrize("talk", [by_engine, by_agent])
@pytest.mark.parametrize("memory_of", [own, with_block])
async def test_a_correction_of_two_turns_is_recalled_in_the_next_session(
    h: Hindsight, instrumented: Instrumentation, memory_of: Any, talk: Any
) -> None:
    memory = memory_of(h)
    with instrument_tags({"user_id": "alice", "session_id": "monday"}):
        llm = ScriptedLLM(replies=["You need 2 cups of flour.", "You need 240 g of flour."])
        await talk(llm, memory, [FIRST, CORRECTION])
    await released(memory)
    assert await h.aflush(30)
    memory = memory_of(h)
    with instrument_tags({"user_id": "alice", "session_id": "tuesday"}):
        llm = ScriptedLLM(replies=["You need 120 g of flour."])
        await talk(llm, memory, ["How much flour does the cake recipe need?"])
    await released(memory)
    assert "metric units" in "\n".join(m.content or "" for m in llm.seen[0])
    known = (await h.for_user("alice").alist(categories=["correction", "preference"])).memories
    assert {memory.category for memory in known} == {"correction", "preference"}
    correction = next(memory for memory in known if memory.category == "correction")
    assert "2 cups" in correction.content
