"""One memory for both frameworks: what a LangChain agent learns, a LlamaIndex agent recalls.

Needs no key and no network. Run it with `python examples/both_frameworks.py`.
"""

# ruff: noqa: D102 - a scripted model has the methods that the framework asks for
import asyncio
import tempfile
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from llama_index.core.agent.workflow import FunctionAgent
from llamaindex_agent import ScriptedLLM, calls, read_csv

from hindsight_core import Hindsight
from hindsight_langchain import HindsightMiddleware
from hindsight_llamaindex import HindsightMemory, instrument


class ScriptedChatModel(BaseChatModel):
    """Stands for a model behind LangChain: tries UTF-8 first, then GB18030."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kw: Any) -> Any:
        last = str(messages[-1].content)
        if "rows" in last:
            answer = AIMessage("The table is read.")
        else:
            encoding = "gb18030" if "decode" in last else "utf-8"
            call = {
                "name": "load_csv",
                "args": {"path": "sales.csv", "encoding": encoding},
                "id": f"call_{len(messages)}",
            }
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def load_csv(path: str, encoding: str) -> str:
    """Read a table."""
    try:
        return read_csv(path, encoding)
    except ValueError as error:
        return f"Error: {error}"


async def main(folder: str) -> None:
    """Let an agent of each framework read a table."""
    with Hindsight.open(folder, namespace=("acme", "alice")) as hindsight:
        agent = create_agent(
            ScriptedChatModel(), [load_csv], middleware=[HindsightMiddleware(hindsight)]
        )
        agent.invoke({"messages": [{"role": "user", "content": "Load the table in sales.csv"}]})
        print("LangChain:\n  " + "\n  ".join(calls))
        await hindsight.aflush()

        calls.clear()
        instrument(hindsight)
        other = FunctionAgent(tools=[read_csv], llm=ScriptedLLM())
        memory = HindsightMemory.from_defaults(hindsight=hindsight)
        await other.run("Load the table in orders.csv", memory=memory)
        print("LlamaIndex:\n  " + "\n  ".join(calls))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(scratch))
