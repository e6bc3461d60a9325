"""`HindsightMemory` as a chat memory: its contract, its copies, and nothing of a brief kept."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.llms.mock import MockLLM
from llama_index.core.memory import BaseMemory
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore
from llama_index.core.workflow import Context
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_fakes import MARK, FixedRetriever, ScriptedLLM, briefs_in, said
from pydantic import Field
from test_buffer import answer, call, result, user

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.errors import ConfigurationError, NamespaceError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore
from hindsight_core.testing import FaultyStore
from hindsight_llamaindex import HindsightMemory, Instrumentation
from hindsight_llamaindex.binding import Binding

QUESTION = "Convert the recipe to my units"


def made(h: Hindsight, **options: Any) -> HindsightMemory:
    return HindsightMemory.from_defaults(hindsight=h, **options)


@pytest.fixture(params=["sync", "async"])
def use(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call a method of a memory, or its async twin inside of a running loop."""

    def call_it(memory: BaseMemory, method: str, *args: Any, **kwargs: Any) -> Any:
        if request.param == "sync":
            return getattr(memory, method)(*args, **kwargs)
        return asyncio.run(getattr(memory, f"a{method}")(*args, **kwargs))

    return call_it


def test_it_keeps_what_is_put_and_gives_it_back(h: Hindsight, use: Any) -> None:
    memory = made(h)
    use(memory, "put", user("hi"))
    use(memory, "put_messages", [answer("hello"), user("again")])
    assert said(use(memory, "get_all")) == [
        ("user", "hi"),
        ("assistant", "hello"),
        ("user", "again"),
    ]
    assert said(use(memory, "get")) == said(use(memory, "get_all"))
    use(memory, "set", [user("new")])
    assert said(use(memory, "get_all")) == [("user", "new")]
    use(memory, "reset")
    assert use(memory, "get_all") == use(memory, "get") == []


def test_resetting_forgets_the_conversation_only(knowing: Hindsight, use: Any) -> None:
    memory = made(knowing, chat_history=[user(QUESTION)])
    assert briefs_in(use(memory, "get")) == 1
    use(memory, "reset")
    assert len(knowing.list().memories) == 1
    use(memory, "put", user(QUESTION))
    assert briefs_in(use(memory, "get")) == 1


def test_the_brief_opens_the_question_and_stands_in_no_store(knowing: Hindsight, use: Any) -> None:
    memory = made(knowing, chat_history=[user("hi"), answer("hello"), user(QUESTION)])
    sent = use(memory, "get")
    assert [briefs_in([message]) for message in sent] == [0, 0, 1]
    assert (sent[2].content or "").endswith(QUESTION)
    assert MARK not in json.dumps(memory.to_dict())
    assert said(use(memory, "get_all"))[2] == ("user", QUESTION)


def test_the_brief_is_an_instruction_where_the_caller_adds_the_question(
    knowing: Hindsight, use: Any
) -> None:
    memory = made(knowing, chat_history=[user("hi"), answer("hello")])
    sent = use(memory, "get", input=QUESTION)
    assert [(m.role.value, briefs_in([m])) for m in sent] == [
        ("system", 1),
        ("user", 0),
        ("assistant", 0),
    ]


def test_reading_with_and_without_the_question_is_one_recall(knowing: Hindsight, use: Any) -> None:
    memory = made(knowing)
    memory.put(user(QUESTION))
    for asked in (None, QUESTION, None):
        assert briefs_in(use(memory, "get", input=asked)) == 1
    memory.put_messages([call("c1"), result("c1")])
    assert briefs_in(use(memory, "get", input=QUESTION)) == 1
    memory.put(answer("250 g"))
    assert briefs_in(use(memory, "get")) == 1
    knowing.flush(30)
    assert knowing.list().memories[0].access_count == 1


def test_what_was_sent_can_be_put_back_without_its_brief(knowing: Hindsight, use: Any) -> None:
    memory = made(knowing, chat_history=[user(QUESTION)])
    use(memory, "set", use(memory, "get"))
    assert said(memory.get_all()) == [("user", QUESTION)]
    use(memory, "set", [*memory.get(input="Convert the other recipe to my units")])
    assert MARK not in str(memory.get_all())
    use(memory, "put", ChatMessage(role="assistant", content=f"<{MARK}>only a brief</{MARK}>"))
    use(memory, "put", ChatMessage(role="assistant", content=f"A <{MARK}>x</{MARK}>B"))
    assert said(memory.get_all())[-1] == ("assistant", "A B")


