"""`HindsightMemory`: a chat memory that also recalls what earlier runs taught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import (
    Field,
    PrivateAttr,
    SerializeAsAny,
    field_serializer,
    field_validator,
)
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import DEFAULT_CHAT_STORE_KEY, BaseMemory
from llama_index.core.storage.chat_store import BaseChatStore, SimpleChatStore

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_llamaindex.binding import Binding, bind
from hindsight_llamaindex.buffer import window
from hindsight_llamaindex.chat_stores import (
    add_to,
    loaded_chat_store,
    messages_in,
    stored_chat_store,
)
from hindsight_llamaindex.counts import counter_of
from hindsight_llamaindex.identity import Caller, current_caller
from hindsight_llamaindex.messages import copied, weight, without_brief
from hindsight_llamaindex.recorder import announce
from hindsight_llamaindex.turns import Turn, Turns, turn_of

__all__ = ["HindsightMemory"]

DEFAULT_TOKEN_LIMIT = 3_000
"""Tokens of a conversation that are sent where no limit and no model is given."""

WINDOW_SHARE = 0.75
"""Share of a model's context window that a conversation may take."""


@dataclass(frozen=True, slots=True)
class _Conversation:
    """Whose conversation is meant now, and where it stands.

    Attributes:
        hindsight: The memory of its user.
        key: Its key in the chat store.
        session_id: The session, for the record of the run.
    """

    hindsight: Hindsight
    key: str
    session_id: str


