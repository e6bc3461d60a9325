"""A chat engine that remembers across sessions. Needs no key and no network.

Run it with `python examples/llamaindex_chat.py`.
"""

# ruff: noqa: D102 - a scripted model has the methods that the framework asks for
import tempfile
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.custom import CustomLLM
from llama_index_instrumentation.dispatcher import instrument_tags

from hindsight_core import Hindsight
from hindsight_llamaindex import HindsightMemory, instrument


class ScriptedLLM(CustomLLM):
    """Stands for a model: it answers in cups, unless it reads that metric units are wanted."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        told = " ".join(message.content or "" for message in messages)
        amount = "240 g" if "metric" in told else "2 cups"
        text = f"You need {amount} of flour."
        return ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text)

    def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
        return iter([self.chat(messages)])

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        return iter([])


def talk(hindsight: Hindsight, session: str, *messages: str) -> None:
    """Have one session, with an engine and a memory of its own."""
    memory = HindsightMemory.from_defaults(hindsight=hindsight)
    engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(), memory=memory)
    print(f"{session}:")
    with instrument_tags({"user_id": "alice", "session_id": session}):
        for message in messages:
            answer = "".join(engine.stream_chat(message).response_gen)
            print(f"  alice: {message}\n  agent: {answer}")
    hindsight.flush()


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as scratch,
        Hindsight.open(scratch, namespace="kitchen") as memories,
    ):
        instrument(memories)
        talk(
            memories,
            "Monday",
            "How much flour does the bread recipe need?",
            "No, that's wrong. I always use metric units in recipes, please remember that.",
        )
        talk(memories, "Tuesday", "How much flour does the cake recipe need?")
        for known in memories.for_user("alice").list(categories=["preference"]).memories:
            print(f"Known of alice: {known.content}")
