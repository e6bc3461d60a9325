"""The retriever, the tools, the models, the block and the old callbacks."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import ToolMetadata
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import MARK, ScriptedLLM, released
from test_buffer import user

from hindsight_core.errors import ModelCallError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.reflection.base import Prompt
from hindsight_core.retrieval.shorten import shortened
from hindsight_core.settings import Settings
from hindsight_core.testing import FaultyStore
from hindsight_llamaindex import (
    HindsightCallbackHandler,
    HindsightMemoryBlock,
    HindsightRetriever,
    HindsightToolSpec,
    Instrumentation,
    embedder,
    reflection_model,
)

QUESTION = "Convert the recipe to my units"


async def test_nodes_carry_the_factors_of_their_score_and_are_marked_for_a_model(
    knowing: Hindsight,
) -> None:
    retriever = HindsightRetriever(knowing, top_k=3)
    (node,) = retriever.retrieve(QUESTION)
    assert [n.node.node_id for n in await retriever.aretrieve(QUESTION)] == [node.node.node_id]
    assert node.node.get_content() == "The user always wants metric units in recipes"
    assert node.score == pytest.approx(node.metadata["score"])
    assert node.metadata["factors"]
    json.dumps(node.metadata)
    shown = node.node.get_content(MetadataMode.LLM)
    assert shown.startswith(f"<{MARK}>The user always")
    assert "category: preference" in shown
    assert retriever.retrieve("Who won the football match in Oslo?") == []


def test_a_query_engine_answers_from_memory_and_teaches_nothing_of_it(knowing: Hindsight) -> None:
    llm = ScriptedLLM(replies=["Metric units."])
    engine = RetrieverQueryEngine.from_args(HindsightRetriever(knowing), llm=llm)
    assert str(engine.query(QUESTION)) == "Metric units."
    assert "metric units in recipes" in (llm.seen[0][-1].content or "")


def test_a_retriever_reads_the_memory_of_the_user_in_the_tags(h: Hindsight) -> None:
    h.for_user("alice").store("The user always wants metric units in recipes")
    retriever = HindsightRetriever(h)
    assert retriever.retrieve(QUESTION) == []
    with instrument_tags({"user_id": "alice"}):
        assert len(retriever.retrieve(QUESTION)) == 1


def test_a_retriever_without_a_store_finds_nothing_and_says_so(opened: Any) -> None:
    store = FaultyStore(opened("plain")._scope.engine.store, lambda op, n: True)
    h = opened("faulty", store=store)
    assert HindsightRetriever(h).retrieve(QUESTION) == []
    assert asyncio.run(HindsightRetriever(h).aretrieve(QUESTION)) == []
    assert h.stats().failures["recall"] == 2
    strict = opened("strict", store=store, settings=Settings(strict=True, drain_seconds=0))
    with pytest.raises(StoreUnavailableError):
        HindsightRetriever(strict).retrieve(QUESTION)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_tools_store_find_judge_and_forget(h: Hindsight, is_async: bool) -> None:
    tools = {t.metadata.get_name(): t for t in HindsightToolSpec(h, user_id="al").to_tool_list()}
    assert list(tools) == ["memory_store", "memory_retrieve", "memory_feedback", "memory_forget"]

    def call(name: str, **arguments: Any) -> str:
        tool = tools[name]
        output = asyncio.run(tool.acall(**arguments)) if is_async else tool.call(**arguments)
        return output.content

    stored = json.loads(call("memory_store", content="The recipe book is blue"))
    found = call("memory_retrieve", query="What color is the recipe book?", top_k=99)
    assert stored["id"] in found
    assert found.startswith(f"<{MARK}>")
    judged = json.loads(call("memory_feedback", memory_id=stored["id"], helpful=False))
    assert judged["confidence"] < 0.7
    assert json.loads(call("memory_forget", memory_id=stored["id"]))["status"] == "forgotten"
    assert json.loads(call("memory_forget", memory_id=stored["id"]))["status"] == "not found"
    assert call("memory_retrieve", query="What color is the recipe book?").startswith("Nothing")
    assert h.list().memories == ()


async def test_a_refused_tool_call_goes_to_the_model(h: Hindsight) -> None:
    calls = [("c1", "memory_feedback", {"memory_id": "mem_none", "helpful": True})]
    llm = ScriptedLLM(replies=[calls, "Sorry."])
    await FunctionAgent(tools=HindsightToolSpec(h).to_tool_list(), llm=llm).run("Judge it")
    assert "mem_none" in (llm.seen[1][-1].content or "")


def test_models_of_the_framework_serve_the_core() -> None:
    dense = embedder(MockEmbedding(embed_dim=8), name="mock")
    assert (dense.name, dense.dimension) == ("mock", 8)
    prompt = Prompt(system="You reflect.", user="A run.", schema={}, max_output_tokens=100)
    llm = ScriptedLLM(replies=['{"lessons": []}', ValueError("429 too many")])
    model = reflection_model(llm)
    assert model.complete(prompt).content == '{"lessons": []}'
    assert [m.role.value for m in llm.seen[0]] == ["system", "user"]
    with pytest.raises(ModelCallError, match="429"):
        model.complete(prompt)


async def test_a_block_recalls_shortens_and_takes_nothing_in(knowing: Hindsight) -> None:
    knowing.store("The user always wants short recipes", category="preference")
    block = HindsightMemoryBlock.of(knowing)
    text = await block.aget([user(QUESTION)], session_id="s", initial_token_count=3)
    assert text.count("\n[") == 2
    less = await block.atruncate(text, 10)
    assert less is not None
    assert less.count("\n[") == 1
    assert await block.atruncate(text, 10_000) is None
    assert await block.atruncate("", 1) is None
    await block.aput([user("x")], from_short_term_memory=True)
    await block.aput([user("x")])
    for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        assert await other.aget([user(QUESTION)]) == text
    assert await block.aget(None) == ""


async def test_a_memory_with_a_small_limit_keeps_part_of_the_brief(knowing: Hindsight) -> None:
    for number in range(4):
        knowing.store(f"Recipe rule {number}: convert every unit of kind {number}")
    full = Memory.from_defaults(memory_blocks=[HindsightMemoryBlock.of(knowing)])
    tight = Memory.from_defaults(
        memory_blocks=[HindsightMemoryBlock.of(knowing)], token_limit=90, token_flush_size=10
    )
    sizes = []
    for memory in (full, tight):
        await memory.aput(user(QUESTION))
        sizes.append(str(await memory.aget()).count("["))
        await released(memory)
    assert sizes[1] < sizes[0]


def test_shortening_drops_the_lowest_rank_and_headings_without_any() -> None:
    text = "Open.\nRules:\n[2] b b\nFacts:\n[1] a a\nClose."
    words = lambda t: len(t.split())  # noqa: E731 - a counter of words
    assert shortened(text, 100, words) == text
    assert shortened(text, 8, words) == "Open.\nFacts:\n[1] a a\nClose."
    assert shortened(text, 3, words) == ""


def test_the_old_events_of_a_chat_become_an_episode(h: Hindsight, runs: Any) -> None:
    manager = CallbackManager([HindsightCallbackHandler(h)])
    llm = ScriptedLLM(replies=["It is 240 g.", ValueError("gone")], callback_manager=manager)
    engine = SimpleChatEngine(llm, ChatMemoryBuffer.from_defaults(token_limit=900), [], manager)
    with instrument_tags({"user_id": "al", "session_id": "s"}):
        engine.chat("How much flour is it?")
        with pytest.raises(ValueError, match="gone"):
            engine.chat("And how much sugar?")
    first, second = runs()
    assert [s.text for s in first.trajectory.steps] == ["How much flour is it?", "It is 240 g."]
    assert first.namespace.parts[-1] == "al"
    assert (second.trajectory.outcome.label, second.trajectory.task) == (
        "failure",
        "And how much sugar?",
    )


def test_the_old_events_of_a_stream_wait_for_its_answer(h: Hindsight, runs: Any) -> None:
    manager = CallbackManager([HindsightCallbackHandler(h)])
    llm = ScriptedLLM(replies=["It is 240 g of flour."], pieces=3, callback_manager=manager)
    engine = SimpleChatEngine(llm, ChatMemoryBuffer.from_defaults(token_limit=900), [], manager)
    assert "".join(engine.stream_chat("How much flour is it?").response_gen)
    (run,) = runs()
    assert run.trajectory.steps[-1].text == "It is 240 g of flour."


def test_the_old_events_of_a_query_and_its_function_calls(h: Hindsight, runs: Any) -> None:
    handler = HindsightCallbackHandler(h)
    manager = CallbackManager([handler])
    payloads: list[tuple[Any, dict[Any, Any]]] = [
        ('{"x": 1}', {EventPayload.FUNCTION_OUTPUT: "found"}),
        ("{}", {EventPayload.EXCEPTION: ValueError("no")}),
    ]
    asked = {EventPayload.QUERY_STR: "Find it"}
    with manager.as_trace("query"), manager.event(CBEventType.QUERY, asked) as event:
        for arguments, ended in payloads:
            tool = ToolMetadata("Search.", name="search")
            started = {EventPayload.FUNCTION_CALL: arguments, EventPayload.TOOL: tool}
            with manager.event(CBEventType.FUNCTION_CALL, started) as inner:
                inner.on_end(ended)
        event.on_end({EventPayload.RESPONSE: type("R", (), {"response": "Here."})()})
    with manager.as_trace("index_construction"):
        pass
    (run,) = runs()
    assert [(s.kind, s.text, s.is_error) for s in run.trajectory.steps] == [
        ("user", "Find it", False),
        ("assistant", "", False),
        ("tool_result", "found", False),
        ("assistant", "", False),
        ("tool_result", "ValueError: no", True),
        ("assistant", "Here.", False),
    ]


def test_where_both_are_attached_a_run_is_recorded_once(
    h: Hindsight, instrumented: Instrumentation, runs: Any
) -> None:
    manager = CallbackManager([HindsightCallbackHandler(h)])
    llm = ScriptedLLM(replies=["It is 240 g."], callback_manager=manager)
    engine = SimpleChatEngine(llm, ChatMemoryBuffer.from_defaults(token_limit=900), [], manager)
    engine.chat("How much flour is it?")
    assert len(runs()) == 1
