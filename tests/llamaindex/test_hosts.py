"""The usual wirings, in a script, in a running loop, behind an ASGI app and in a thread pool."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import Memory
from llama_index.core.workflow import Context
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import FixedRetriever, ScriptedLLM, briefs_in, released

from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex import HindsightMemory, HindsightMemoryBlock, Instrumentation

QUESTION = "Convert the recipe to my units"
Wiring = Callable[[Hindsight], Awaitable[ScriptedLLM]]


async def agent_with_memory(h: Hindsight) -> ScriptedLLM:
    llm = ScriptedLLM(replies=["Which one?", "Done."])
    agent = FunctionAgent(tools=[], llm=llm)
    context = Context(agent)
    await agent.run("Hello there", memory=HindsightMemory.from_defaults(hindsight=h), ctx=context)
    stored = json.loads(json.dumps(context.to_dict()))
    await agent.run(QUESTION, ctx=Context.from_dict(agent, stored))
    return llm


async def agent_with_block(h: Hindsight) -> ScriptedLLM:
    llm = ScriptedLLM(replies=["Done."])
    memory = Memory.from_defaults(memory_blocks=[HindsightMemoryBlock.of(h)])
    await FunctionAgent(tools=[], llm=llm).run(QUESTION, memory=memory)
    await released(memory)
    return llm


async def chat_engine(h: Hindsight) -> ScriptedLLM:
    llm = ScriptedLLM(replies=["Done."], pieces=2)
    memory = HindsightMemory.from_defaults(hindsight=h)
    engine = ContextChatEngine.from_defaults(retriever=FixedRetriever(), llm=llm, memory=memory)
    response = await engine.astream_chat(QUESTION)
    assert "".join([piece async for piece in response.async_response_gen()]) == "Done."
    engine.reset()
    assert memory.get_all() == []
    return llm


async def sync_chat_engine(h: Hindsight) -> ScriptedLLM:
    llm = ScriptedLLM(replies=["Done."], pieces=2)
    memory = HindsightMemory.from_defaults(hindsight=h)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    assert "".join(engine.stream_chat(QUESTION).response_gen) == "Done."
    return llm


async def in_a_running_loop(wiring: Wiring, h: Hindsight) -> ScriptedLLM:
    return await wiring(h)


async def in_a_thread_pool(wiring: Wiring, h: Hindsight) -> ScriptedLLM:
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(lambda: asyncio.run(_awaited(wiring, h))) for _ in range(2)]
        return [await asyncio.wrap_future(future) for future in futures][-1]


async def behind_an_asgi_app(wiring: Wiring, h: Hindsight) -> ScriptedLLM:
    found: list[ScriptedLLM] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = await receive()
        with instrument_tags({"session_id": request["body"].decode()}):
            found.append(await wiring(h))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def request(session: str) -> list[Any]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": session.encode(), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await app({"type": "http", "path": "/"}, receive, send)
        return sent

    answers = await asyncio.gather(*(request(f"s{n}") for n in range(3)))
    assert all(sent[0]["status"] == 200 for sent in answers)
    return found[-1]


async def _awaited(wiring: Wiring, h: Hindsight) -> ScriptedLLM:
    return await wiring(h)


@pytest.mark.parametrize(
    "wiring", [agent_with_memory, agent_with_block, chat_engine, sync_chat_engine]
)
@pytest.mark.parametrize("host", [in_a_running_loop, in_a_thread_pool, behind_an_asgi_app])
async def test_a_wiring_works_in_a_host(
    knowing: Hindsight, instrumented: Instrumentation, runs: Any, wiring: Wiring, host: Any
) -> None:
    llm = await asyncio.wait_for(host(wiring, knowing), 60)
    assert briefs_in(llm.seen[-1]) == 1
    assert {run.trajectory.outcome.label for run in runs()} == {"unknown"}
    assert instrumented.open_spans == 0


SCRIPT = """
import asyncio, sys, warnings
sys.path.insert(0, {tests!r})
import test_hosts
from hindsight_core import Hindsight
from hindsight_llamaindex import instrument
with Hindsight.open({folder!r}, namespace="acme") as h:
    h.store("The user always wants metric units in recipes", category="preference")
    instrument(h)
    for wiring in ("agent_with_memory", "agent_with_block", "chat_engine", "sync_chat_engine"):
        llm = asyncio.run(getattr(test_hosts, wiring)(h))
        print(test_hosts.briefs_in(llm.seen[-1]))
    h.flush()
    print(h.stats().failures)
"""


def test_the_wirings_work_in_a_plain_script(tmp_path: Path) -> None:
    code = SCRIPT.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "memory"))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "1", "1", "1", "{}"]
