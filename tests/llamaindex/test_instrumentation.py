"""One episode for each outermost run, with its calls, its errors and how it ended."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import ScriptedLLM
from workflows import Workflow, step
from workflows.errors import WorkflowCancelledByUser, WorkflowRuntimeError, WorkflowTimeoutError
from workflows.events import StartEvent, StopEvent

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.runs.journal import JournaledRun
from hindsight_core.store.base import Put
from hindsight_core.testing import FaultyStore
from hindsight_core.trajectory import Outcome, Trajectory
from hindsight_llamaindex import (
    HindsightMemory,
    Instrumentation,
    current_run_id,
    instrument,
)
from hindsight_llamaindex.instrumentation import HindsightSpanHandler

Runs = Callable[[], list[JournaledRun]]


def kinds(run: Trajectory) -> list[tuple[str, str]]:
    return [(step.kind, step.text) for step in run.steps]


def read(path: str) -> str:
    """Read a file."""
    if path == "bad":
        raise ValueError("no such file")
    return f"content of {path}"


async def test_a_run_with_a_tool_is_one_episode(instrumented: Instrumentation, runs: Runs) -> None:
    llm = ScriptedLLM(replies=[[("c1", "read", {"path": "a.txt"})], "It says a."])
    await FunctionAgent(tools=[read], llm=llm).run("What is in a.txt?")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert kinds(run) == [
        ("user", "What is in a.txt?"),
        ("assistant", ""),
        ("tool_result", "content of a.txt"),
        ("assistant", "It says a."),
    ]
    assert run.steps[1].tool_calls[0].arguments == {"path": "a.txt"}
    assert run.steps[2].tool_call_id == run.steps[1].tool_calls[0].id
    assert (run.task, run.outcome.label, run.outcome.source) == (
        "What is in a.txt?",
        "unknown",
        "rule",
    )
    assert run.started_at is not None
    assert instrumented.open_spans == 0


async def test_the_run_has_the_id_that_its_handler_shows(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    seen: list[str] = []

    def look() -> str:
        """Look."""
        seen.append(current_run_id())
        return "x"

    llm = ScriptedLLM(replies=[[("c1", "look", {})], "Done."])
    handler = FunctionAgent(tools=[look], llm=llm).run("Look around you")
    await handler
    assert [run.run_id for run in runs()] == [handler.run_id] == seen
    assert current_run_id() == ""


async def test_a_tool_that_fails_inside_a_run_that_goes_on(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(
        replies=[[("c1", "read", {"path": "bad"})], [("c2", "read", {"path": "good"})], "Done."]
    )
    await FunctionAgent(tools=[read], llm=llm).run("Read the file")
    (run,) = [journaled.trajectory for journaled in runs()]
    results = [(s.text, s.is_error) for s in run.steps if s.kind == "tool_result"]
    assert results == [("ValueError: no such file", True), ("content of good", False)]
    assert run.outcome.label == "unknown"


def read_csv(path: str, encoding: str) -> str:
    """Read a table."""
    if encoding != "gb18030":
        raise ValueError("'utf-8' codec can't decode byte 0xd4")
    return "412 rows"


async def test_what_a_run_learns_from_a_failed_call_is_recalled_by_the_next(
    h: Hindsight, instrumented: Instrumentation
) -> None:
    calls = [
        [(f"c{n}", "read_csv", {"path": "sales.csv", "encoding": encoding})]
        for n, encoding in enumerate(("utf-8", "gb18030"))
    ]
    llm = ScriptedLLM(replies=[*calls, "The total is 18,250."])
    memory = HindsightMemory.from_defaults(hindsight=h)
    await FunctionAgent(tools=[read_csv], llm=llm).run(
        "Load sales.csv and add it up", memory=memory
    )
    assert await h.aflush(30)
    second = ScriptedLLM(replies=["Done."])
    memory = HindsightMemory.from_defaults(hindsight=h)
    agent = FunctionAgent(tools=[read_csv], llm=second)
    await agent.run("Load orders.csv and add it up", memory=memory)
    assert "gb18030" in (second.seen[0][0].content or "")


async def test_a_tool_that_is_not_there_is_an_error_of_the_call(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(replies=[[("c1", "write", {})], "I can't."])
    await FunctionAgent(tools=[read], llm=llm).run("Write the file")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert [step.is_error for step in run.steps if step.kind == "tool_result"] == [True]


async def test_parallel_calls_keep_their_own_results_in_the_order_of_the_calls(
    instrumented: Instrumentation, runs: Runs
) -> None:
    turn = asyncio.Condition()
    order: list[str] = []

    async def fetch(name: str) -> str:
        """Fetch something; the last one asked is the first to answer."""
        wanted = {"a": 2, "b": 1, "c": 0}[name]
        async with turn:
            await turn.wait_for(lambda: len(order) == wanted)
            order.append(name)
            turn.notify_all()
        if name == "b":
            raise ValueError("b is gone")
        return f"result of {name}"

    calls = [(f"c{n}", "fetch", {"name": n}) for n in ("a", "b", "c")]
    llm = ScriptedLLM(replies=[calls, "Done."])
    await FunctionAgent(tools=[fetch], llm=llm).run("Fetch all three")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert order == ["c", "b", "a"]
    found = [(s.tool_call_id, s.text, s.is_error) for s in run.steps if s.kind == "tool_result"]
    assert found == [
        ("ca", "result of a", False),
        ("cb", "ValueError: b is gone", True),
        ("cc", "result of c", False),
    ]


async def test_the_limit_of_iterations_leaves_a_run_incomplete(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(replies=[[("c1", "read", {"path": "a"})]])
    agent = FunctionAgent(tools=[read], llm=llm)
    with pytest.raises(WorkflowRuntimeError, match="Max iterations"):
        await agent.run("Read a for ever", max_iterations=2)
    (run,) = [journaled.trajectory for journaled in runs()]
    assert (run.outcome.label, run.outcome.source) == ("incomplete", "rule")
    assert not any(step.kind == "error" for step in run.steps)


async def test_an_answer_that_the_limit_forced_leaves_a_run_incomplete(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(
        replies=[[("c1", "read", {"path": "a"})], [("c2", "read", {"path": "b"})], "?"]
    )
    agent = FunctionAgent(tools=[read], llm=llm, early_stopping_method="generate")
    await agent.run("Read everything there is", max_iterations=2)
    (run,) = [journaled.trajectory for journaled in runs()]
    assert run.outcome.label == "incomplete"
    assert run.steps[-1].text == "?"
    assert "no result recorded for read" in [step.text for step in run.steps]


async def test_a_result_that_is_returned_directly_is_an_answer(
    instrumented: Instrumentation, runs: Runs
) -> None:
    tool = FunctionTool.from_defaults(read, return_direct=True)
    llm = ScriptedLLM(replies=[[("c1", "read", {"path": "a"})]])
    await FunctionAgent(tools=[tool], llm=llm).run("Read the file a")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert (run.outcome.label, run.steps[-1].kind) == ("unknown", "assistant")
    assert run.steps[-1].text == "content of a"


async def test_a_run_out_of_time_is_incomplete(instrumented: Instrumentation, runs: Runs) -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    llm = ScriptedLLM(replies=[[("c1", "wait", {})]])
    with pytest.raises(WorkflowTimeoutError):
        await FunctionAgent(tools=[wait], llm=llm, timeout=0.3).run("Wait for the others")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert run.outcome.label == "incomplete"
    assert "time was up" in run.outcome.reason


async def cancelled_by_handler(handler: Any) -> None:
    await handler.cancel_run()
    with pytest.raises(WorkflowCancelledByUser):
        await handler


async def cancelled_by_task(handler: Any) -> None:
    async def run() -> None:
        await handler

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.gather(handler, return_exceptions=True)


@pytest.mark.parametrize("cancel", [cancelled_by_handler, cancelled_by_task])
async def test_a_cancelled_run_is_abandoned_and_keeps_what_it_did(
    instrumented: Instrumentation, runs: Runs, cancel: Callable[[Any], Any]
) -> None:
    started = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.Event().wait()
        return "never"

    llm = ScriptedLLM(replies=[[("c1", "wait", {})]])
    handler = FunctionAgent(tools=[wait], llm=llm).run("Wait for the others")
    await started.wait()
    await cancel(handler)
    (run,) = [journaled.trajectory for journaled in runs()]
    assert (run.outcome.label, run.task) == ("abandoned", "Wait for the others")
    assert run.tools_used == ("wait",)
    assert instrumented.open_spans == 0


async def test_an_exception_of_the_model_is_a_failure(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(replies=[RuntimeError("quota exceeded")])
    with pytest.raises(RuntimeError, match="quota"):
        await FunctionAgent(tools=[read], llm=llm).run("Read the file a")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert (run.outcome.label, run.outcome.source) == ("failure", "exception")
    assert run.steps[-1] == type(run.steps[-1])("error", "RuntimeError: quota exceeded")


async def test_the_thoughts_of_a_react_agent_are_steps_and_its_answer_is_clean(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(
        replies=[
            'Thought: I need a.\nAction: read\nAction Input: {"path": "a"}',
            "Thought: I know.\nAnswer: It says a.",
        ]
    )
    await ReActAgent(tools=[read], llm=llm).run("What is in a?")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert [kind for kind, _ in kinds(run)] == ["user", "assistant", "tool_result", "assistant"]
    assert run.steps[-1].text == "It says a."


async def test_agents_of_one_workflow_share_one_episode(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(
        replies=[
            [("c1", "handoff", {"to_agent": "writer", "reason": "it writes"})],
            [("c2", "read", {"path": "a"})],
            "Written.",
        ]
    )
    boss = FunctionAgent(name="boss", description="asks", llm=llm, can_handoff_to=["writer"])
    writer = FunctionAgent(name="writer", description="writes", llm=llm, tools=[read])
    await AgentWorkflow(agents=[boss, writer], root_agent="boss").run("Write a summary of a")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert run.tools_used == ("handoff", "read")
    assert run.steps[-1].text == "Written."


async def test_an_agent_inside_a_tool_is_a_labelled_part_of_the_outermost_run(
    instrumented: Instrumentation, runs: Runs
) -> None:
    inner_llm = ScriptedLLM(replies=[[("c1", "read", {"path": "X"})], "Summary of X."])
    inner = FunctionAgent(name="summarizer", tools=[read], llm=inner_llm)

    async def summarize(path: str) -> str:
        """Summarize a file."""
        return str(await inner.run(f"Summarize file {path}"))

    llm = ScriptedLLM(replies=[[("c1", "summarize", {"path": "X"})], "Here it is."])
    await FunctionAgent(tools=[summarize], llm=llm).run("What does X say?")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert [(s.kind, s.agent) for s in run.steps] == [
        ("user", ""),
        ("assistant", ""),
        ("user", "summarizer"),
        ("assistant", "summarizer"),
        ("tool_result", "summarizer"),
        ("assistant", "summarizer"),
        ("tool_result", ""),
        ("assistant", ""),
    ]
    assert run.steps[4].text == "content of X"
    assert run.steps[6].text == "Summary of X."
    assert run.task == "What does X say?"


async def test_an_inner_agent_in_a_bare_thread_is_a_run_of_its_own_and_nothing_hangs(
    instrumented: Instrumentation, runs: Runs
) -> None:
    inner = FunctionAgent(tools=[], llm=ScriptedLLM(replies=["Inner answer."]))

    def delegate() -> str:
        """Delegate."""
        found: list[str] = []

        def work() -> None:
            async def main() -> None:
                found.append(str(await inner.run("Do the inner work")))

            asyncio.run(main())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

    llm = ScriptedLLM(replies=[[("c1", "delegate", {})], "Outer answer."])
    await FunctionAgent(tools=[delegate], llm=llm).run("Do the outer work")
    tasks = {run.trajectory.task: run.trajectory for run in runs()}
    assert set(tasks) == {"Do the inner work", "Do the outer work"}
    assert [s.text for s in tasks["Do the outer work"].steps][-2:] == [
        "Inner answer.",
        "Outer answer.",
    ]
    assert len(tasks["Do the inner work"].steps) == 2


class Report(Workflow):
    """A workflow of the user's own: a chat engine and a tool in its steps."""

    @step
    async def only(self, ev: StartEvent) -> StopEvent:
        await FunctionTool.from_defaults(read).acall(path="a")
        if ev.get("fails", default=False):
            await FunctionTool.from_defaults(read).acall(path="bad")
        engine = SimpleChatEngine.from_defaults(
            llm=ScriptedLLM(replies=["Part one."]),
            memory=ChatMemoryBuffer.from_defaults(token_limit=1_000),
        )
        part = await engine.achat("Write part one")
        return StopEvent(result=f"Report: {part}")


