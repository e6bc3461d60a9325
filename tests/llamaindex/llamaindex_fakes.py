"""A scripted LLM, a retriever of fixed nodes, and what else these tests share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
    ToolCallBlock,
)
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr

MARK = "hindsight-recall"

Reply: TypeAlias = Any
"""Text, a list of calls `(id, name, arguments)`, an exception to raise, or a function of the
messages that returns one of these."""


class ScriptedLLM(FunctionCallingLLM):
    """Gives prepared answers in order, the last one for ever, and keeps what it was sent."""

    replies: list[Any]
    pieces: int = 1
    _seen: list[list[ChatMessage]] = PrivateAttr(default_factory=list)
    _between: list[Callable[[], None]] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, context_window=8_000)

    @property
    def seen(self) -> list[list[ChatMessage]]:
        return self._seen

    def between_pieces(self, call: Callable[[], None]) -> None:
        """Have `call` called before each piece of a stream but the first."""
        self._between.append(call)

    def _next(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        position = min(len(self._seen), len(self.replies) - 1)
        self._seen.append([message.model_copy(deep=True) for message in messages])
        reply = self.replies[position]
        if callable(reply) and not isinstance(reply, type):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=reply)
        blocks = [
            ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)
            for call_id, name, arguments in reply
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)

    def _stream(self, messages: Sequence[ChatMessage]) -> Generator[ChatResponse, None, None]:
        message = self._next(messages)
        text = message.content or ""
        size = max(1, -(-len(text) // self.pieces))
        for start in range(0, max(1, len(text)), size):
            if start:
                for call in self._between:
                    call()
            part = text[: start + size]
            whole = start + size >= len(text)
            said = message if whole else ChatMessage(role=MessageRole.ASSISTANT, content=part)
            yield ChatResponse(message=said, delta=text[start : start + size])

    def _prepare_chat_with_tools(
        self,
        tools: Any,
        user_msg: Any = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {"messages": list(chat_history or [])}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=block.tool_kwargs,
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages))

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        return self._stream(messages)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages))

    @llm_chat_callback()
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        async def stream() -> AsyncGenerator[ChatResponse, None]:
            for piece in self._stream(messages):
                yield piece

        return stream()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        message = self._next([ChatMessage(role=MessageRole.USER, content=prompt)])
        return CompletionResponse(text=message.content or "")

    @llm_completion_callback()
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        message = self._next([ChatMessage(role=MessageRole.USER, content=prompt)])
        return CompletionResponse(text=message.content or "")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        return iter(())

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        return iter(())


class FixedRetriever(BaseRetriever):
    """Finds the same document whatever is asked."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Flour weighs 125 g a cup."), score=1.0)]


def briefs_in(messages: Sequence[ChatMessage]) -> int:
    """Return how many briefs a model was sent."""
    return sum((message.content or "").count(f"<{MARK}>") for message in messages)


def said(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """Return messages as pairs of role and text."""
    return [(message.role.value, message.content or "") for message in messages]


async def released(memory: Any) -> None:
    """Close the connections that LlamaIndex's own `Memory` leaves open."""
    store = getattr(memory, "sql_store", None)
    engine = getattr(store, "_async_engine", None)
    if engine is not None:
        await engine.dispose()
