"""What the handler makes of runs of every sort: one episode each, whole, and whose it is."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
)
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from lc_scripted import ScriptedChat, ask, broken, calls, journaled, lookup

from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.store.base import Put
from hindsight_langchain import (
    HindsightCallbackHandler,
    HindsightMiddleware,
    create_hindsight_agent,
    recording,
    reflection_model,
    with_hindsight,
)
from hindsight_langchain.recorder import Recorder, recorder_of

REACT = PromptTemplate.from_template(
    "{tools} {tool_names}\nQuestion: {input}\nThought:{agent_scratchpad}"
)


def react_executor(replies: list[str], tools: list[Any], **options: Any) -> AgentExecutor:
    left = iter(replies)
    model = ScriptedChat(script=lambda messages: next(left))
    return AgentExecutor(agent=create_react_agent(model, tools, REACT), tools=tools, **options)


@tool
def slow_echo(item: str) -> str:
    """Say the item, the first one last."""
    if item == "bad":
        raise ValueError("bad item")
    return f"result of {item}"


slow_echo.handle_tool_error = True


def test_a_classic_executor_run_is_one_episode_with_its_calls(h: Hindsight, runs: Any) -> None:
    executor = react_executor(
        ["I look.\nAction: lookup\nAction Input: tea", "I know.\nFinal Answer: 7"], [lookup]
    )
    executor.invoke({"input": "Price of tea?"}, {"callbacks": [HindsightCallbackHandler(h)]})
    (run,) = runs()
    assert [s.kind for s in run.steps] == [
        "user", "assistant", "assistant", "tool_result", "assistant",
    ]  # fmt: skip
    call = run.steps[2].tool_calls[0]
    assert (call.name, run.steps[3].tool_call_id) == ("lookup", call.id)
    assert run.steps[3].text == "tea costs 7"
    assert run.task == "Price of tea?"


def test_a_handler_that_a_constructor_took_hears_of_the_tools_too(h: Hindsight, runs: Any) -> None:
    executor = react_executor(
        ["Action: lookup\nAction Input: tea", "Final Answer: 7"],
        [lookup],
        callbacks=[HindsightCallbackHandler(h)],
    )
    executor.invoke({"input": "Price of tea?"})
    (run,) = runs()
    assert [s.text for s in run.steps if s.kind == "tool_result"] == ["tea costs 7"]


def test_a_classic_executor_at_its_limit_is_incomplete(h: Hindsight, runs: Any) -> None:
    executor = react_executor(["Action: lookup\nAction Input: tea"] * 9, [lookup], max_iterations=2)
    executor.invoke({"input": "Price of tea?"}, {"callbacks": [HindsightCallbackHandler(h)]})
    (run,) = runs()
    assert (run.outcome.label, run.metadata["ending"]) == ("incomplete", "step_limit")


def test_a_call_limit_that_ends_a_run_is_incomplete(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(
        h,
        ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1"))]),
        [lookup],
        middleware=[ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")],
    )
    agent.invoke(ask("Price of tea?"))
    assert [run.outcome.label for run in runs()] == ["incomplete"]


def test_a_chain_is_asked_its_question_and_its_prompt_is_not_learned(
    h: Hindsight, runs: Any
) -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{question}!")])
    chain = prompt | ScriptedChat(script="Oslo") | StrOutputParser()
    chain.invoke({"question": "Capital of Norway?"}, {"callbacks": [HindsightCallbackHandler(h)]})
    (run,) = runs()
    assert [(s.kind, s.text) for s in run.steps] == [
        ("user", "Capital of Norway?"),
        ("assistant", "Oslo"),
    ]


def test_a_chain_without_a_model_keeps_its_answer(h: Hindsight, runs: Any) -> None:
    RunnableLambda(lambda text: text.upper()).invoke(
        "hello there", {"callbacks": [HindsightCallbackHandler(h)]}
    )
    assert [s.text for s in runs()[0].steps] == ["hello there", "HELLO THERE"]


def test_a_bare_model_is_a_run_too(h: Hindsight, runs: Any) -> None:
    ScriptedChat(script="Oslo").invoke(
        "Capital of Norway?", {"callbacks": [HindsightCallbackHandler(h)]}
    )
    assert [s.text for s in runs()[0].steps] == ["Capital of Norway?", "Oslo"]


def test_parallel_calls_are_paired_with_their_results(h: Hindsight, runs: Any) -> None:
    gate = threading.Barrier(3, timeout=20)

    @tool
    def wait(item: str) -> str:
        """Return when all three are there."""
        gate.wait()
        if item == "b":
            raise ValueError("b is broken")
        return f"result of {item}"

    @tool
    def tolerant(item: str) -> str:
        """Fail softly."""
        return wait.func(item)

    agent = create_agent(
        ScriptedChat(
            script=[
                calls(*((("wait", {"item": i}, f"c-{i}")) for i in "abc")),
                "done",
            ]
        ),
        [wait],
    )
    with pytest.raises(ValueError, match="b is broken"):
        with_hindsight(agent, h).invoke(ask("go"))
    (run,) = runs()
    results = {s.tool_call_id: s for s in run.steps if s.kind == "tool_result"}
    assert [run.steps[1].tool_calls[i].id for i in range(3)] == ["c-a", "c-b", "c-c"]
    assert results["c-b"].is_error
    assert "b is broken" in results["c-b"].text
    for item in "ac":
        assert f"c-{item}" not in results or results[f"c-{item}"].text == f"result of {item}"
    assert run.outcome.reason == 'wait(item="b") raised ValueError: b is broken'


def test_the_same_handler_attached_twice_counts_once(h: Hindsight, runs: Any) -> None:
    handler = HindsightCallbackHandler(h)
    agent = create_agent(ScriptedChat(script="hello"), []).with_config(callbacks=[handler])
    agent.invoke(ask("hi there"), {"callbacks": [handler, HindsightCallbackHandler(h)]})
    (run,) = runs()
    assert [s.kind for s in run.steps] == ["user", "assistant"]


def test_a_sub_agent_is_part_of_its_parents_episode_and_labeled(h: Hindsight, runs: Any) -> None:
    deepest = create_agent(ScriptedChat(script="deep answer"), [], name="deepest")

    @tool
    def dig(item: str) -> str:
        """Ask the deepest agent."""
        return str(deepest.invoke(ask(f"Dig for {item}"))["messages"][-1].content)

    script = [calls(("dig", {"item": "x"}, "d1")), "summary of x"]
    inner = create_agent(
        ScriptedChat(script=script), [dig], name="reader", middleware=[HindsightMiddleware(h)]
    )

    @tool
    def summarize(item: str) -> str:
        """Ask the reader."""
        return str(inner.invoke(ask(f"Summarise file {item}"))["messages"][-1].content)

    outer = create_hindsight_agent(
        h,
        ScriptedChat(script=[calls(("summarize", {"item": "x"}, "s1")), "All done."]),
        [summarize],
        name="boss",
    )
    outer.invoke(ask("What is in x?"))
    (run,) = runs()
    assert run.task == "What is in x?"
    agents = [(s.kind, s.agent) for s in run.steps]
    assert ("user", "reader") in agents
    assert ("user", "deepest") in agents
    assert ("assistant", "deepest") in agents
    assert [s.text for s in run.steps if s.kind == "user" and not s.agent] == ["What is in x?"]
    assert run.steps[-1].agent == ""
    by_call = {s.tool_call_id: s.text for s in run.steps if s.kind == "tool_result"}
    assert by_call == {"d1": "deep answer", "s1": "summary of x"}


def test_an_agent_as_a_node_is_labeled(h: Hindsight, runs: Any) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("writer", create_agent(ScriptedChat(script="a poem"), [], name="writer"))
    graph.add_edge(START, "writer")
    with_hindsight(graph.compile(), h).invoke(ask("Write"))
    (run,) = runs()
    assert [(s.kind, s.agent) for s in run.steps] == [("user", ""), ("assistant", "writer")]


def test_an_inner_agent_in_a_bare_thread_never_mixes_with_the_outer_run(
    h: Hindsight, runs: Any
) -> None:
    inner = create_agent(ScriptedChat(script="inner answer"), [])
    handler = HindsightCallbackHandler(h)

    @tool
    def elsewhere(item: str) -> str:
        """Ask in a bare thread."""
        thread = threading.Thread(
            target=lambda: inner.invoke(ask("inner task"), {"callbacks": [handler]})
        )
        thread.start()
        thread.join(20)
        return "started"

    outer = create_agent(
        ScriptedChat(script=[calls(("elsewhere", {"item": "x"}, "c1")), "outer answer"]),
        [elsewhere],
    )
    outer.invoke(ask("outer task"), {"callbacks": [handler]})
    assert {run.task: [s.text for s in run.steps][-1] for run in runs()} == {
        "inner task": "inner answer",
        "outer task": "outer answer",
    }


def test_with_a_checkpointer_each_run_has_only_its_own_messages(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(
        h, ScriptedChat(script=lambda m: f"answer {len(m)}"), [], checkpointer=InMemorySaver()
    )
    for turn in range(4):
        agent.invoke(ask(f"fact {turn}"), {"configurable": {"thread_id": "t"}})
    assert [len(run.steps) for run in runs()] == [2, 2, 2, 2]
    assert [run.task for run in runs()] == [f"fact {turn}" for turn in range(4)]
    assert {run.session_id for run in runs()} == {"t"}


def test_a_whole_conversation_handed_over_each_turn_is_cut_to_its_end(
    h: Hindsight, runs: Any
) -> None:
    agent = with_hindsight(create_agent(ScriptedChat(script="fine"), []), h)
    history: list[Any] = []
    for turn in range(3):
        history = agent.invoke({"messages": [*history, HumanMessage(f"fact {turn}")]})["messages"]
    assert [[s.text for s in run.steps] for run in runs()] == [
        [f"fact {turn}", "fine"] for turn in range(3)
    ]


def test_a_person_who_refuses_a_call_is_part_of_the_run(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(
        h,
        ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "Then not."]),
        [lookup],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"lookup": True})],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke(ask("Price of tea?"), config)
    assert runs() == []
    refusal = {"decisions": [{"type": "reject", "message": "Always ask the supplier instead"}]}
    agent.invoke(Command(resume=refusal), config)
    (run,) = runs()
    assert any("ask the supplier" in s.text for s in run.steps if s.kind == "user")
    assert any(s.kind == "tool_result" and s.tool_call_id == "c1" for s in run.steps)
    assert run.steps[-1].text == "Then not."


def test_a_static_interrupt_is_a_pause_and_a_new_question_ends_it(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(
        h,
        ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "7"]),
        [lookup],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke(ask("Price of tea?"), config)
    assert runs() == []
    agent.invoke(None, config)
    assert [run.metadata["ending"] for run in runs()] == ["finished"]
    other: Any = {"configurable": {"thread_id": "u"}}
    agent.invoke(ask("Price of tea?"), other)
    agent.invoke(ask("Never mind, hello"), other)
    assert [run.metadata["ending"] for run in runs()][:2] == ["finished", "paused"]


def test_a_pause_is_resumed_only_by_its_own_user(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(
        h,
        ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "7"]),
        [lookup],
        interrupt_before=["tools"],
        checkpointer=InMemorySaver(),
    )
    thread = {"thread_id": "t"}
    agent.invoke(ask("Price?"), {"configurable": thread, "metadata": {"user_id": "ann"}})
    agent.invoke(None, {"configurable": thread, "metadata": {"user_id": "bob"}})
    assert runs("ann") == []
    recorder_of(h).settle()
    assert [run.metadata["ending"] for run in runs("ann")] == ["paused"]
    assert all(s.text != "Price?" for run in runs("bob") for s in run.steps)


def test_a_model_that_is_replaced_by_a_fallback_leaves_an_error_step(
    h: Hindsight, runs: Any
) -> None:
    agent = create_hindsight_agent(
        h,
        ScriptedChat(script=RuntimeError("overloaded")),
        [],
        middleware=[ModelFallbackMiddleware(ScriptedChat(script="from the second"))],
    )
    assert agent.invoke(ask("hi there"))["messages"][-1].content == "from the second"
    (run,) = runs()
    assert [s.kind for s in run.steps] == ["user", "error", "assistant"]
    assert run.outcome.label == "unknown"


async def test_a_cancelled_task_gets_its_cancellation_and_the_run_is_kept(
    h: Hindsight, runs: Any
) -> None:
    begun = asyncio.Event()

    @tool
    async def forever(item: str) -> str:
        """Never return."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    agent = create_hindsight_agent(
        h, ScriptedChat(script=[calls(("forever", {"item": "x"}, "c1")), "-"]), [forever]
    )
    task = asyncio.create_task(agent.ainvoke(ask("wait")))
    await asyncio.wait_for(begun.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (run,) = runs()
    assert run.metadata["ending"] == "cancelled"
    assert recorder_of(h).open_runs == 0


def test_a_stream_that_is_never_read_leaves_nothing(h: Hindsight, runs: Any) -> None:
    agent = create_hindsight_agent(h, ScriptedChat(script="hello"), [])
    stream = agent.stream(ask("hi there"))
    del stream
    assert runs() == []
    assert recorder_of(h).open_runs == 0


def test_twenty_runs_at_once_on_one_handler_stay_apart(h: Hindsight, runs: Any) -> None:
    handler = HindsightCallbackHandler(h)
    gate = threading.Barrier(10, timeout=30)

    @tool
    def mark(item: str) -> str:
        """Wait for the others."""
        gate.wait()
        return f"secret of {item}"

    @tool
    async def amark(item: str) -> str:
        """Let the others go on."""
        await asyncio.sleep(0)
        return f"secret of {item}"

    def agent_of(name: str) -> Any:
        def script(messages: list[Any]) -> Any:
            if isinstance(messages[-1], ToolMessage):
                return f"answer for {messages[0].content}"
            return calls((name, {"item": messages[0].content}, "same-id"))

        return create_agent(ScriptedChat(script=script), [mark if name == "mark" else amark])

    def config(user: str) -> Any:
        return {"callbacks": [handler], "metadata": {"user_id": user}}

    sync_agent, async_agent = agent_of("mark"), agent_of("amark")
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda n: sync_agent.invoke(ask(f"u{n}"), config(f"u{n}")), range(10)))

    async def all_at_once() -> None:
        await asyncio.gather(
            *(async_agent.ainvoke(ask(f"u{n}"), config(f"u{n}")) for n in range(10, 20))
        )

    asyncio.run(all_at_once())
    for number in range(20):
        (run,) = runs(f"u{number}")
        own = f"u{number}"
        assert [s.text for s in run.steps] == [own, "", f"secret of {own}", f"answer for {own}"]
    assert runs() == []
    assert handler.open_runs == 0


