"""The patterns in which people wire memory in, under the hosts in which they run them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.prompts import ChatPromptTemplate
from langgraph.graph import START, MessagesState, StateGraph
from lc_scripted import ScriptedChat, ask, journaled

from benchmarks.adapters.langchain import run as measure
from hindsight_core.hindsight import Hindsight
from hindsight_langchain import (
    HindsightCallbackHandler,
    HindsightMemory,
    HindsightMiddleware,
    HindsightRetriever,
    assign_brief,
    hindsight_tools,
    recall_node,
    record_node,
)

PREFERENCE = "The user prefers metric units for recipes"
QUESTION = "Which units does the user prefer for recipes?"


def model() -> ScriptedChat:
    """Return a model that says what it was told."""
    return ScriptedChat(script=lambda messages: str(messages[0].content))


def middleware(h: Hindsight, config: Any) -> Any:
    agent = create_agent(model(), [], middleware=[HindsightMiddleware(h)])
    return agent, ask(QUESTION)


def handler(h: Hindsight, config: Any) -> Any:
    config["callbacks"] = [HindsightCallbackHandler(h)]
    own = HindsightMiddleware(h)
    return create_agent(model(), [], middleware=[own]), ask(QUESTION)


def nodes(h: Hindsight, config: Any) -> Any:
    class State(MessagesState):
        memory: str

    graph = StateGraph(State)
    graph.add_node("recall", recall_node(h))
    graph.add_node("answer", lambda state: {"messages": [("ai", state["memory"])]})
    graph.add_node("record", record_node(h))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "record")
    return graph.compile(), ask(QUESTION)


def tools(h: Hindsight, config: Any) -> Any:
    (retrieve,) = hindsight_tools(h, only=("retrieve",))
    return retrieve, {"query": QUESTION}


def classic(h: Hindsight, config: Any) -> Any:
    from langchain_core.runnables import RunnableLambda

    memory = HindsightMemory(hindsight=h.for_user("ann"))

    def chain(inputs: dict[str, Any]) -> str:
        known = memory.load_memory_variables(inputs)
        memory.save_context({**inputs, **known}, {"output": known["memory"]})
        return str(known["memory"])

    async def achain(inputs: dict[str, Any]) -> str:
        known = await memory.aload_memory_variables(inputs)
        await memory.asave_context({**inputs, **known}, {"output": known["memory"]})
        return str(known["memory"])

    return RunnableLambda(chain, afunc=achain), {"input": QUESTION}


def lcel(h: Hindsight, config: Any) -> Any:
    config["callbacks"] = [HindsightCallbackHandler(h)]
    prompt = ChatPromptTemplate.from_messages([("system", "{memory}"), ("user", "{question}")])
    return assign_brief(h) | prompt | model(), {"question": QUESTION}


def retriever(h: Hindsight, config: Any) -> Any:
    return HindsightRetriever(hindsight=h), QUESTION


PATTERNS = {
    "middleware": (middleware, 1), "handler": (handler, 1), "nodes": (nodes, 1),
    "tools": (tools, 0), "classic": (classic, 1), "lcel": (lcel, 1), "retriever": (retriever, 0),
}  # fmt: skip


def in_a_script(runnable: Any, inputs: Any, config: Any) -> Any:
    return runnable.invoke(inputs, config)


def in_a_thread_pool(runnable: Any, inputs: Any, config: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        return pool.submit(runnable.invoke, inputs, config).result(30)


def sync_inside_a_loop(runnable: Any, inputs: Any, config: Any) -> Any:
    async def cell() -> Any:
        return runnable.invoke(inputs, config)

    return asyncio.run(cell())


def in_an_async_server(runnable: Any, inputs: Any, config: Any) -> Any:
    """Serve one request of an ASGI application, as FastAPI would."""
    answer: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = json.loads((await receive())["body"])
        answer.append(await runnable.ainvoke(body, config))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(answer[0]).encode()})

    async def request() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(inputs).encode()}

        async def send(message: Any) -> None:
            assert message.get("status", 200) == 200

        await asyncio.wait_for(application({"type": "http"}, receive, send), 30)

    asyncio.run(request())
    return answer[0]


HOSTS = (in_a_script, sync_inside_a_loop, in_an_async_server, in_a_thread_pool)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.__name__)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_recalls_and_records_under_every_host(
    h: Hindsight, host: Any, pattern: str
) -> None:
    ann = h.for_user("ann")
    ann.store(PREFERENCE, category="preference")
    wire, records = PATTERNS[pattern]
    config: Any = {"metadata": {"user_id": "ann"}}
    runnable, inputs = wire(h, config)
    assert "metric" in str(host(runnable, inputs, config))
    assert len(journaled(ann)) == records
    assert journaled(h) == []


def test_one_memory_serves_two_loops_one_after_the_other(h: Hindsight) -> None:
    h.store(PREFERENCE)
    agent = create_agent(model(), [], middleware=[HindsightMiddleware(h)])
    for _ in range(2):
        done = asyncio.run(agent.ainvoke(ask(QUESTION)))
        assert "metric" in done["messages"][-1].content


def test_the_answer_does_not_wait_for_reflection(opened: Any) -> None:
    asked, leave = threading.Event(), threading.Event()

    def slow(prompt: str) -> str:
        asked.set()
        leave.wait(60)
        return '{"lessons": []}'

    memory = opened(model=slow)
    agent = create_agent(model(), [], middleware=[HindsightMiddleware(memory)])
    try:
        for number in range(5):
            agent.invoke(ask(f"I always want an answer in French, question {number}"))
        assert asked.wait(30)
        assert memory.stats().journal.done == 0
    finally:
        leave.set()
    assert memory.flush(60)
    assert memory.stats().journal.done == 5


def test_the_benchmark_measures_each_way_of_attaching() -> None:
    start = time.monotonic()
    found = measure(rounds=2, reflection_seconds=0.01)
    assert [row["system"] for row in found["rows"]] == ["bare", "handler", "middleware", "both"]
    assert all(row["own_ms_p50"] >= 0 for row in found["rows"])
    assert time.monotonic() > start


MISSING = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import hindsight_langchain
for name in hindsight_langchain.__all__:
    try:
        getattr(hindsight_langchain, name)
    except Exception as error:
        print(name, type(error).__name__, "pip install" in str(error))
"""


def absent(*packages: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", MISSING.format(absent=set(packages))],
        capture_output=True, text=True, check=True, timeout=100,
    )  # fmt: skip
    found = (line.split(" ", 1) for line in done.stdout.splitlines())
    return dict(found)


def test_what_a_missing_package_takes_away_says_what_to_install() -> None:
    said = "MissingExtraError True"
    assert absent("langchain_classic") == {"HindsightMemory": said}
    needs_agents = {"HindsightMiddleware": said, "create_hindsight_agent": said}
    assert absent("langchain", "langgraph") == needs_agents
    everything = absent("langchain_core", "langchain", "langgraph", "langchain_classic")
    assert len(everything) >= 16
    assert set(everything.values()) == {said}


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    import hindsight_langchain

    with pytest.raises(AttributeError, match="Hindsigth"):
        hindsight_langchain.Hindsigth  # noqa: B018