async def test_the_state_of_an_agent_never_reaches_the_chat_store(knowing: Hindsight) -> None:
    memory = made(knowing)
    llm = ScriptedLLM(replies=["Done."])
    agent = FunctionAgent(tools=[], llm=llm, initial_state={"secret": 42})
    await agent.run(QUESTION, memory=memory)
    last = llm.seen[0][-1]
    assert "secret" in (last.content or "")
    assert briefs_in([last]) == 1
    assert said(memory.get_all()) == [("user", QUESTION), ("assistant", "Done.")]


@pytest.mark.parametrize(
    "content",
    ['use {"city": "Oslo"} and {x}, {}, {{y}} for recipes', "{% if recipes %}{{ y }}{% endif %}"],
)
def test_braces_in_a_memory_come_through_every_template(h: Hindsight, content: str) -> None:
    h.store(f"The user wants metric units in recipes: {content}", category="preference")
    llm = ScriptedLLM(replies=["Done."])
    engine = ContextChatEngine.from_defaults(
        retriever=FixedRetriever(), llm=llm, memory=made(h), system_prompt="Be kind."
    )
    engine.chat(QUESTION)
    SimpleChatEngine.from_defaults(llm=llm, memory=made(h)).chat(QUESTION)
    assert all(content in "\n".join(text for _, text in said(seen)) for seen in llm.seen)


def test_special_tokens_count_as_plain_text(h: Hindsight) -> None:
    text = "why does <|endoftext|> break <|fim_prefix|> parsing?"
    memory = made(h, chat_history=[user(text)])
    assert memory.get()[0].content == text
    assert len(memory.tokenizer_fn(text)) > 5


def test_the_limit_holds_for_all_that_is_sent(knowing: Hindsight, use: Any) -> None:
    history = [m for n in range(50) for m in (user(f"question {n}"), answer("word " * 30))]
    memory = made(knowing, chat_history=[*history, user(QUESTION)], token_limit=300)
    sent = use(memory, "get", initial_token_count=50)
    assert briefs_in(sent) == 1
    assert 1 < len(sent) < 10
    assert sum(knowing.count_tokens(text) for _, text in said(sent)) <= 250
    assert len(use(memory, "get", initial_token_count=10_000)) == 1