def test_a_run_without_the_id_that_a_template_needs_is_refused_and_counted(
    h: Hindsight, runs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler = HindsightCallbackHandler(h, namespace=(*h.namespace.parts, "{user_id}"))
    agent = create_agent(ScriptedChat(script="hello"), [])
    before = h.stats().failures.get("recording", 0)
    agent.invoke(ask("whose am I?"), {"callbacks": [handler]})
    assert h.stats().failures["recording"] == before + 1
    assert [r.message for r in caplog.records if "user_id" in r.message]
    assert len(caplog.records) == 1
    assert runs() == []
    agent.invoke(ask("whose am I?"), {"callbacks": [handler], "metadata": {"user_id": "ann"}})
    assert len(runs("ann")) == 1


def test_what_the_recorder_holds_is_flat_though_runs_never_end(
    opened: Any,
) -> None:
    memory = opened()
    recorder = Recorder(memory, max_open=32)
    handler = HindsightCallbackHandler(memory)
    handler._recorder = recorder

    def play(count: int) -> None:
        for number in range(count):
            root, model = uuid4(), uuid4()
            handler.on_chain_start(None, ask(f"question {number}"), run_id=root, metadata={})
            handler.on_chat_model_start(
                None, [[HumanMessage("x" * 500)]], run_id=model, parent_run_id=root
            )
            if number % 10:
                handler.on_llm_error(ValueError("no"), run_id=model)
                handler.on_chain_end({"output": "done"}, run_id=root)

    def held() -> int:
        gc.collect()
        own = tracemalloc.Filter(True, "*hindsight_langchain*")
        found = tracemalloc.take_snapshot().filter_traces([own])
        return sum(one.size for one in found.statistics("filename"))

    tracemalloc.start()
    try:
        play(400)
        before, open_before = held(), handler.open_runs
        play(600)
        after = held()
    finally:
        tracemalloc.stop()
    assert open_before <= 2 * 32
    assert handler.open_runs <= 2 * 32
    assert after - before < 20_000
    recorder.settle()
    assert handler.open_runs == 0
    found = [run for run in journaled(memory) if run.metadata["ending"] == "lost"]
    assert len(found) == 100


def test_closing_the_memory_keeps_what_is_paused(opened: Any) -> None:
    memory = opened()
    agent = create_hindsight_agent(
        memory,
        ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "7"]),
        [lookup],
        interrupt_before=["tools"],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(ask("Price of tea?"), {"configurable": {"thread_id": "t"}})
    journal = memory._scope.engine.journal.path
    memory.close()
    with Hindsight.open(
        journal.parent, namespace="acme", embedder=memory._scope.engine.dense
    ) as again:
        assert [run.metadata["ending"] for run in journaled(again)] == ["paused"]


