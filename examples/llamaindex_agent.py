"""A LlamaIndex agent that does not repeat a mistake. Needs no key and no network.

Run it with `python examples/llamaindex_agent.py`.
"""

# ruff: noqa: D102 - a scripted model has the methods that the framework asks for
import asyncio
import tempfile
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from hindsight_core import Hindsight
from hindsight_llamaindex import HindsightMemory, instrument


class ScriptedLLM(FunctionCallingLLM):
    """Stands for a model: it knows UTF-8 only, unless its memory tells it better."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _answer(self, messages: Any) -> ChatResponse:
        told = " ".join(message.content or "" for message in messages)
        if "rows" in (messages[-1].content or ""):
            return ChatResponse(message=ChatMessage(role="assistant", content="The table is read."))
        encoding = "gb18030" if "gb18030" in told or "decode" in told else "utf-8"
        path = next(word for word in told.split()[::-1] if word.endswith(".csv"))
        call = ToolCallBlock(
            tool_call_id=f"call_{len(messages)}",
            tool_name="read_csv",
            tool_kwargs={"path": path, "encoding": encoding},
        )
        return ChatResponse(message=ChatMessage(role="assistant", blocks=[call]))

    def _prepare_chat_with_tools(self, tools: Any, **kwargs: Any) -> dict[str, Any]:
        return {"messages": kwargs["chat_history"]}

    def get_tool_calls_from_response(self, response: Any, **kwargs: Any) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return self._answer(messages)

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return self._answer(messages)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="")

    async def acomplete(self, prompt: str, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text="")

    def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
        return iter([self._answer(messages)])

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        async def stream() -> Any:
            yield self._answer(messages)

        return stream()

    def stream_complete(self, prompt: str, **kwargs: Any) -> Any:
        return iter([])

    async def astream_complete(self, prompt: str, **kwargs: Any) -> Any:
        return self.stream_complete(prompt)


calls: list[str] = []


def read_csv(path: str, encoding: str) -> str:
    """Read a table."""
    calls.append(f"read_csv({path!r}, encoding={encoding!r})")
    if encoding != "gb18030":
        raise ValueError(f"{encoding!r} codec can't decode byte 0xd4")
    return "412 rows"


async def main(folder: str) -> None:
    """Let the agent run twice, with what it learned in between."""
    with Hindsight.open(folder, namespace=("acme", "alice")) as hindsight:
        instrument(hindsight)
        agent = FunctionAgent(tools=[read_csv], llm=ScriptedLLM())
        for file in ("sales.csv", "orders.csv"):
            calls.clear()
            memory = HindsightMemory.from_defaults(hindsight=hindsight)
            answer = await agent.run(f"Load the table in {file}", memory=memory)
            print(f"{file}: {answer}\n  " + "\n  ".join(calls))
            await hindsight.aflush()
        rule = (await hindsight.alist(categories=["rule"])).memories[0]
        print(f"What it learned: {rule.content}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(scratch))
