"""The middleware: one brief per user turn, in the request and nowhere else."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from lc_scripted import ScriptedChat, ask, calls, lookup

from hindsight_core.hindsight import Hindsight
from hindsight_core.safety.marks import MARK
from hindsight_core.store.base import Schema, Search
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import FaultyStore
from hindsight_langchain import (
    BY_PHASE,
    HindsightMiddleware,
    Part,
    Policy,
    create_hindsight_agent,
)
from hindsight_langchain.placement import phases_of, place, query_of
from hindsight_langchain.recorder import recorder_of

QUESTION = "Which units does the user prefer for recipes?"
PREFERENCE = "The user prefers metric units for recipes"
BRACES = 'The user prefers metric units for recipes: {"city": "Oslo"} {x} {} {{y}} {% if %}'


def blocks(messages: list[Any]) -> int:
    return sum(str(m.content).count(f"<{MARK}") for m in messages)


@pytest.fixture(params=["invoke", "ainvoke"])
def run(request: pytest.FixtureRequest) -> Any:
    def invoke(agent: Any, inputs: Any, config: Any = None) -> Any:
        if request.param == "invoke":
            return agent.invoke(inputs, config)
        return asyncio.run(agent.ainvoke(inputs, config))

    return invoke


def test_each_call_sees_one_brief_and_the_state_none(h: Hindsight, run: Any) -> None:
    h.store(PREFERENCE, category="preference")
    model = ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "Metric."])
    agent = create_hindsight_agent(
        h, model, [lookup], system_prompt="Be kind.", checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )  # fmt: skip
    config: Any = {"configurable": {"thread_id": "t"}}
    for turn in range(3):
        done = run(agent, ask(QUESTION), config)
        assert blocks(done["messages"]) == 0, turn
        model.script = ["Metric."]
    state = agent.get_state(config).values
    assert set(state) == {"messages"}
    assert blocks(state["messages"]) == 0
    assert len(model.seen) == 4
    for messages in model.seen:
        assert blocks(messages) == 1
        assert [type(m) for m in messages].count(SystemMessage) == 1
        assert str(messages[0].content).startswith("Be kind.\n\n")
        assert PREFERENCE in str(messages[0].content)
        assert "(20" in str(messages[0].content)


def test_memory_is_asked_once_per_user_turn(opened: Any, tmp_path: Any, run: Any) -> None:
    asked: list[Any] = []

    def note(op: Any, count: int) -> bool:
        if isinstance(op, Search) and threading.current_thread().name != "hindsight-reflection":
            asked.append(op)
        return False

    inner = EdgeStore.open(tmp_path / "store", Schema("hashing", 64))
    memory = opened(store=FaultyStore(inner, note))
    script = [calls(("lookup", {"item": i}, i)) for i in "abc"]
    agent = create_hindsight_agent(memory, ScriptedChat(script=[*script, "done"]), [lookup])
    run(agent, ask(QUESTION))
    assert len(asked) == 1


def test_the_brief_is_credited_with_the_validators_verdict(h: Hindsight, run: Any) -> None:
    known = h.store(PREFERENCE, category="preference", confidence=0.7)
    agent = create_hindsight_agent(
        h, ScriptedChat(script="Metric."), [], validator=lambda run: False
    )
    run(agent, ask(QUESTION))
    assert h.flush(30)
    after = h.get(known.id)
    assert after is not None
    assert after.failure_count == 1
    assert after.confidence < 0.7


def test_what_was_recalled_is_never_learned_again(h: Hindsight) -> None:
    h.store(PREFERENCE, category="preference")

    def echo(messages: list[Any]) -> str:
        return "\n".join(str(m.content) for m in messages)

    agent = create_hindsight_agent(h, ScriptedChat(script=echo), [])
    for number in range(5):
        agent.invoke(ask(f"{QUESTION} And name capital number {number}"))
    assert h.flush(30)
    found = h.list(categories=["preference"]).memories
    assert [m.content for m in found] == [PREFERENCE]
    assert found[0].evidence == ()
    assert all(MARK not in m.content for m in h.list().memories)


def test_a_store_that_is_away_leaves_the_agent_answering(
    opened: Any, tmp_path: Any, run: Any
) -> None:
    inner = EdgeStore.open(tmp_path / "store", Schema("hashing", 64))
    memory = opened(store=FaultyStore(inner, lambda op, _: True))
    agent = create_hindsight_agent(memory, ScriptedChat(script="still here"), [])
    assert run(agent, ask("anybody?"))["messages"][-1].content == "still here"
    assert memory.stats().failures["recall"] == 1


def test_the_middleware_takes_the_user_from_configurable_too(
    h: Hindsight, runs: Any, run: Any
) -> None:
    h.for_user("ann").store(PREFERENCE, category="preference")
    model = ScriptedChat(script="ok")
    agent = create_agent(model, [], middleware=[HindsightMiddleware(h)])
    run(agent, ask(QUESTION), {"configurable": {"user_id": "ann"}})
    run(agent, ask(QUESTION), {"configurable": {"user_id": "bob"}})
    assert [blocks(messages) for messages in model.seen] == [1, 0]
    assert [len(runs("ann")), len(runs("bob"))] == [1, 1]


def test_a_missing_id_means_no_memory_and_no_failure(h: Hindsight, run: Any) -> None:
    model = ScriptedChat(script="ok")
    own = HindsightMiddleware(h, namespace=(*h.namespace.parts, "{user_id}"))
    agent = create_agent(model, [], middleware=[own])
    before = h.stats().failures.get("recall", 0)
    assert run(agent, ask(QUESTION))["messages"][-1].content == "ok"
    assert h.stats().failures["recall"] == before + 1


@pytest.mark.parametrize("policy", ["system", "section", "user"])
def test_text_with_braces_goes_through_every_placement(h: Hindsight, policy: str) -> None:
    h.store(BRACES, category="rule")
    model = ScriptedChat(script="ok")
    agent = create_agent(model, [], middleware=[HindsightMiddleware(h, policy=policy)])
    agent.invoke(ask(QUESTION))
    assert BRACES in "\n".join(str(m.content) for m in model.seen[0])
    kinds = [m.type for m in model.seen[0]]
    assert kinds == {
        "system": ["system", "human"], "section": ["human", "human"], "user": ["human"],
    }[policy]  # fmt: skip


def test_the_layered_policy_has_rules_always_and_tools_for_more(h: Hindsight) -> None:
    h.store("When deploying on Fridays, ask the on-call person first", category="rule")
    h.store(PREFERENCE, category="preference")
    model = ScriptedChat(
        script=[calls(("memory_retrieve", {"query": "Friday deploy"}, "m1")), "ok"]
    )
    agent = create_agent(model, [], middleware=[HindsightMiddleware(h, policy="layered")])
    done = agent.invoke(ask(QUESTION))
    first = model.seen[0]
    assert "Fridays" in str(first[0].content)
    assert [m.type for m in first] == ["system", "human", "human"]
    assert PREFERENCE in str(first[1].content)
    found = next(m for m in done["messages"] if isinstance(m, ToolMessage))
    assert "Fridays" in str(found.content)


def test_the_phased_policy_adds_corrections_at_the_end(h: Hindsight) -> None:
    h.store(PREFERENCE, category="preference")
    h.store("Not ounces: the user prefers grams for units in recipes", category="correction")
    model = ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "ok"])
    agent = create_agent(model, [lookup], middleware=[HindsightMiddleware(h, policy=BY_PHASE)])
    agent.invoke(ask(QUESTION))
    first, second = ("\n".join(str(m.content) for m in seen) for seen in model.seen)
    assert PREFERENCE in first
    assert "ounces" not in first
    assert PREFERENCE in second
    assert "ounces" in second


def test_a_policy_of_ones_own_is_followed(h: Hindsight) -> None:
    h.store(PREFERENCE, category="preference")
    policy = Policy((Part(options={"categories": ("rule",)}),))
    model = ScriptedChat(script="ok")
    create_agent(model, [], middleware=[HindsightMiddleware(h, policy=policy)]).invoke(
        ask(QUESTION)
    )
    assert blocks(model.seen[0]) == 0


def test_an_unknown_policy_is_refused_with_the_known_ones(h: Hindsight) -> None:
    with pytest.raises(ValueError, match="by_phase"):
        HindsightMiddleware(h, policy="nowhere")


def test_a_summary_in_the_middle_of_a_turn_costs_no_second_recall(h: Hindsight) -> None:
    h.store(PREFERENCE, category="preference")
    model = ScriptedChat(
        script=lambda m: (
            "done" if len(model.seen) > 3 else calls(("lookup", {"item": "x"}, f"c{len(m)}"))
        )
    )
    agent = create_hindsight_agent(
        h, model, [lookup],
        middleware=[
            SummarizationMiddleware(
                ScriptedChat(script="a summary"), trigger=("messages", 3), keep=("messages", 1)
            )
        ],
    )  # fmt: skip
    agent.invoke(ask(QUESTION))
    assert all(blocks(messages) == 1 for messages in model.seen)
    waiting = h._scope.engine.recalls
    assert len(waiting) <= 1
    assert recorder_of(h).open_runs == 0


def test_phases_follow_the_tools() -> None:
    human, call, good = HumanMessage("q"), AIMessage(""), ToolMessage("ok", tool_call_id="1")
    bad = ToolMessage("no", tool_call_id="2", status="error")
    assert phases_of([human], has_tools=True) == {"start"}
    assert phases_of([human], has_tools=False) == {"start", "work", "end"}
    assert phases_of([human, call, good], has_tools=True) == {"start", "work", "end"}
    assert phases_of([human, call, good, bad], has_tools=True) == {"start", "work"}
    assert phases_of([human, call, good, human], has_tools=True) == {"start"}


def test_blocks_keep_content_that_is_a_list() -> None:
    system = SystemMessage([{"type": "text", "text": "a", "cache_control": {"type": "x"}}])
    human = HumanMessage([{"type": "text", "text": "q"}, {"type": "image_url", "image_url": "u"}])
    placed, messages = place(system, [human], [("system", "S"), ("user", "U")])
    assert placed is not None
    assert placed.content == [*system.content, {"type": "text", "text": "S"}]
    assert messages[0].content == [{"type": "text", "text": "U"}, *human.content]
    assert query_of([AIMessage("no")]) == ""
    alone, untouched = place(None, [AIMessage("x")], [("section", "S")])
    assert alone is not None
    assert (alone.content, len(untouched)) == ("S", 1)


def test_hooks_outside_of_a_run_still_recall(h: Hindsight) -> None:
    from langchain.agents.middleware import ModelRequest

    h.store(PREFERENCE, category="preference")
    own = HindsightMiddleware(h)
    request: Any = ModelRequest(model=ScriptedChat(script="x"), messages=[HumanMessage(QUESTION)])
    seen: list[Any] = []
    own.wrap_model_call(request, lambda r: seen.append(r) or AIMessage("x"))  # type: ignore[arg-type, return-value]
    assert PREFERENCE in seen[0].system_message.content
    assert request.system_message is None
