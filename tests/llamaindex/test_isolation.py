"""Two users on one memory object, on one block: nothing of one is ever seen by the other."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import Memory
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import ScriptedLLM, released
from test_buffer import answer, user

from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import HindsightMemory, HindsightMemoryBlock, Instrumentation

USERS = ("alice", "bob")
SECRETS = {"alice": "crimson", "bob": "turquoise"}
OTHER = {"alice": "bob", "bob": "alice"}
QUESTION = "Which color does the user want the recipe book to have?"


@pytest.fixture
def both(h: Hindsight) -> Hindsight:
    """A memory that knows a color of each user."""
    for name, color in SECRETS.items():
        h.for_user(name).store(
            f"The user always wants the recipe book in {color}", category="preference"
        )
    return h


def check(name: str, texts: list[str]) -> None:
    """Every text is of `name` only, and what is known of them is there."""
    told = "\n".join(texts)
    assert SECRETS[OTHER[name]] not in told
    assert f"from {OTHER[name]}" not in told
    assert SECRETS[name] in told


def schedule(count: int) -> list[tuple[str, int]]:
    order = [(name, n) for name in USERS for n in range(count // 2)]
    random.Random(7).shuffle(order)
    return order


def test_a_thousand_interleaved_uses_of_one_object_by_threads_cross_nothing(
    both: Hindsight,
) -> None:
    memory = HindsightMemory.from_defaults(hindsight=both, token_limit=400)

    def one(job: tuple[str, int]) -> None:
        name, number = job
        with instrument_tags({"user_id": name, "session_id": f"s{number}"}):
            memory.put(user(f"{QUESTION} ({number} from {name})"))
            check(name, [m.content or "" for m in memory.get()])
            memory.put(answer(f"Answer {number} from {name}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, schedule(1_000)))
    for name in USERS:
        for session in range(0, 500, 50):
            with instrument_tags({"user_id": name, "session_id": f"s{session}"}):
                kept = [m.content or "" for m in memory.get_all()]
            assert len(kept) == 2
            assert all(f"{session} from {name}" in text for text in kept)
    assert memory.get_all() == []


async def test_a_thousand_interleaved_uses_of_one_object_by_tasks_cross_nothing(
    both: Hindsight,
) -> None:
    memory = HindsightMemory.from_defaults(hindsight=both, token_limit=400)
    gate = asyncio.Semaphore(16)

    async def one(name: str, number: int) -> None:
        async with gate:
            with instrument_tags({"user_id": name, "session_id": f"s{number}"}):
                await memory.aput(user(f"{QUESTION} ({number} from {name})"))
                check(name, [m.content or "" for m in await memory.aget()])
                await memory.aput(answer(f"Answer {number} from {name}"))
                assert len(await memory.aget_all()) == 2

    await asyncio.gather(*(one(name, number) for name, number in schedule(1_000)))


async def test_a_thousand_interleaved_uses_of_one_block_cross_nothing(both: Hindsight) -> None:
    block = HindsightMemoryBlock.of(both)
    gate = asyncio.Semaphore(16)

    async def one(name: str, number: int) -> None:
        async with gate:
            messages = [user(f"{QUESTION} ({number} from {name})")]
            session = f"s{number % 5}"
            if number % 2:
                with instrument_tags({"user_id": name}):
                    text = await block.aget(messages, session_id=session)
            else:
                text = await block.aget(messages, session_id=session, user_id=name)
            check(name, [text])

    await asyncio.gather(*(one(name, number) for name, number in schedule(1_000)))
    # No scope sticks: who says nothing gets the memory of nobody in particular.
    assert await block.aget([user(QUESTION)], session_id="s0") == ""


def replying(name: str) -> ScriptedLLM:
    def reply(messages: Any) -> str:
        check(name, [m.content or "" for m in messages])
        return f"Answer from {name}"

    return ScriptedLLM(replies=[reply])


async def test_interleaved_runs_of_two_users_give_each_their_own_episodes(
    both: Hindsight, instrumented: Instrumentation, runs: Any
) -> None:
    memory = HindsightMemory.from_defaults(hindsight=both, token_limit=800)
    block = HindsightMemoryBlock.of(both)
    gate = asyncio.Semaphore(8)

    async def by_agent(name: str, number: int) -> None:
        agent = FunctionAgent(tools=[], llm=replying(name))
        with instrument_tags({"user_id": name, "session_id": f"{name}{number}"}):
            await agent.run(f"{QUESTION} ({number} from {name})", memory=memory)

    async def by_engine(name: str, number: int) -> None:
        engine = SimpleChatEngine.from_defaults(llm=replying(name), memory=memory)
        with instrument_tags({"user_id": name, "session_id": f"{name}{number}"}):
            await asyncio.to_thread(engine.chat, f"{QUESTION} ({number} from {name})")

    async def by_block(name: str, number: int) -> None:
        own = Memory.from_defaults(session_id=f"{name}{number}", memory_blocks=[block])
        agent = FunctionAgent(tools=[], llm=replying(name))
        with instrument_tags({"user_id": name}):
            await agent.run(f"{QUESTION} ({number} from {name})", memory=own)
        await released(own)

    async def one(name: str, number: int) -> None:
        async with gate:
            await (by_agent, by_engine, by_block)[number % 3](name, number)

    await asyncio.gather(*(one(name, number) for name, number in schedule(60)))
    journaled = runs()
    assert len(journaled) == 60
    for run in journaled:
        name = run.namespace.parts[-1]
        assert name in USERS
        texts = [step.text for step in run.trajectory.steps]
        assert all(f"from {name}" in text for text in texts), texts
        assert run.trajectory.session_id.startswith(name)
    assert instrumented.open_spans == 0


def test_messages_of_one_session_never_reach_another_object_of_the_same_store(
    h: Hindsight,
) -> None:
    first = HindsightMemory.from_defaults(hindsight=h, user_id="alice", session_id="s1")
    first.put(ChatMessage(role="user", content="from alice"))
    for user_id, session in (("alice", "s2"), ("bob", "s1"), (None, None)):
        other = HindsightMemory.from_defaults(
            hindsight=h, chat_store=first.chat_store, user_id=user_id, session_id=session
        )
        assert other.get_all() == []