def test_the_size_of_the_window_follows_the_model_and_the_counter_the_caller(h: Hindsight) -> None:
    assert made(h, llm=MockLLM()).token_limit == int(MockLLM().metadata.context_window * 0.75)
    assert made(h).token_limit == 3_000
    memory = made(h, token_limit=8, tokenizer_fn=str.split)
    assert memory.tokenizer_fn("a b") == ["a", "b"]
    memory.set([user("one two three four five"), answer("six"), user("seven eight")])
    assert said(memory.get()) == [("user", "seven eight")]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"hindsight": None}, "open memory"),
        ({"hindsight": "./memory"}, "str"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_can_not_be_used_is_refused(h: Hindsight, options: Any, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        HindsightMemory.from_defaults(**({"hindsight": h} | options))


def test_it_is_true_even_when_it_is_empty(h: Hindsight) -> None:
    memory = made(h)
    assert memory
    assert not hasattr(memory, "__len__")
    assert "__bool__" not in dir(memory)


class SlowStore(SimpleChatStore):
    """A chat store of the user's own."""

    @classmethod
    def class_name(cls) -> str:
        return "SlowStore"


class ListStore(BaseChatStore):
    """One that keeps messages as plain dicts, as a database would."""

    rows: dict[str, list[dict[str, Any]]] = Field(default_factory=dict)

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        self.rows[key] = [m.model_dump(mode="json") for m in messages]

    def get_messages(self, key: str) -> list[ChatMessage]:
        return [ChatMessage(**row) for row in self.rows.get(key, [])]

    def add_message(self, key: str, message: ChatMessage) -> None:
        self.rows.setdefault(key, []).append(message.model_dump(mode="json"))

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        self.rows.pop(key, None)
        return None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        return None

    def delete_last_message(self, key: str) -> ChatMessage | None:
        return None

    def get_keys(self) -> list[str]:
        return list(self.rows)


def by_json(memory: HindsightMemory) -> HindsightMemory:
    return HindsightMemory.from_dict(json.loads(json.dumps(memory.to_dict())))


def by_pickle(memory: HindsightMemory) -> HindsightMemory:
    restored: HindsightMemory = pickle.loads(pickle.dumps(memory))
    return restored


@pytest.mark.parametrize("store", [SimpleChatStore, SlowStore, ListStore])
@pytest.mark.parametrize("way", [by_json, by_pickle, copy.deepcopy])
def test_a_copy_has_the_conversation_and_the_memory(
    knowing: Hindsight, way: Any, store: Any
) -> None:
    memory = made(
        knowing,
        chat_store=store(),
        chat_store_key="k",
        user_id=None,
        session_id="s",
        token_limit=500,
    )
    memory.set([call("c1", q="x"), result("c1"), user(QUESTION)])
    restored = way(memory)
    assert type(restored.chat_store) is store
    assert said(restored.get_all()) == said(memory.get_all())
    assert briefs_in(restored.get()) == 1
    assert (restored.token_limit, restored.session_id) == (500, "s")
    restored.put(answer("only here"))
    assert len(memory.get_all()) == 3


def test_a_chat_store_that_is_none_is_refused(h: Hindsight) -> None:
    data = made(h).to_dict()
    for path, match in (
        ("json:JSONDecoder", "no chat store"),
        ("no_such_module:X", "can't be imported"),
        ("json:Nothing", "can't be imported"),
    ):
        with pytest.raises((ConfigurationError, ValueError), match=match):
            HindsightMemory.from_dict(data | {"chat_store": {"class_path": path}})
    plain = HindsightMemory.from_dict(data | {"chat_store": {"store": {}}})
    assert isinstance(plain.chat_store, SimpleChatStore)


async def test_a_context_goes_to_json_and_back(
    knowing: Hindsight, instrumented: Instrumentation
) -> None:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM(replies=["Which recipe?"]))
    context = Context(agent)
    await agent.run(QUESTION, memory=made(knowing), ctx=context)
    stored = json.dumps(context.to_dict())
    assert MARK not in stored
    llm = ScriptedLLM(replies=["The one for bread."])
    again = FunctionAgent(tools=[], llm=llm)
    restored = Context.from_dict(again, json.loads(stored))
    await again.run("Convert the bread recipe to my units", ctx=restored)
    memory = await restored.store.get("memory")
    assert isinstance(memory, HindsightMemory)
    assert len(memory.get_all()) == 4
    assert [briefs_in([m]) for m in llm.seen[0]] == [0, 0, 1]


def test_a_stored_memory_holds_no_key_and_finds_its_place_in_another_process(
    opened: Any, tmp_path: Any
) -> None:
    h = opened()
    h.store("The user always wants metric units in recipes", category="preference")
    stored = by_json(made(h)).to_dict()
    h.close()
    with pytest.raises(Exception, match="closed"):
        HindsightMemory.from_dict(stored).put(user("hi"))
    # Another process knows nothing of the token.
    stored["binding"]["token"] = "elsewhere"
    memory = HindsightMemory.from_dict(stored)
    memory.put(user(QUESTION))
    assert briefs_in(memory.get()) == 1
    found = Binding(**stored["binding"]).hindsight()
    assert found.location.path == h.location.path
    found.close()


async def test_one_object_serves_two_loops_one_after_the_other(knowing: Hindsight) -> None:
    memory = made(knowing)

    def in_a_loop_of_its_own() -> int:
        async def main() -> int:
            await memory.aput(user(QUESTION))
            return briefs_in(await memory.aget())

        return asyncio.run(main())

    assert await asyncio.to_thread(in_a_loop_of_its_own) == 1
    assert await asyncio.to_thread(in_a_loop_of_its_own) == 1


async def test_sync_methods_work_inside_of_a_running_loop(knowing: Hindsight) -> None:
    memory = made(knowing)
    memory.put(user(QUESTION))
    assert briefs_in(memory.get()) == 1
    memory.reset()
    assert memory.get() == []


async def test_the_loop_goes_on_while_memory_is_asked(
    opened: Any, real_embedder: DenseEmbedder
) -> None:
    ticks = asyncio.Event()

    class Waiting:
        name, dimension = real_embedder.name, real_embedder.dimension

        def embed_documents(self, texts: Any) -> Any:
            return real_embedder.embed_documents(texts)

        def embed_query(self, text: str) -> Any:
            asyncio.run_coroutine_threadsafe(set_it(), loop).result(20)
            return real_embedder.embed_query(text)

    async def set_it() -> None:
        ticks.set()

    loop = asyncio.get_running_loop()
    h = opened(embedder=Waiting())
    memory = made(h)
    await memory.aput(user(QUESTION))
    await asyncio.wait_for(memory.aget(), 30)
    assert ticks.is_set()


def test_an_unreachable_store_leaves_the_conversation_alone(opened: Any, use: Any) -> None:
    plain = opened("plain")
    store: MemoryStore = FaultyStore(plain._scope.engine.store, lambda op, n: True)
    h = opened("faulty", store=store)
    memory = made(h, chat_history=[user(QUESTION)])
    assert said(use(memory, "get")) == [("user", QUESTION)]
    assert h.stats().failures["recall"] == 1
    strict = opened("strict", store=store, settings=Settings(strict=True, drain_seconds=0))
    with pytest.raises(StoreUnavailableError):
        use(made(strict, chat_history=[user(QUESTION)]), "get")


def test_a_failure_nobody_thought_of_leaves_the_conversation_alone(
    opened: Any, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    h = opened()
    for name in ("brief", "abrief"):
        monkeypatch.setattr(Hindsight, name, lambda *args, **kwargs: 1 / 0)
    assert said(use(made(h, chat_history=[user("hi")]), "get")) == [("user", "hi")]
    assert h.stats().failures == {"recall": 1}


def test_users_and_sessions_in_the_tags_have_conversations_of_their_own(
    h: Hindsight, use: Any
) -> None:
    memory = made(h)
    for tags in ({"user_id": "a/b"}, {"user_id": "a", "session_id": "b"}, {"session_id": "a"}):
        with instrument_tags(tags):
            use(memory, "put", user(str(tags)))
    use(memory, "put", user("nobody in particular"))
    for tags in ({"user_id": "a/b"}, {"user_id": "a", "session_id": "b"}, {"session_id": "a"}):
        with instrument_tags(tags):
            assert [m.content for m in use(memory, "get_all")] == [str(tags)]
            use(memory, "reset")
    assert len(use(memory, "get_all")) == 1


def test_what_is_fixed_goes_before_the_tags(knowing: Hindsight) -> None:
    memory = made(knowing.scoped("acme"), user_id=knowing.namespace.parts[-1], session_id="s")
    with instrument_tags({"user_id": "mallory", "session_id": "t"}):
        memory.put(user(QUESTION))
        assert briefs_in(memory.get()) == 1
    assert len(memory.get_all()) == 1


@pytest.mark.parametrize("name", ["", "  ", "{user_id}", 1.5])
def test_a_user_that_is_none_gets_nobodys_memory(h: Hindsight, use: Any, name: Any) -> None:
    memory = made(h)
    with instrument_tags({"user_id": name}), pytest.raises(NamespaceError):
        use(memory, "put", user("hi"))
    assert memory.get_all() == []


def test_a_number_and_its_text_are_one_user(h: Hindsight) -> None:
    memory = made(h)
    with instrument_tags({"user_id": 1}):
        memory.put(user("hi"))
    with instrument_tags({"user_id": "1"}):
        assert len(memory.get_all()) == 1
    assert made(h, user_id=1).user_id == "1"


def test_none_content_and_tool_messages_are_fine(h: Hindsight, use: Any) -> None:
    memory = made(h)
    memory.put(ChatMessage(role="assistant", content=None))
    memory.put(ChatMessage(role="user", blocks=[TextBlock(text="")]))
    memory.put(call("c1"))
    memory.put(result("c1", ""))
    assert len(use(memory, "get", input=None)) == 4


class OwnStore(SimpleChatStore):
    """A store of somebody's own, whose async methods are not those of a dict."""

    asked: list[str] = Field(default_factory=list)

    async def aget_messages(self, key: str) -> list[ChatMessage]:
        self.asked.append("get")
        return await super().aget_messages(key)

    async def async_add_message(self, key: str, message: ChatMessage) -> None:
        self.asked.append("add")
        await super().async_add_message(key, message)


async def test_a_store_of_ones_own_is_asked_by_its_async_methods(h: Hindsight) -> None:
    store = OwnStore()
    memory = HindsightMemory.from_defaults(hindsight=h, chat_store=store)
    await memory.aput_messages([user("one"), answer("1")])
    await memory.aput(user("two"))
    assert [m.content for m in await memory.aget()] == ["one", "1", "two"]
    assert [m.content for m in await memory.aget_all()] == ["one", "1", "two"]
    assert store.asked == ["add", "add", "add", "get", "get"]
    await memory.aput_messages([])
    assert len(memory.get_all()) == 3
