"""The agent of `langchain_agent.py` with a real model behind an OpenAI-compatible endpoint.

Set `AGENT_MODEL` and, as the endpoint needs them, `LLM_BASE_URL` and `LLM_API_KEY`; install
`langchain-openai` beside the extras. Reflection uses the same model unless `REFLECTION_MODEL`
names a cheaper one. Without `AGENT_MODEL` it says so and ends.
"""

import os
import tempfile

from langchain_core.tools import ToolException, tool

from hindsight_core import Hindsight
from hindsight_langchain import create_hindsight_agent, reflection_model


@tool
def book_table(restaurant: str, time: str) -> str:
    """Book a table for two at a restaurant."""
    if ":" not in time:
        raise ToolException("Error: time must be HH:MM")
    return f"Table 7 at {restaurant} is yours at {time}."


book_table.handle_tool_error = True


def main(name: str) -> None:
    """Ask twice, and show what was learned."""
    from langchain_openai import ChatOpenAI

    def chat(model: str) -> ChatOpenAI:
        return ChatOpenAI(
            model=model,
            base_url=os.environ.get("LLM_BASE_URL") or None,
            api_key=os.environ.get("LLM_API_KEY") or "none",
        )

    reflecting = reflection_model(chat(os.environ.get("REFLECTION_MODEL") or name))
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="restaurant", model=reflecting) as hindsight,
    ):
        agent = create_hindsight_agent(hindsight, chat(name), [book_table])
        for _ in range(2):
            question = {"messages": [("user", "Book a table at Luigi's for seven in the evening")]}
            done = agent.invoke(question, {"metadata": {"user_id": "alice"}})
            print(done["messages"][-1].text)
            hindsight.flush(timeout=120)
        for memory in hindsight.for_user("alice").list().memories:
            print(f"- [{memory.category}] {memory.content}")


if __name__ == "__main__":
    if os.environ.get("AGENT_MODEL"):
        main(os.environ["AGENT_MODEL"])
    else:
        print("Set AGENT_MODEL, LLM_BASE_URL and LLM_API_KEY to run this with a real model.")
