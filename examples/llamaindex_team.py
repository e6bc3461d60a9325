"""Agents of several users with rules that they share. Needs no key and no network.

What a user's agents experience stays with that user; the rules of the team are read by all.
Run it with `python examples/llamaindex_team.py`.
"""

import asyncio
import tempfile
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock
from llama_index_instrumentation.dispatcher import instrument_tags
from llamaindex_agent import ScriptedLLM

from hindsight_core import Hindsight
from hindsight_llamaindex import HindsightMemory, instrument


class Planner(ScriptedLLM):
    """Stands for a model that hands over to the deployer."""

    def _answer(self, messages: Any) -> ChatResponse:
        handoff = {"to_agent": "deployer", "reason": "it deploys"}
        call = ToolCallBlock(tool_call_id="h1", tool_name="handoff", tool_kwargs=handoff)
        return ChatResponse(message=ChatMessage(role="assistant", blocks=[call]))


class Deployer(ScriptedLLM):
    """Stands for a model that does what the rules of the team say."""

    def _answer(self, messages: Any) -> ChatResponse:
        told = " ".join(message.content or "" for message in messages)
        plan = "Open the VPN, then deploy." if "VPN" in told else "Deploy."
        return ChatResponse(message=ChatMessage(role="assistant", content=plan))


async def main(folder: str) -> None:
    """Store a rule for the team, and let the agents of two users work."""
    shared = ("acme", "shared")
    with Hindsight.open(folder, namespace="acme", read_namespaces=[shared]) as hindsight:
        instrument(hindsight)
        team = hindsight.scoped(shared)
        team.store("Before you deploy a branch to staging, open the VPN", category="rule")
        memory = HindsightMemory.from_defaults(hindsight=hindsight)
        planner = FunctionAgent(
            name="planner", description="plans", llm=Planner(), can_handoff_to=["deployer"]
        )
        deployer = FunctionAgent(name="deployer", description="deploys", llm=Deployer())
        workflow = AgentWorkflow(agents=[planner, deployer], root_agent="planner")
        for user in ("alice", "bob"):
            with instrument_tags({"user_id": user, "session_id": "release"}):
                answer = await workflow.run(f"Deploy {user}'s branch to staging", memory=memory)
            print(f"{user}: {answer}")
        await hindsight.aflush()
        for user in ("alice", "bob"):
            runs = (await hindsight.for_user(user).alist(kinds=["episodic"])).memories
            print(f"Only {user} remembers: {[m.task_description for m in runs]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(main(scratch))