def test_a_closed_memory_never_reaches_the_users_run(opened: Any) -> None:
    memory = opened()
    agent = create_hindsight_agent(memory, ScriptedChat(script="hello"), [])
    memory.close()
    assert agent.invoke(ask("hi there"))["messages"][-1].content == "hello"


def test_strict_raises_into_the_run(opened: Any) -> None:
    memory = opened(settings=Settings(strict=True, drain_seconds=1.0))
    handler = HindsightCallbackHandler(memory, namespace=("acme", "{user_id}"))
    agent = create_agent(ScriptedChat(script="hello"), [])
    with pytest.raises(ValueError, match="user_id"):
        agent.invoke(ask("hi there"), {"callbacks": [handler]})


def test_a_validator_that_fails_costs_only_the_verdict(h: Hindsight, runs: Any) -> None:
    def judge(run: Any) -> bool:
        raise RuntimeError("judge is ill")

    agent = create_hindsight_agent(h, ScriptedChat(script="hello"), [], validator=judge)
    agent.invoke(ask("hi there"))
    assert runs()[0].outcome.label == "unknown"
    assert "judge is ill" in h.stats().last_failures["validator"]


@pytest.mark.parametrize(
    ("verdict", "label"), [(True, "success"), (False, "failure"), ("partial", "partial")]
)
def test_a_validator_says_how_a_run_went(h: Hindsight, runs: Any, verdict: Any, label: str) -> None:
    chain = with_hindsight(RunnableLambda(lambda x: x), h, validator=lambda run: verdict)
    chain.invoke("do it")
    assert (runs()[0].outcome.label, runs()[0].outcome.source) == (label, "validator")


