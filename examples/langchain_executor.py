"""A classic `AgentExecutor` with memory; new agents are better built with `create_agent`.

Run it with `python examples/langchain_executor.py`.
"""

import tempfile
from typing import Any

from langchain_classic.agents import AgentExecutor, create_react_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import tool

from hindsight_core import Hindsight
from hindsight_langchain import HindsightCallbackHandler, HindsightMemory

PROMPT = PromptTemplate.from_template(
    "You have: {tools} ({tool_names})\n{memory}\nQuestion: {input}\nThought:{agent_scratchpad}"
)


class ScriptedModel(BaseChatModel):
    """Stands in for a real model: it looks a price up, then answers."""

    _llm_type = "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        text = str(messages[-1].content)
        reply = "I look it up.\nAction: price_of\nAction Input: tea"
        if "Observation:" in text:
            currency = "kroner" if "kroner" in text.partition("Question:")[0] else "dollars"
            reply = f"I know.\nFinal Answer: Tea costs 70 {currency}."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply))])


@tool
def price_of(item: str) -> str:
    """Return the price of an item."""
    return f"{item}: 70"


def main() -> None:
    """Ask, correct, ask again."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="shop") as hindsight,
    ):
        alice = hindsight.for_user("alice")
        executor = AgentExecutor(
            agent=create_react_agent(ScriptedModel(), [price_of], PROMPT),
            tools=[price_of],
            memory=HindsightMemory(hindsight=alice),
            return_intermediate_steps=True,
            callbacks=[HindsightCallbackHandler(alice)],  # learns from failed runs as well
        )
        for question in (
            "What is the price of tea?",
            "That's wrong. I always want prices in kroner, please remember that. Price of tea?",
            "What is the price of tea in the currency that I always want?",
        ):
            print("-", executor.invoke({"input": question})["output"])
            hindsight.flush()


if __name__ == "__main__":
    main()
