"""Every way a run can end, on every way it can be run: one episode, with its outcome.

The table in the docs is made of what these tests assert; where the page differs, the test
prints the table that would be right.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from lc_scripted import ScriptedChat, ask, broken, calls, journaled, lookup

from hindsight_core.hindsight import Hindsight
from hindsight_langchain import HindsightMiddleware, create_hindsight_agent, with_hindsight
from hindsight_langchain.recorder import recorder_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "langchain.md"
WAYS = ("invoke", "ainvoke", "stream", "astream", "astream_events", "batch", "abatch")
ENDINGS = (
    "finished",
    "validated",
    "tool failed",
    "tool refused",
    "model failed",
    "paused, then resumed",
    "paused for good",
    "step limit",
    "abandoned",
    "cancelled",
)
ATTACHED = ("both", "middleware", "handler")


@tool
def approve(item: str) -> str:
    """Ask a person."""
    return f"{item}: {interrupt({'item': item})}"


def press_key(item: str) -> str:
    """Be interrupted, by a key or by a cancelled task."""
    raise KeyboardInterrupt


async def be_cancelled(item: str) -> str:
    _begun[-1].set()
    await asyncio.Event().wait()
    return "never"


_begun: list[asyncio.Event] = []
press = StructuredTool.from_function(press_key, coroutine=be_cancelled, name="press")


SCRIPTS: dict[str, Any] = {
    "finished": [calls(("lookup", {"item": "tea"}, "c1")), "It costs 7."],
    "validated": [calls(("lookup", {"item": "tea"}, "c1")), "It costs 7."],
    "tool failed": [calls(("broken", {"item": "tea"}, "c1")), "never said"],
    "tool refused": [calls(("lookup", {"wrong": 1}, "c1")), "I could not look it up."],
    "model failed": [calls(("lookup", {"item": "tea"}, "c1")), RuntimeError("out of quota")],
    "paused, then resumed": [calls(("approve", {"item": "tea"}, "c1")), "Ordered."],
    "paused for good": [calls(("approve", {"item": "tea"}, "c1")), "Ordered."],
    "step limit": [calls(("lookup", {"item": "tea"}, "c1"))],
    "abandoned": [calls(("lookup", {"item": "tea"}, "c1")), "It costs 7."],
    "cancelled": [calls(("press", {"item": "tea"}, "c1")), "never said"],
}


def agent_for(h: Hindsight, ending: str, attached: str) -> Any:
    model = ScriptedChat(script=SCRIPTS[ending])
    tools = [lookup, broken, approve, press]
    validator = (lambda run: "7" in run.steps[-1].text) if ending == "validated" else None
    saver = InMemorySaver()
    if attached == "both":
        return create_hindsight_agent(h, model, tools, validator=validator, checkpointer=saver)
    if attached == "middleware":
        own = HindsightMiddleware(h, validator=validator)
        return create_agent(model, tools, middleware=[own], checkpointer=saver)
    return with_hindsight(create_agent(model, tools, checkpointer=saver), h, validator=validator)


def config(ending: str) -> Any:
    limit = 5 if ending == "step limit" else 50
    return {"configurable": {"thread_id": "t1"}, "recursion_limit": limit}


async def drive(agent: Any, way: str, inputs: Any, how: Any, *, abandon: bool) -> None:
    """Run an agent on one of the ways; an abandoned stream is left after its first part."""
    if way == "invoke":
        agent.invoke(inputs, how)
    elif way == "ainvoke":
        await agent.ainvoke(inputs, how)
    elif way == "batch":
        agent.batch([inputs], [how])
    elif way == "abatch":
        await agent.abatch([inputs], [how])
    elif way == "stream":
        stream = agent.stream(inputs, how)
        for _ in stream:
            if abandon:
                break
        stream.close()
    else:
        parts = (
            agent.astream(inputs, how)
            if way == "astream"
            else agent.astream_events(inputs, how, version="v2")
        )
        async for part in parts:
            if abandon and (way == "astream" or part["event"] == "on_tool_end"):
                break
        await parts.aclose()


async def end_one_run(h: Hindsight, ending: str, way: str, attached: str) -> None:
    agent, how = agent_for(h, ending, attached), config(ending)
    abandon = ending == "abandoned"
    inputs = ask("What does tea cost?")
    try:
        if ending == "cancelled" and way.startswith("a"):
            _begun.append(asyncio.Event())
            task = asyncio.create_task(drive(agent, way, inputs, how, abandon=False))
            await asyncio.wait_for(_begun[-1].wait(), 20)
            task.cancel()
            await task
        else:
            await drive(agent, way, inputs, how, abandon=abandon)
    except (ValueError, RuntimeError, KeyboardInterrupt, asyncio.CancelledError):
        if ending not in ("tool failed", "model failed", "step limit", "cancelled"):
            raise
    if ending == "paused, then resumed":
        await drive(agent, way, Command(resume="yes"), how, abandon=False)


def has_stream(way: str) -> bool:
    return "stream" in way


async def outcome(h: Hindsight, ending: str, way: str, attached: str) -> str:
    """Return how one run was recorded; a run that nobody resumes is settled."""
    await end_one_run(h, ending, way, attached)
    if ending == "paused for good":
        assert journaled(h) == []
        recorder_of(h).settle()
    (run,) = journaled(h)
    assert run.steps[0].text == "What does tea cost?"
    assert recorder_of(h).open_runs == 0
    return f"{run.outcome.label} ({run.outcome.source})"


def expected(ending: str, way: str) -> str:
    if ending == "abandoned" and way == "astream_events":
        return "abandoned (exception)"
    return {
        "finished": "unknown (rule)",
        "validated": "success (validator)",
        "tool failed": "failure (exception)",
        "tool refused": "unknown (rule)",
        "model failed": "failure (exception)",
        "paused, then resumed": "unknown (rule)",
        "paused for good": "incomplete (rule)",
        "step limit": "incomplete (exception)",
        "abandoned": "abandoned (rule)",
        "cancelled": "abandoned (exception)",
    }[ending]


@pytest.mark.parametrize("attached", ATTACHED)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_on_every_way_is_one_episode_with_its_outcome(
    memory: Hindsight, ending: str, attached: str
) -> None:
    before = memory.stats().failures.get("recording", 0)
    for way in WAYS:
        if ending == "abandoned" and not has_stream(way):
            continue
        view = memory.scoped(("endings", attached, ending, way))
        found = asyncio.run(outcome(view, ending, way, attached))
        assert found == expected(ending, way), way
    assert memory.stats().failures.get("recording", 0) == before


def table() -> str:
    lines = ["| a run that | " + " | ".join(f"`{way}`" for way in WAYS) + " |"]
    lines.append("| --- " * (len(WAYS) + 1) + "|")
    for ending in ENDINGS:
        cells = [
            expected(ending, way)
            if ending != "abandoned" or has_stream(way)
            else "no stream to leave"
            for way in WAYS
        ]
        lines.append(f"| {ROWS[ending]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


ROWS = {
    "finished": "finished",
    "validated": "finished, and a validator said yes",
    "tool failed": "was ended by a tool's exception",
    "tool refused": "met a tool's refusal and went on",
    "model failed": "was ended by the model's exception",
    "paused, then resumed": "paused and was resumed",
    "paused for good": "paused and was never resumed",
    "step limit": "hit the step limit",
    "abandoned": "had its stream abandoned",
    "cancelled": "was cancelled or interrupted",
}


def test_the_table_in_the_docs_is_what_happens() -> None:
    page = PAGE.read_text("utf-8")
    found = re.search(r"^\| a run that \|.*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert found.group() == table(), table()
