"""Retriever, tools, classic memory, nodes, models and messages."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableParallel, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from lc_scripted import ScriptedChat, ask, calls, journaled, lookup

from hindsight_core.errors import NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_core.reflection.base import Prompt
from hindsight_core.safety.marks import MARK
from hindsight_core.testing import csv_run
from hindsight_langchain import (
    HindsightCallbackHandler,
    HindsightMemory,
    HindsightRetriever,
    assign_brief,
    embedder,
    hindsight_tools,
    recall_node,
    record_node,
    reflection_model,
    trajectory_from_messages,
    with_hindsight,
)
from hindsight_langchain.messages import answer_of, as_messages, choose_text, question_of

QUESTION = "Which units does the user prefer for recipes?"
PREFERENCE = "The user prefers metric units for recipes"
BRACES = 'The user prefers metric units for recipes: {"city": "Oslo"} {x} {} {{y}} {% if %}'
ANN: Any = {"metadata": {"user_id": "ann"}}


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _memory(self, h: Hindsight) -> None:
        for content in (PREFERENCE, "Tea costs 7", "Oslo is in Norway", "Deploys need the VPN"):
            h.store(content)
        type(self).opened = h

    opened: Hindsight

    @property
    def retriever_constructor(self) -> type[HindsightRetriever]:
        return HindsightRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"hindsight": self.opened, "options": {"abstain": False}}

    @property
    def retriever_query_example(self) -> str:
        return QUESTION


def tool_suites(name: str, verb: Any, params: Any) -> tuple[type, type]:
    class Base:
        opened: Hindsight
        known: str

        @pytest.fixture(autouse=True)
        def _memory(self, h: Hindsight) -> None:
            type(self).opened = h
            type(self).known = h.store(PREFERENCE).id

        @property
        def tool_constructor(self) -> Any:
            return hindsight_tools(self.opened, only=(verb,))[0]

        @property
        def tool_constructor_params(self) -> dict[str, Any]:
            return {}

        @property
        def tool_invoke_params_example(self) -> dict[str, Any]:
            return {key: value.format(id=self.known) if isinstance(value, str) else value
                    for key, value in params.items()}  # fmt: skip

    unit = type(f"TestUnit{name}", (Base, ToolsUnitTests), {})
    live = type(f"TestLive{name}", (Base, ToolsIntegrationTests), {})
    return unit, live


TestUnitStore, TestLiveStore = tool_suites("Store", "store", {"content": "Tea costs 7"})
TestUnitRetrieve, TestLiveRetrieve = tool_suites("Retrieve", "retrieve", {"query": QUESTION})
TestUnitFeedback, TestLiveFeedback = tool_suites(
    "Feedback", "feedback", {"memory_id": "{id}", "helpful": True}
)
TestUnitForget, TestLiveForget = tool_suites("Forget", "forget", {"memory_id": "{id}"})


def test_documents_say_what_they_are_and_survive_json(h: Hindsight) -> None:
    h.store(PREFERENCE, category="preference", tags=["units"], metadata={"n": 1})
    (found,) = HindsightRetriever(hindsight=h, k=1).invoke(QUESTION)
    data = json.loads(json.dumps(found.metadata))
    assert found.id == data["id"]
    assert found.page_content == PREFERENCE
    assert data["kind"] == "semantic"
    assert data["score"] > 0
    assert data["factors"]
    assert data["event_time"].endswith("+00:00")
    assert data["evidence"] == []
    assert data["namespace"] == list(h.namespace.parts)


async def test_a_retriever_works_in_every_shape_of_chain(h: Hindsight) -> None:
    h.for_user("ann").store(PREFERENCE)
    retriever = HindsightRetriever(hindsight=h)
    lines = retriever | (lambda documents: [d.page_content for d in documents])
    chain = RunnableParallel(known=lines, question=RunnablePassthrough())
    assert chain.invoke(QUESTION, ANN)["known"] == [PREFERENCE]
    assert (await chain.ainvoke(QUESTION, ANN))["known"] == [PREFERENCE]
    assert [r["known"] for r in chain.batch([QUESTION] * 2, ANN)] == [[PREFERENCE]] * 2
    assert retriever.invoke(QUESTION) == []
    assert retriever.invoke(QUESTION, {"metadata": {"user_id": "bob"}}) == []


def test_what_a_retriever_of_memories_found_is_not_recorded_but_other_documents_are(
    h: Hindsight, runs: Any
) -> None:
    from langchain_core.retrievers import BaseRetriever

    class Library(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("Flour is white")]

    h.store(PREFERENCE)
    chain = RunnableParallel(known=HindsightRetriever(hindsight=h), docs=Library())
    with_hindsight(chain, h).invoke(QUESTION)
    texts = [s.text for s in runs()[0].steps]
    assert "Flour is white" in texts
    assert PREFERENCE not in texts


def test_ids_that_tools_return_work_in_the_next_call(h: Hindsight) -> None:
    store, retrieve, feedback, forget = hindsight_tools(h)
    kept = json.loads(store.invoke({"content": PREFERENCE, "category": "preference"}, ANN))["id"]
    again = json.loads(store.invoke({"content": PREFERENCE, "category": "preference"}, ANN))["id"]
    assert kept == again
    found = retrieve.invoke({"query": QUESTION}, ANN)
    assert kept in found
    assert found.startswith(f"<{MARK}>")
    judged = json.loads(feedback.invoke({"memory_id": kept, "helpful": False}, ANN))
    assert judged["confidence"] < 0.7
    assert json.loads(forget.invoke({"memory_id": kept}, ANN))["status"] == "forgotten"
    assert json.loads(forget.invoke({"memory_id": kept}, ANN))["status"] == "not found"
    assert retrieve.invoke({"query": QUESTION}, ANN) == "Nothing is known about that."


async def test_tools_work_async_and_refuse_softly(h: Hindsight) -> None:
    store, retrieve, feedback, forget = hindsight_tools(h)
    kept = json.loads(await store.ainvoke({"content": PREFERENCE}, ANN))["id"]
    assert kept in await retrieve.ainvoke({"query": QUESTION}, ANN)
    call: Any = {"type": "tool_call", "id": "c", "name": feedback.name}
    refused = await feedback.ainvoke({**call, "args": {"memory_id": "mem_0", "helpful": True}}, ANN)
    assert isinstance(refused, ToolMessage)
    assert refused.status == "error"
    assert "mem_0" in str(refused.content)
    assert feedback.invoke({**call, "args": {"memory_id": "x", "helpful": True}}).status == "error"
    assert "confidence" in await feedback.ainvoke({"memory_id": kept, "helpful": True}, ANN)
    assert "forgotten" in await forget.ainvoke({"memory_id": kept}, ANN)
    assert "not found" in await forget.ainvoke({"memory_id": kept}, {"metadata": {"user_id": "b"}})


def test_an_unfilled_placeholder_is_refused(h: Hindsight) -> None:
    (store,) = hindsight_tools(h, namespace=("acme", "{user_id}"), only=("store",))
    assert "user_id" in store.invoke({"content": "Tea costs 7"})
    bad: Any = {"metadata": {"user_id": "{user_id}"}}
    assert "placeholder" in store.invoke({"content": "Tea costs 7"}, bad)


REACT = PromptTemplate.from_template(
    "{memory}\n{tools} {tool_names}\nQuestion: {input}\nThought:{agent_scratchpad}"
)


@pytest.mark.parametrize("handler", [False, True])
def test_a_classic_executor_with_intermediate_steps_is_saved_once(
    h: Hindsight, runs: Any, handler: bool
) -> None:
    h.store(BRACES)
    left = iter(["Action: lookup\nAction Input: tea", "Final Answer: 7"])
    model = ScriptedChat(script=lambda messages: next(left))
    executor = AgentExecutor(
        agent=create_react_agent(model, [lookup], REACT),
        tools=[lookup],
        memory=HindsightMemory(hindsight=h),
        return_intermediate_steps=True,
        callbacks=[HindsightCallbackHandler(h)] if handler else None,
    )
    done = executor.invoke({"input": f"{QUESTION} Tea?"})
    assert BRACES in str(model.seen[0][0].content)
    assert BRACES in done["memory"]
    (run,) = runs()
    assert run.task == f"{QUESTION} Tea?"
    assert BRACES not in "".join(s.text for s in run.steps)
    assert [s.text for s in run.steps if s.kind == "tool_result"] == ["tea costs 7"]
    assert "7" in run.steps[-1].text


async def test_memory_gives_text_or_messages_sync_and_async(h: Hindsight) -> None:
    h.store(PREFERENCE)
    as_text = HindsightMemory(hindsight=h)
    as_list = HindsightMemory(hindsight=h, memory_key="known", return_messages=True)
    assert as_text.memory_variables == ["memory"]
    assert PREFERENCE in as_text.load_memory_variables({"input": QUESTION})["memory"]
    found = (await as_list.aload_memory_variables({"input": QUESTION}))["known"]
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("known"), ("user", "{input}")])
    assert len(prompt.invoke({"known": found, "input": "q"}).to_messages()) == 2
    assert as_list.load_memory_variables({"input": "zebra"})["known"] == []
    await as_list.aclear()
    assert h.list().memories


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"input": "q", "memory": "old", "style": "s"}, {"output": "a", "x": "y"}),
        ({"question": "q", "context": "c", "lang": "en"}, {"answer": "a", "sources": ["s"]}),
        ({"whatever": "q"}, {"reply": "a"}),
        ({"input": HumanMessage("q")}, {"output": AIMessage("a")}),
        ({"input": [HumanMessage("p"), AIMessage("x"), HumanMessage("q")]}, {"output": "a"}),
    ],
)
async def test_keys_are_found_without_configuration(
    h: Hindsight, runs: Any, inputs: Any, outputs: Any
) -> None:
    await HindsightMemory(hindsight=h).asave_context(inputs, outputs)
    assert [s.text for s in runs()[0].steps] == ["q", "a"]


def test_keys_that_are_not_clear_are_named_with_the_option(h: Hindsight, runs: Any) -> None:
    memory = HindsightMemory(hindsight=h)
    memory.save_context({"city": "Oslo", "day": "Friday"}, {"output": "rain"})
    assert "city, day" in h.stats().last_failures["memory keys"]
    assert "input_key" in h.stats().last_failures["memory keys"]
    assert "city: Oslo" in runs()[0].task
    clear = HindsightMemory(hindsight=h, input_key="city", output_key="output")
    clear.save_context({"city": "Bergen", "day": "Friday"}, {"output": "rain", "other": "x"})
    assert runs()[1].task == "Bergen"


class Known(MessagesState):
    memory: str


def graph_of(h: Hindsight, model: ScriptedChat, **options: Any) -> Any:
    def answer(state: Known) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage(state["memory"]), *state["messages"]])]}

    graph = StateGraph(Known)
    graph.add_node("recall", recall_node(h, **options))
    graph.add_node("answer", answer)
    graph.add_node("record", record_node(h, **options))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "record")
    return graph


@pytest.mark.parametrize("where", ["metadata", "configurable"])
async def test_nodes_recall_and_record_only_what_is_new(h: Hindsight, where: str) -> None:
    ann = h.for_user("ann")
    ann.store(PREFERENCE)
    model = ScriptedChat(script="ok")
    app = graph_of(h, model).compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}, "metadata": {}}
    config[where]["user_id"] = "ann"
    app.invoke(ask(QUESTION), config)
    await app.ainvoke(ask("And which units for tea?"), config)
    assert PREFERENCE in str(model.seen[0][0].content)
    assert [[s.text for s in run.steps] for run in journaled(ann)] == [
        [QUESTION, "ok"],
        ["And which units for tea?", "ok"],
    ]
    assert MARK not in str(app.get_state(config).values["messages"])


def test_nodes_without_an_id_raise_and_with_a_namespace_need_none(h: Hindsight, runs: Any) -> None:
    app = graph_of(h, ScriptedChat(script="ok")).compile()
    with pytest.raises(NamespaceError, match="user_id"):
        app.invoke(ask(QUESTION))
    with pytest.raises(NamespaceError, match="user_id"):
        record_node(h).invoke(ask(QUESTION))
    graph_of(h, ScriptedChat(script="ok"), namespace=h.namespace).compile().invoke(ask(QUESTION))
    assert len(runs()) == 1


def test_nodes_work_in_a_subgraph_and_leave_recording_to_the_handler(h: Hindsight) -> None:
    outer = StateGraph(Known)
    outer.add_node("inner", graph_of(h, ScriptedChat(script="ok")).compile())
    outer.add_edge(START, "inner")
    app = with_hindsight(outer.compile(), h)
    app.invoke(ask(QUESTION), ANN)
    (run,) = journaled(h.for_user("ann"))
    assert [s.text for s in run.steps] == [QUESTION, "ok"]


async def test_a_chain_gets_the_brief_as_a_variable(h: Hindsight) -> None:
    h.for_user("ann").store(BRACES)
    model = ScriptedChat(script="ok")
    prompt = ChatPromptTemplate.from_messages([("system", "{memory}"), ("user", "{question}")])
    chain = assign_brief(h) | prompt | model
    chain.invoke({"question": QUESTION}, ANN)
    await chain.ainvoke({"question": QUESTION}, ANN)
    assert all(BRACES in str(messages[0].content) for messages in model.seen)
    with pytest.raises(NamespaceError, match="user_id"):
        chain.invoke({"question": QUESTION})


def test_a_node_of_a_users_module_sees_the_config_under_postponed_annotations(
    h: Hindsight,
) -> None:
    # This module postpones its annotations, as do the nodes below.
    (retrieve,) = hindsight_tools(h, only=("retrieve",))
    h.for_user("ann").store(PREFERENCE)

    def search(state: Known, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [AIMessage(retrieve.invoke({"query": QUESTION}, config))]}

    graph = StateGraph(Known)
    graph.add_node("search", search)
    graph.add_edge(START, "search")
    done = graph.compile().invoke(ask(QUESTION), ANN)
    assert PREFERENCE in str(done["messages"][-1].content)


PROMPT = Prompt("system", "user", {"type": "object", "properties": {}}, 100)


def test_content_blocks_are_read_without_the_thinking(opened: Any) -> None:
    lesson = {"text": "Files of the finance team are in GB18030", "category": "rule"}
    blocks: Any = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": json.dumps({"lessons": [lesson]})},
    ]
    memory = opened(model=reflection_model(ScriptedChat(script=AIMessage(blocks))))
    learned = memory.reflect(csv_run()).memories
    assert any("finance team" in one.content for one in learned)


def test_structured_output_is_used_where_the_model_has_it_and_text_where_it_turns_out_not() -> None:
    class Structured(ScriptedChat):
        works: bool = True

        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            assert schema["title"]
            if not self.works:
                raise NotImplementedError
            return self | (lambda raw: {"raw": raw, "parsed": {"b": 2}, "parsing_error": None})

    assert reflection_model(Structured(script="{}")).complete(PROMPT).content == {"b": 2}
    fallback = reflection_model(Structured(script='{"c": 3}', works=False))
    assert fallback.complete(PROMPT).content == '{"c": 3}'
    assert fallback.complete(PROMPT).content == '{"c": 3}'


def test_errors_of_a_structured_model_are_not_taken_for_a_missing_schema() -> None:
    class Failing(ScriptedChat):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            return self

    model = Failing(script=RuntimeError("quota"))
    with pytest.raises(Exception, match="quota"):
        reflection_model(model).complete(PROMPT)
    assert len(model.seen) == 1


def test_an_answer_that_a_client_refuses_because_it_was_cut_is_read_up_to_the_cut(
    opened: Any,
) -> None:
    class LengthError(Exception):
        def __init__(self, content: str) -> None:
            message = SimpleNamespace(message=SimpleNamespace(content=content))
            self.completion = SimpleNamespace(choices=[message], usage=None, model="m")

    class Parsing(ScriptedChat):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            return self

    whole = '{"text": "Files of the finance team are in GB18030", "category": "rule"}'
    model = Parsing(script=LengthError(f'{{"lessons": [{whole}, {{"text": "Half a sen'))
    learned = opened(model=reflection_model(model)).reflect(csv_run()).memories
    assert any("finance team" in one.content for one in learned)
    assert all("Half a sen" not in one.content for one in learned)
    with pytest.raises(Exception, match="LengthError"):
        reflection_model(Parsing(script=LengthError(""))).complete(PROMPT)


def test_langchain_embeddings_can_be_used(opened: Any) -> None:
    memory = opened(embedder=embedder(DeterministicFakeEmbedding(size=32), name="fake-32"))
    memory.store(PREFERENCE)
    assert memory.retrieve(PREFERENCE)[0].memory.content == PREFERENCE


def test_messages_become_steps_and_nothing_reads_none() -> None:
    run = trajectory_from_messages(
        [
            SystemMessage("be kind"),
            ("user", "q"),
            calls(("search", {"q": "x"}, "c1")),
            ToolMessage("", tool_call_id="c1"),
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"name": "search", "args": "{bad", "id": "c2", "error": None,
                     "type": "invalid_tool_call"}
                ],
            ),
        ],
        run_id="r",
    )  # fmt: skip
    assert [s.kind for s in run.steps] == [
        "system", "user", "assistant", "tool_result", "assistant", "note",
    ]  # fmt: skip
    assert run.steps[2].tool_calls[0].arguments == {"q": "x"}
    assert run.steps[4].tool_calls[0].arguments == {"_raw": "{bad"}
    assert "None" not in repr([s.text for s in run.steps])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ("q", "q"),
        ({"question": "q", "context": "c"}, "q"),
        ({"a": "x", "b": "y"}, "a: x\nb: y"),
        ({"messages": "q"}, "q"),
        (HumanMessage("q"), "q"),
        ([("user", "p"), ("ai", "x"), ("user", "q")], "q"),
        ([("user", "q"), ("ai", "prefilled")], "q"),
        (Prompt("s", "u", {}, 1), "system: s\nuser: u"),
    ],
)
def test_a_question_is_found_in_every_shape(inputs: Any, text: str) -> None:
    if inputs == {"messages": "q"}:
        assert choose_text(inputs, ()) == "q"
        return
    assert [record["content"] for record in question_of(inputs)] in ([text], [text, "prefilled"])


def test_what_holds_no_text_asks_nothing() -> None:
    assert question_of(None) == question_of({}) == question_of(7) == question_of([]) == []
    assert as_messages([object()]) == []
    assert answer_of({"n": 1}) == answer_of([ToolMessage("x", tool_call_id="1")]) == ""
    assert answer_of({"result": AIMessage("a")}) == "a"
