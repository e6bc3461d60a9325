"""What it takes to have a model word memories of a namespace, and to write what came of it.

Shared by all tending that asks a model: where the memories are, how new words get into the
store, and how much may be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder, TokenCounter
from hindsight_core.learning import propose
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import ask, run
from hindsight_core.reconcile.neighbors import Proposal
from hindsight_core.reconcile.writer import Revision, Writer, Written
from hindsight_core.reflection.base import ModelReply, Prompt
from hindsight_core.safety.redact import Redactor
from hindsight_core.store.base import Get, MemoryStore, Record

__all__ = ["ModelWork"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWork:
    """Means and limits of a model's work on the memories of one namespace.

    Attributes:
        namespace: Whose memories.
        lifecycle: The profile's thresholds.
        store: Where they are.
        writer: Puts new words into it.
        dense: Embeds them.
        sparse: Indexes them for BM25.
        redactor: Takes secrets out of what a model wrote.
        count_tokens: Counts tokens.
        token_limit: Most tokens that are sent to the model altogether.
        prompt_tokens: Most tokens of one prompt.
        output_tokens: Cap on one answer.
    """

    namespace: Namespace
    lifecycle: Lifecycle
    store: MemoryStore
    writer: Writer
    dense: DenseEmbedder
    sparse: SparseEmbedder
    redactor: Redactor
    count_tokens: TokenCounter
    token_limit: int
    prompt_tokens: int
    output_tokens: int

    def allows_prompt_after(self, spent: int) -> bool:
        """Whether another prompt may be sent when `spent` tokens were."""
        return spent + self.prompt_tokens <= self.token_limit

    def cost(self, prompt: Prompt, reply: ModelReply) -> tuple[int, int]:
        """Return the tokens sent and answered; those sent are counted where nobody told them."""
        told = reply.tokens_in
        sent = self.count_tokens(prompt.system + prompt.user) if told is None else told
        return sent, reply.tokens_out or 0

    def records(self, memory_ids: Sequence[str]) -> tuple[Record, ...]:
        """Return what the store holds under those ids.

        Raises:
            StoreError: If the store can't be read.
        """
        return run(ask(Get((self.namespace,), tuple(memory_ids))), self.store)

    def proposals(self, memories: Sequence[Memory], reason: str) -> list[Proposal]:
        """Embed `memories` and return them ready to be written."""
        return propose(memories, self.dense, self.sparse, reason=reason)

    def write(
        self, proposals: Sequence[Proposal], revisions: Sequence[Revision], now: datetime
    ) -> Written:
        """Write new memories and changes to known ones; to be called with the writer's lock.

        Raises:
            StoreError: If the store can't be read or written.
        """
        plan = self.writer.write(
            self.namespace, proposals, revisions, lifecycle=self.lifecycle, now=now
        )
        return run(plan, self.store)
