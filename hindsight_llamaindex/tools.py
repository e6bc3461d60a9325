"""`HindsightToolSpec`: tools by which an agent uses its memory itself."""

from __future__ import annotations

from typing import Any

from llama_index.core.tools.tool_spec.base import BaseToolSpec

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Category
from hindsight_core.telling import tell_forgotten, tell_found, tell_judged, tell_stored
from hindsight_llamaindex.binding import bind
from hindsight_llamaindex.identity import current_caller

__all__ = ["HindsightToolSpec"]

MOST_RESULTS = 20


class HindsightToolSpec(BaseToolSpec):
    """The tools `memory_store`, `memory_retrieve`, `memory_feedback` and `memory_forget`.

    ```python
    agent = FunctionAgent(tools=HindsightToolSpec(h).to_tool_list(), llm=llm)
    ```

    Each acts on the memory of the user in `instrument_tags({"user_id": …})` around the run. A
    refusal, such as an unknown id, is the tool's error and goes to the model.

    Args:
        hindsight: An open memory.
        user_id: The user that they are for, `None` to go by the tags.
    """

    spec_functions: list[Any] = [  # noqa: RUF012 - declared so by the base class
        ("memory_store", "amemory_store"),
        ("memory_retrieve", "amemory_retrieve"),
        ("memory_feedback", "amemory_feedback"),
        ("memory_forget", "amemory_forget"),
    ]

    def __init__(self, hindsight: Hindsight, *, user_id: str | None = None) -> None:
        self._binding = bind(hindsight)
        self._user_id = user_id

    def memory_store(self, content: str, category: Category = "fact") -> str:
        """Remember one fact, rule or preference for later conversations, in one sentence.

        Args:
            content: The statement, complete in itself.
            category: What sort of statement it is.
        """
        return tell_stored(self._view().store(content, category=category, source=_SOURCE))

    async def amemory_store(self, content: str, category: Category = "fact") -> str:
        """Async twin of `memory_store`."""
        return tell_stored(await self._view().astore(content, category=category, source=_SOURCE))

    def memory_retrieve(self, query: str, top_k: int = 5) -> str:
        """Search the memory of past conversations and runs; each result has an id.

        Args:
            query: What to look for.
            top_k: Most results, 1 to 20.
        """
        return tell_found(self._view().retrieve(query, top_k=_bounded(top_k), abstain=True))

    async def amemory_retrieve(self, query: str, top_k: int = 5) -> str:
        """Async twin of `memory_retrieve`."""
        view = self._view()
        return tell_found(await view.aretrieve(query, top_k=_bounded(top_k), abstain=True))

    def memory_feedback(self, memory_id: str, helpful: bool, reason: str = "") -> str:
        """Say whether a memory was right and useful, so that it is trusted more or less.

        Args:
            memory_id: The id that memory_retrieve or memory_store gave.
            helpful: Whether it was.
            reason: Why, in one line.
        """
        changed = self._view().feedback(
            memory_id=memory_id, helpful=helpful, source="llm_judge", reason=reason
        )
        return tell_judged(memory_id, changed)

    async def amemory_feedback(self, memory_id: str, helpful: bool, reason: str = "") -> str:
        """Async twin of `memory_feedback`."""
        changed = await self._view().afeedback(
            memory_id=memory_id, helpful=helpful, source="llm_judge", reason=reason
        )
        return tell_judged(memory_id, changed)

    def memory_forget(self, memory_id: str, reason: str = "") -> str:
        """Take a memory out of use, because it is wrong or the user asked for it.

        Args:
            memory_id: The id that memory_retrieve or memory_store gave.
            reason: Why, in one line.
        """
        gone = self._view().forget(memory_id, reason=reason or _REASON)
        return tell_forgotten(memory_id, gone)

    async def amemory_forget(self, memory_id: str, reason: str = "") -> str:
        """Async twin of `memory_forget`."""
        gone = await self._view().aforget(memory_id, reason=reason or _REASON)
        return tell_forgotten(memory_id, gone)

    def _view(self) -> Hindsight:
        caller = current_caller().known(user_id=self._user_id)
        return caller.view(self._binding.hindsight())


_SOURCE: Any = "agent_inference"
_REASON = "by the agent"


def _bounded(top_k: int) -> int:
    return max(1, min(MOST_RESULTS, top_k))
