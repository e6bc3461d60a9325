"""`HindsightMemoryBlock`: what earlier runs taught, as a block of LlamaIndex's own `Memory`."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock

from hindsight_core.hindsight import Hindsight
from hindsight_core.retrieval.shorten import shortened
from hindsight_llamaindex.binding import Binding, bind
from hindsight_llamaindex.identity import current_caller
from hindsight_llamaindex.recorder import announce
from hindsight_llamaindex.turns import Turns, turn_of

__all__ = ["HindsightMemoryBlock"]


class HindsightMemoryBlock(BaseMemoryBlock[str]):
    """Recalls for the current turn; put it into `Memory.from_defaults(memory_blocks=[…])`.

    ```python
    memory = Memory.from_defaults(memory_blocks=[HindsightMemoryBlock.of(h)])
    ```

    It learns nothing from messages that overflow the short-term memory: `instrument(h)` learns
    from every run, however short. Whose memory is recalled comes with each call: the `user_id`
    and `session_id` of `instrument_tags`, or those given to `Memory.aget`.

    Attributes:
        binding: Which open memory it uses.
        user_id: The user that it is for, `None` to go by each call.
        token_budget: Most tokens of a brief, `None` for the memory's own setting.
        name: Name of the block.
        priority: 1 by default, so that `Memory` may shorten the brief; 0 forbids that.
        accept_short_term_memory: `False`; see above.
    """

    binding: Binding
    user_id: str | None = None
    token_budget: int | None = Field(default=None, gt=0)
    name: str = "hindsight"
    priority: int = 1
    accept_short_term_memory: bool = False

    _turns: Turns = PrivateAttr(default_factory=Turns)

    @classmethod
    def of(cls, hindsight: Hindsight, **options: Any) -> HindsightMemoryBlock:
        """Return a block for an open memory.

        Args:
            hindsight: An open memory.
            options: Values of the attributes.

        Raises:
            ConfigurationError: If it is no open memory.
        """
        return cls(binding=bind(hindsight), **options)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Return the brief for what the user said last, `""` if there is nothing to say."""
        given_user, given_session = block_kwargs.get("user_id"), block_kwargs.get("session_id")
        user = self.user_id if given_user is None else given_user
        caller = current_caller()
        # `Memory` always names its own session. Where tags say which one is meant, they do.
        session = caller.session_id or str(given_session or "")
        caller = caller.known(user_id=user, session_id=session)
        hindsight = self.binding.hindsight(caller.user_id)
        turn = turn_of(messages or (), repeats_question=True)
        run_id = announce(hindsight, session, turn.text, turn.answer_before)
        key = caller.conversation(str(given_session or ""))
        brief = await self._turns.arecall(hindsight, key, turn, run_id, self.token_budget)
        return brief.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Take nothing in: runs are learned from, not single messages."""

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the brief without its lowest-ranked memories, `None` if nothing is left."""
        if not content:
            return None
        count = self.binding.hindsight().count_tokens
        return shortened(content, count(content) - tokens_to_truncate, count) or None
