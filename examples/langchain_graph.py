"""A hand-built graph with memory, a checkpointer and a pause for a person.

Run it with `python examples/langchain_graph.py`.
"""

import tempfile
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from hindsight_core import Hindsight
from hindsight_langchain import recall_node, with_hindsight


class State(MessagesState):
    """The conversation, and what is known for this turn."""

    memory: str


def approve(state: State) -> dict[str, Any]:
    """Let a person decide, and say what was decided."""
    decision = interrupt("May I deploy?")
    known = "You prefer Mondays. " if "on Monday" in state["memory"] else ""
    return {"messages": [AIMessage(f"{known}Decision: {decision}")]}


def main() -> None:
    """Deploy twice; what the person says in the first run is known in the second."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, namespace="ops") as hindsight,
    ):
        graph = StateGraph(State)
        graph.add_node("recall", recall_node(hindsight))
        graph.add_node("approve", approve)
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "approve")
        graph.add_edge("approve", END)
        app = with_hindsight(graph.compile(checkpointer=InMemorySaver()), hindsight)

        answers = ("No. I prefer deployments on Monday, please remember that.", "Yes")
        for number, answer in enumerate(answers, start=1):
            config = {"configurable": {"thread_id": f"thread-{number}", "user_id": "alice"}}
            config["metadata"] = {"user_id": "alice"}
            asked = app.invoke({"messages": [("user", "Deploy the shop on Friday")]}, config)
            print(f"Run {number} paused:", asked["__interrupt__"][0].value)
            done = app.invoke(Command(resume=answer), config)
            print(f"Run {number} ended:", done["messages"][-1].content)
            hindsight.flush()

        for memory in hindsight.for_user("alice").list().memories:
            print(f"- [{memory.category}] {memory.content}")


if __name__ == "__main__":
    main()