async def test_a_workflow_of_ones_own_is_a_run_with_its_tools_and_inner_chats(
    instrumented: Instrumentation, runs: Runs
) -> None:
    await Report().run(topic="Sales of May")
    (run,) = [journaled.trajectory for journaled in runs()]
    assert [(s.kind, s.text, s.agent) for s in run.steps] == [
        ("user", "Sales of May", ""),
        ("assistant", "", ""),
        ("tool_result", "content of a", ""),
        ("user", "Write part one", "SimpleChatEngine"),
        ("assistant", "Part one.", "SimpleChatEngine"),
        ("assistant", "Report: Part one.", ""),
    ]


async def test_a_workflow_of_ones_own_that_fails_shows_the_call_that_failed(
    instrumented: Instrumentation, runs: Runs
) -> None:
    with pytest.raises(ValueError, match="no such file"):
        await Report().run(amount=3, fails=True)
    (run,) = [journaled.trajectory for journaled in runs()]
    assert run.task == '{"amount": 3, "fails": true}'
    assert [s.text for s in run.steps if s.is_error] == ["ValueError: no such file"]
    assert run.outcome.label == "failure"


async def test_a_chat_is_a_run_and_the_answer_before_it_goes_along(
    instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(replies=["That is 2 cups of flour.", "That is 240 g of flour."])
    memory = ChatMemoryBuffer.from_defaults(token_limit=1_000)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    engine.chat("How much flour do I need?")
    await engine.achat("No, that's wrong. Give it in grams.")
    first, second = [journaled.trajectory for journaled in runs()]
    assert kinds(first) == [
        ("user", "How much flour do I need?"),
        ("assistant", "That is 2 cups of flour."),
    ]
    assert kinds(second) == [
        ("assistant", "That is 2 cups of flour."),
        ("user", "No, that's wrong. Give it in grams."),
        ("assistant", "That is 240 g of flour."),
    ]
    assert second.task == "No, that's wrong. Give it in grams."


async def test_each_turn_of_a_long_conversation_holds_only_its_own_messages(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    memory = HindsightMemory.from_defaults(hindsight=h, token_limit=100_000)
    llm = ScriptedLLM(replies=["Noted, thank you."])
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    for number in range(10):
        await engine.achat(f"Server number {number} stands in rack {number}")
    trajectories = [journaled.trajectory for journaled in runs()]
    assert [len(run.steps) for run in trajectories] == [2] + [3] * 9
    assert len(memory.get_all()) == 20


async def test_a_user_in_the_tags_gets_the_run(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    llm = ScriptedLLM(replies=["Hello Alice, here is the plan."])
    with instrument_tags({"user_id": "alice", "session_id": "s1"}):
        await FunctionAgent(tools=[read], llm=llm).run("Make me a plan")
    (journaled,) = runs()
    assert journaled.namespace.parts == (*h.namespace.parts, "alice")
    assert journaled.trajectory.session_id == "s1"


async def test_a_run_goes_to_the_memory_that_is_used_in_it(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    memory = HindsightMemory.from_defaults(hindsight=h, user_id="bob", session_id="s2")
    llm = ScriptedLLM(replies=["Here is the plan."])
    with instrument_tags({"user_id": "alice"}):
        await FunctionAgent(tools=[read], llm=llm).run("Make me a plan", memory=memory)
    (journaled,) = runs()
    assert journaled.namespace.parts == (*h.namespace.parts, "bob")
    assert journaled.trajectory.session_id == "s2"


@pytest.mark.parametrize("user", ["", "{user_id}"])
async def test_a_run_of_nobody_in_particular_is_kept_from_everybody(
    failures: Any, instrumented: Instrumentation, runs: Runs, user: str
) -> None:
    llm = ScriptedLLM(replies=["Here is the plan."])
    with instrument_tags({"user_id": user}):
        await FunctionAgent(tools=[read], llm=llm).run("Make me a plan")
    assert runs() == []
    assert failures() == {"capture": 1}


async def test_instrumenting_twice_records_once(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    assert instrument(h) is instrumented
    assert instrument(h.scoped(h.namespace)) is instrumented
    await FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."])).run("Make a plan")
    assert len(runs()) == 1


async def test_two_memories_record_a_run_that_uses_neither_and_one_gets_its_own(
    opened: Any, h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    other = opened("other")
    instrument(other)
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    await agent.run("Make a plan")
    await agent.run("Make a plan B", memory=HindsightMemory.from_defaults(hindsight=h))
    elsewhere = other._scope.engine.journal.runs()
    assert [run.trajectory.task for run in elsewhere] == ["Make a plan"]
    assert [run.trajectory.task for run in runs()] == ["Make a plan", "Make a plan B"]


async def test_a_second_namespace_of_one_memory_is_refused(
    h: Hindsight, instrumented: Instrumentation
) -> None:
    with pytest.raises(ConfigurationError, match="instrument_tags"):
        instrument(h.for_user("alice"))
    instrumented.detach()
    with instrument(h.for_user("alice")) as again:
        assert again.is_attached
        assert again.hindsight.namespace.parts[-1] == "alice"


async def test_nothing_is_recorded_after_detaching_or_closing(opened: Any) -> None:
    h = opened()
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    with instrument(h) as attached:
        assert any(isinstance(x, HindsightSpanHandler) for x in get_dispatcher().span_handlers)
    attached.detach()
    await agent.run("Make a plan")
    assert h._scope.engine.journal.runs() == ()
    instrument(h)
    h.close()
    assert not any(isinstance(x, HindsightSpanHandler) for x in get_dispatcher().span_handlers)
    await agent.run("Make a plan")


async def test_a_run_under_way_is_kept_when_recording_stops(h: Hindsight, runs: Runs) -> None:
    attached = instrument(h)
    started, leave = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        started.set()
        await leave.wait()
        return "done"

    llm = ScriptedLLM(replies=[[("c1", "wait", {})], "Done."])
    handler = FunctionAgent(tools=[wait], llm=llm).run("Wait for the others")
    await started.wait()
    attached.detach()
    leave.set()
    await handler
    (run,) = [journaled.trajectory for journaled in runs()]
    assert (run.outcome.label, run.tools_used) == ("abandoned", ("wait",))


async def test_a_validator_says_how_a_run_turned_out(
    h: Hindsight, runs: Runs, failures: Any
) -> None:
    verdicts: list[Any] = [Outcome("success", "validator"), False, "partial", None, "great", 1 / 3]

    def check(run: Trajectory) -> Any:
        assert run.steps[-1].text == "Plan."
        return verdicts[len(runs())]

    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    with instrument(h, validator=check):
        for number, _ in enumerate(verdicts):
            await agent.run(f"Make plan number {number}")
    found = [(r.trajectory.outcome.label, r.trajectory.outcome.source) for r in runs()]
    assert found == [
        ("success", "validator"),
        ("failure", "validator"),
        ("partial", "validator"),
        ("unknown", "rule"),
        ("unknown", "rule"),
        ("unknown", "rule"),
    ]
    assert failures() == {"validator": 2}


async def test_the_outcome_is_credited_to_what_was_recalled_in_the_run(h: Hindsight) -> None:
    rule = h.store("When read fails on a report, read the copy", category="rule", confidence=0.7)
    memory = HindsightMemory.from_defaults(hindsight=h)
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Done."]))
    with instrument(h, validator=lambda run: True):
        await agent.run("Why does read fail on the report?", memory=memory)
    assert await h.aflush(30)
    after = h.get(rule.id)
    assert after is not None
    assert (after.success_count, after.access_count) == (1, 1)


async def test_a_failing_capture_leaves_the_answer_alone_and_is_counted(
    failures: Any,
    instrumented: Instrumentation,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("a new version of the framework")

    monkeypatch.setattr(type(instrumented._recorder), "leave", broken)
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    with caplog.at_level(logging.WARNING, "hindsight_core"):
        assert str(await agent.run("Make a plan")) == "Plan."
    assert failures()["capture"] > 0
    assert "a new version of the framework" in caplog.text


async def test_a_store_that_fails_leaves_the_run_in_the_journal(opened: Any) -> None:
    plain = opened("faulty")
    faulty = FaultyStore(plain._scope.engine.store, lambda op, count: isinstance(op, Put))
    h = opened("over", store=faulty)
    instrument(h)
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    assert str(await agent.run("Make a plan for the garden")) == "Plan."
    await h.aflush(5)
    (run,) = h._scope.engine.journal.runs()
    assert run.status != "done"
    assert run.trajectory.task == "Make a plan for the garden"


async def test_twenty_runs_that_echo_their_brief_teach_nothing_twice(
    knowing: Hindsight, instrumented: Instrumentation
) -> None:
    def echo(messages: Any) -> str:
        return f"You said: {messages[-1].content}"

    for _ in range(20):
        memory = HindsightMemory.from_defaults(hindsight=knowing)
        agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=[echo]))
        await agent.run("Convert the recipe to my units", memory=memory)
        assert all("hindsight-recall" not in str(m) for m in memory.get_all())
    assert await knowing.aflush(30)
    (preference,) = knowing.list(categories=["preference"]).memories
    assert preference.content == "The user always wants metric units in recipes"
    assert (preference.evidence, preference.version) == ((), preference.version)
    assert all("hindsight" not in m.content for m in knowing.list(limit=100).memories)


async def test_the_base_class_of_the_handler_is_given_nothing_to_keep(
    instrumented: Instrumentation,
) -> None:
    (handler,) = [x for x in get_dispatcher().span_handlers if isinstance(x, HindsightSpanHandler)]
    agent = FunctionAgent(tools=[read], llm=ScriptedLLM(replies=["Plan."]))
    await agent.run("Make a plan")
    assert (handler.open_spans, handler.completed_spans, handler.dropped_spans) == ({}, [], [])
    no_arguments = inspect.signature(lambda: None).bind()
    assert handler.new_span("A.run-1", no_arguments) is None
    assert handler.prepare_to_exit_span("A.run-1", no_arguments) is None
    assert handler.prepare_to_drop_span("A.run-1", no_arguments) is None
    assert instrumented.open_spans == 0
