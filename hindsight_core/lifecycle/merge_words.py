"""What was merged by the rule gets words of a model that say all of it, one at a time.

Not while the merge is made: that would hold up every write until the model has answered. So
the merge stands whatever becomes of this, and better words are a version of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder, TokenCounter
from hindsight_core.errors import ReflectionError
from hindsight_core.learning import propose
from hindsight_core.lifecycle.merge import WORDED, waits_for_words, wordings
from hindsight_core.lifecycle.merge_model import merge_prompt, read_merge
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import ask, run
from hindsight_core.reconcile.writer import Revision, Writer
from hindsight_core.reflection.base import ReflectionModel
from hindsight_core.safety.quarantine import reason_against
from hindsight_core.safety.redact import Redactor
from hindsight_core.store.base import Get, MemoryStore, Record

__all__ = ["MergeWording", "Worded"]

REASON = "merged in the words of the model"
UNANSWERED = 3
"""Calls in a row that may fail before the rest is left for the next time."""


@dataclass(slots=True)
class Worded:
    """What asking for words came to.

    Attributes:
        steps: Memories that got new words.
        notes: Why others kept those of the rule.
        remaining: Memories that wait for the next time.
        tokens_in: Tokens sent to the model.
        tokens_out: Tokens that it answered.
    """

    steps: list[Tended] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remaining: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


def _is_open(record: Record) -> bool:
    """Whether words are still to be found; those that a person took back don't come again."""
    if record.memory.status != "active" or not waits_for_words(record.memory):
        return False
    steps = (change.reason for change in reversed(record.changes))
    last = next((step for step in steps if step.startswith(("merged with", REASON))), "")
    return last != REASON


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeWording:
    """Asks a model for the words of merged memories.

    Attributes:
        namespace: Whose memories.
        lifecycle: The profile's thresholds.
        store: Where they are.
        writer: Puts new words into it.
        dense: Embeds them.
        sparse: Indexes them for BM25.
        redactor: Takes secrets out of what the model wrote.
        count_tokens: Counts tokens.
        model: The model.
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
    model: ReflectionModel
    token_limit: int = 40_000
    prompt_tokens: int = 2_000
    output_tokens: int = 400

    def find(self, memory_ids: Sequence[str], now: datetime) -> Worded:
        """Find words for those of the memories that wait for them.

        Raises:
            StoreError: If the store can't be read or written; what was written stays.
        """
        done = Worded()
        failed = 0
        for position, memory_id in enumerate(memory_ids):
            if failed >= UNANSWERED or done.tokens_in + self.prompt_tokens > self.token_limit:
                done.remaining += len(memory_ids) - position
                break
            records = run(ask(Get((self.namespace,), (memory_id,))), self.store)
            if not records or not _is_open(records[0]):
                continue
            memory = records[0].memory
            try:
                text, fault = self._ask(memory, done)
            except ReflectionError as error:
                done.notes.append(f"{memory_id}: the model could not be asked: {error}")
                done.remaining += 1
                failed += 1
                continue
            failed = 0
            self._settle(memory, text, fault, now, done)
        return done

    def _ask(self, memory: Memory, done: Worded) -> tuple[str, str]:
        """Return the words of the model, or `""` and why they are not used."""
        texts = wordings(memory)
        prompt = merge_prompt(
            texts,
            count_tokens=self.count_tokens,
            budget=self.prompt_tokens,
            max_output_tokens=self.output_tokens,
        )
        if prompt is None:
            return "", f"what was said takes more than {self.prompt_tokens} tokens"
        reply = self.model.complete(prompt)
        told = reply.tokens_in
        done.tokens_in += self.count_tokens(prompt.system + prompt.user) if told is None else told
        done.tokens_out += reply.tokens_out or 0
        text, fault = read_merge(reply, texts)
        text = self.redactor.redact(text).text
        if text and (held := reason_against(replace(memory, content=text, source="import"))):
            return "", held
        return text, fault

    def _settle(self, before: Memory, text: str, fault: str, now: datetime, done: Worded) -> None:
        """Write the words, or that the rule's stay; nothing where it was changed meanwhile."""
        settled = {"by": "model"} if text else {"by": "rule", "why": fault}
        after = replace(before, metadata={**before.metadata, WORDED: settled}, updated_at=now)
        why = fault or "the model has no other words"
        is_new = text not in {"", before.content}
        said = replace(after, content=text) if is_new else after
        proposals = propose([said], self.dense, self.sparse, reason=REASON) if is_new else []
        revisions = (
            [] if is_new else [Revision(before, after, "revised", f"keeps its words: {why}")]
        )
        with self.writer.lock:
            records = run(ask(Get((self.namespace,), (before.id,))), self.store)
            if [record.memory.version for record in records] != [before.version]:
                return
            plan = self.writer.write(
                self.namespace, proposals, revisions, lifecycle=self.lifecycle, now=now
            )
            run(plan, self.store)
        if is_new:
            done.steps.append(Tended.of(said, "reworded", f"said before: {before.content}"))
        else:
            done.notes.append(f"{before.id} keeps its words: {why}")
