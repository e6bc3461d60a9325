"""An agent that makes a mistake once: the second run is told what fixed the first.

Run it with `python examples/langchain_agent.py`; it needs `pip install ".[langchain,offline]"`.
"""

import tempfile
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool

from hindsight_core import Hindsight
from hindsight_langchain import create_hindsight_agent


class ScriptedModel(BaseChatModel):
    """Stands in for a real model: it books at "7pm" unless its prompt says how times look."""

    _llm_type = "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Take the tools; the script knows them already."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last, knows = messages[-1], "19:00" in str(messages[0].content)
        if isinstance(last, ToolMessage) and last.status != "error":
            answer = AIMessage(f"Done. {last.content}")
        else:
            time = "19:00" if knows or isinstance(last, ToolMessage) else "7pm"
            args = {"restaurant": "Luigi", "time": time}
            call = {"name": "book_table", "args": args, "id": f"call_{len(messages)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def book_table(restaurant: str, time: str) -> str:
    """Book a table for two at a restaurant."""
    if ":" not in time:
        raise ToolException("Error: time must be HH:MM")
    return f"Table 7 is yours at {time}."


book_table.handle_tool_error = True


def main() -> None:
    """Ask twice, and show the calls of each run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="restaurant") as hindsight,
    ):
        agent = create_hindsight_agent(hindsight, ScriptedModel(), [book_table])
        for number in (1, 2):
            question = {"messages": [("user", "Book a table at Luigi's for 7pm")]}
            done = agent.invoke(question, {"metadata": {"user_id": "alice"}})
            print(f"Run {number}:")
            for message in done["messages"]:
                for call in getattr(message, "tool_calls", ()):
                    print(f"  book_table({call['args']['time']!r})")
                if isinstance(message, ToolMessage):
                    print(f"    {message.content}")
            print(f"  {done['messages'][-1].content}")
            hindsight.flush()  # reflection runs in the background; wait for it here
        rules = hindsight.for_user("alice").list(categories=["rule"]).memories
        print("\nWhat was learned in between:", *(rule.content for rule in rules), sep="\n- ")


if __name__ == "__main__":
    main()