def test_a_block_records_what_runs_inside_it(h: Hindsight, runs: Any) -> None:
    agent = create_agent(ScriptedChat(script="hello"), [])
    with recording(h):
        agent.invoke(ask("inside the block"))
    agent.invoke(ask("outside"))
    assert [run.task for run in runs()] == ["inside the block"]


def test_a_reflection_by_a_model_with_the_handler_attached_records_no_run(opened: Any) -> None:
    model = ScriptedChat(script='{"lessons": []}')
    memory = opened(model=reflection_model(model))
    model.callbacks = [HindsightCallbackHandler(memory)]
    with_hindsight(create_agent(ScriptedChat(script="Oslo, as always"), []), memory).invoke(
        ask("Remember that I always want the capital of Norway in capitals")
    )
    assert memory.flush(30)
    assert len(model.seen) == 1
    assert len(journaled(memory)) == 1


def test_no_handler_writes_to_the_log_when_all_is_well(
    h: Hindsight, caplog: pytest.LogCaptureFixture
) -> None:
    class Silent(BaseCallbackHandler):
        pass

    agent = create_hindsight_agent(
        h, ScriptedChat(script=[calls(("lookup", {"item": "tea"}, "c1")), "7"]), [lookup]
    )
    agent.invoke(ask("Price of tea?"), {"callbacks": [Silent()]})
    assert caplog.records == []


def test_a_store_that_fails_during_reflection_leaves_the_answer_and_is_counted(
    opened: Any, tmp_path: Any, embedder: Any
) -> None:
    from hindsight_core.store.base import Schema
    from hindsight_core.store.edge import EdgeStore
    from hindsight_core.testing import FaultyStore

    inner = EdgeStore.open(tmp_path / "store", Schema(embedder.name, embedder.dimension))
    memory = opened(store=FaultyStore(inner, lambda op, _: isinstance(op, Put)))
    agent = create_hindsight_agent(
        memory, ScriptedChat(script=[calls(("broken", {"item": "x"}, "c1")), "-"]), [broken]
    )
    with pytest.raises(ValueError, match="no such item: x"):
        agent.invoke(ask("try the broken tool"))
    memory.flush(5)
    assert memory.stats().journal.done == 0
    assert len(journaled(memory)) == 1


def test_the_prompt_of_a_graph_node_is_no_answer_of_the_run(h: Hindsight, runs: Any) -> None:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("made by hand")]}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    with_hindsight(graph.compile(), h).invoke(ask("go"))
    assert [s.text for s in runs()[0].steps] == ["go", "made by hand"]