class HindsightMemory(BaseMemory):
    """A drop-in for `ChatMemoryBuffer` and `Memory` in agents and chat engines.

    The conversation is kept in a chat store and cut to `token_limit` tokens when it is read.
    What earlier runs taught is recalled once for each thing the user says, and stands in what
    is sent to the model, never in the chat store.

    ```python
    memory = HindsightMemory.from_defaults(hindsight=h)
    await agent.run("…", memory=memory)
    ```

    One object serves many users and sessions: inside `instrument_tags({"user_id": …,
    "session_id": …})` it holds that conversation and recalls that user's memory. A `user_id` or
    `session_id` given to the object is fixed and goes before the tags.

    Attributes:
        binding: Which open memory it uses.
        token_limit: Most tokens that are sent, the brief included.
        chat_store: Keeps the conversation.
        chat_store_key: Where in it.
        user_id: The user that it is for, `None` to go by the tags.
        session_id: The conversation that it is for, `None` to go by the tags.
        token_budget: Most tokens of a brief, `None` for the memory's own setting.
        tokenizer: Counts instead of the memory's own counter; not stored with a context.
    """

    binding: Binding
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, gt=0)
    chat_store: SerializeAsAny[BaseChatStore] = Field(default_factory=SimpleChatStore)
    chat_store_key: str = DEFAULT_CHAT_STORE_KEY
    user_id: str | None = None
    session_id: str | None = None
    token_budget: int | None = Field(default=None, gt=0)
    tokenizer: Callable[[str], Sequence[Any]] | None = Field(default=None, exclude=True)

    _turns: Turns = PrivateAttr(default_factory=Turns)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "HindsightMemory"

    @classmethod
    def from_defaults(
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        chat_store: BaseChatStore | None = None,
        chat_store_key: str = DEFAULT_CHAT_STORE_KEY,
        token_limit: int | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        *,
        hindsight: Hindsight | None = None,
        **options: Any,
    ) -> HindsightMemory:
        """Make a memory; the arguments before `hindsight` are those of `ChatMemoryBuffer`.

        Args:
            chat_history: Messages to begin with.
            llm: Its context window sets the token limit where none is given.
            chat_store: Keeps the conversation; in this process's memory by default.
            chat_store_key: Where in the chat store.
            token_limit: Most tokens that are sent.
            tokenizer_fn: Splits text into tokens.
            hindsight: An open memory.
            options: `user_id`, `session_id` and `token_budget`, see the attributes.

        Raises:
            ConfigurationError: If no open memory is given or an option is not known.
        """
        if hindsight is None:
            raise ConfigurationError(
                "HindsightMemory needs an open memory; pass hindsight=Hindsight.open(…)"
            )
        unknown = sorted(set(options) - {"user_id", "session_id", "token_budget"})
        if unknown:
            raise ConfigurationError(
                f"HindsightMemory knows no option {unknown[0]!r}; it knows user_id, session_id "
                "and token_budget"
            )
        if token_limit is None and llm is not None:
            token_limit = max(1, int(llm.metadata.context_window * WINDOW_SHARE))
        made = cls(
            binding=bind(hindsight),
            token_limit=DEFAULT_TOKEN_LIMIT if token_limit is None else token_limit,
            chat_store=chat_store or SimpleChatStore(),
            chat_store_key=chat_store_key,
            tokenizer=tokenizer_fn,
            **options,
        )
        if chat_history is not None:
            made.set(chat_history)
        return made

    @field_validator("user_id", mode="before")
    @classmethod
    def _user_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("chat_store", mode="before")
    @classmethod
    def _stored_chat_store(cls, value: Any) -> Any:
        return loaded_chat_store(value) if isinstance(value, dict) else value

    @field_serializer("chat_store")
    def _chat_store_as_data(self, chat_store: BaseChatStore) -> dict[str, Any]:
        return stored_chat_store(chat_store)

    @property
    def tokenizer_fn(self) -> Callable[[str], Sequence[Any]]:
        """Splits text into tokens; chat engines take its length for that of their prompts."""
        if self.tokenizer is not None:
            return self.tokenizer
        count = self.binding.hindsight().count_tokens
        return lambda text: range(count(text))

    def get(
        self,
        input: Any = None,  # noqa: A002 - the framework's own name for it
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """Return what is sent to the model: the newest messages and the brief for this turn.

        Args:
            input: What is being asked, if it does not stand in the conversation yet.
            initial_token_count: Tokens that the caller adds to what this returns.
            kwargs: Let through for other memories' sake, and not used.
        """
        talk = self._conversation()
        history = self.chat_store.get_messages(talk.key)
        turn = turn_of(history, input)
        run_id = _announced(talk, turn)
        brief = self._turns.recall(talk.hindsight, talk.key, turn, run_id, self.token_budget)
        return self._sent(talk, history, turn, brief, initial_token_count)

    async def aget(
        self,
        input: Any = None,  # noqa: A002 - the framework's own name for it
        initial_token_count: int = 0,
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """Async twin of `get`."""
        talk = self._conversation()
        history = await messages_in(self.chat_store, talk.key)
        turn = turn_of(history, input)
        run_id = _announced(talk, turn)
        brief = await self._turns.arecall(talk.hindsight, talk.key, turn, run_id, self.token_budget)
        return self._sent(talk, history, turn, brief, initial_token_count)

    def get_all(self) -> list[ChatMessage]:
        """Return the whole conversation as it was said, without any brief."""
        return [copied(m) for m in self.chat_store.get_messages(self._conversation().key)]

    async def aget_all(self) -> list[ChatMessage]:
        """Async twin of `get_all`."""
        messages = await messages_in(self.chat_store, self._conversation().key)
        return [copied(message) for message in messages]

    def put(self, message: ChatMessage) -> None:
        """Add a message to the conversation; recalled blocks in it are left out."""
        clean = without_brief(message)
        if clean is not None:
            self.chat_store.add_message(self._conversation().key, clean)

    async def aput(self, message: ChatMessage) -> None:
        """Async twin of `put`."""
        await self.aput_messages([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the conversation, in order."""
        clean = _clean(messages)
        key = self._conversation().key if clean else ""
        for message in clean:
            await add_to(self.chat_store, key, message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the conversation."""
        self.chat_store.set_messages(self._conversation().key, _clean(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Async twin of `set`."""
        await self.chat_store.aset_messages(self._conversation().key, _clean(messages))

    def reset(self) -> None:
        """Forget the conversation; what was learned stays."""
        key = self._conversation().key
        self.chat_store.delete_messages(key)
        self._turns.forget(key)

    async def areset(self) -> None:
        """Async twin of `reset`."""
        key = self._conversation().key
        await self.chat_store.adelete_messages(key)
        self._turns.forget(key)

    def _caller(self) -> Caller:
        return current_caller().known(user_id=self.user_id, session_id=self.session_id)

    def _conversation(self) -> _Conversation:
        caller = self._caller()
        hindsight = self.binding.hindsight(caller.user_id)
        key = caller.conversation(self.chat_store_key)
        return _Conversation(hindsight, key, caller.session_id)

    def _sent(
        self,
        talk: _Conversation,
        history: Sequence[ChatMessage],
        turn: Turn,
        brief: Brief,
        initial_token_count: int,
    ) -> list[ChatMessage]:
        """Return the newest messages that fit beside the brief, with the brief in its place."""
        tokenizer = self.tokenizer
        count = counter_of(talk.hindsight) if tokenizer is None else lambda t: len(tokenizer(t))
        # What a brief takes is known from its making, unless somebody else counts.
        taken = brief.tokens if tokenizer is None or not brief else count(brief.text)
        room = max(0, self.token_limit - initial_token_count - taken)
        sent = window(history, room, lambda message: weight(message, count))
        return _with_brief(sent, turn, brief.text) if brief else sent


def _with_brief(sent: list[ChatMessage], turn: Turn, brief: str) -> list[ChatMessage]:
    """Put a brief where the model reads it once; `sent` holds copies, and is taken as it is.

    Where the question stands in the conversation, the brief opens it: a system message there
    would be dropped by `ReActAgent`, and be a second one for models that take only one. Where
    the caller adds the question itself, as chat engines with a retriever do, the brief is a
    system message after theirs.
    """
    if turn.is_stored:
        place = next((p for p in range(len(sent) - 1, -1, -1) if _is_user(sent[p])), -1)
        if place >= 0:
            sent[place].blocks.insert(0, TextBlock(text=brief))
            return sent
    opening = ChatMessage(role=MessageRole.SYSTEM, blocks=[TextBlock(text=brief)])
    return [opening, *sent]


def _is_user(message: ChatMessage) -> bool:
    return message.role is MessageRole.USER


def _announced(talk: _Conversation, turn: Turn) -> str:
    return announce(talk.hindsight, talk.session_id, turn.text, turn.answer_before)


def _clean(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [clean for clean in map(without_brief, messages) if clean is not None]
