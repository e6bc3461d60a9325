"""What was merged by the rule gets words of a model that say all of it, one at a time.

Not while the merge is made: that would hold up every write until the model has answered. So
the merge stands whatever becomes of this, and better words are a version of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_core.errors import ReflectionError
from hindsight_core.lifecycle.merge import WORDED, waits_for_words, wordings
from hindsight_core.lifecycle.merge_model import merge_prompt, read_merge
from hindsight_core.lifecycle.model_work import ModelWork
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.models import Memory
from hindsight_core.reconcile.writer import Revision
from hindsight_core.reflection.base import ReflectionModel
from hindsight_core.safety.quarantine import reason_against
from hindsight_core.store.base import Record

__all__ = ["OUTPUT_TOKENS", "PROMPT_TOKENS", "MergeWording", "Worded"]

REASON = "merged in the words of the model"
PROMPT_TOKENS = 2_000
"""Most tokens of one prompt: a few statements, never a whole history."""
OUTPUT_TOKENS = 400
"""Cap on one answer, which is a sentence or two."""
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


@dataclass(frozen=True, slots=True)
class MergeWording:
    """Asks a model for the words of merged memories.

    Attributes:
        work: Where the memories are, and what may be asked.
        model: The model.
    """

    work: ModelWork
    model: ReflectionModel

    def find(self, memory_ids: Sequence[str], now: datetime) -> Worded:
        """Find words for those of the memories that wait for them.

        Raises:
            StoreError: If the store can't be read or written; what was written stays.
        """
        done = Worded()
        failed = 0
        for position, memory_id in enumerate(memory_ids):
            if failed >= UNANSWERED or not self.work.allows_prompt_after(done.tokens_in):
                done.remaining += len(memory_ids) - position
                break
            records = self.work.records((memory_id,))
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
            count_tokens=self.work.count_tokens,
            budget=self.work.prompt_tokens,
            max_output_tokens=self.work.output_tokens,
        )
        if prompt is None:
            return "", f"what was said takes more than {self.work.prompt_tokens} tokens"
        reply = self.model.complete(prompt)
        sent, answered = self.work.cost(prompt, reply)
        done.tokens_in += sent
        done.tokens_out += answered
        text, fault = read_merge(reply, texts)
        text = self.work.redactor.redact(text).text
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
        proposals = self.work.proposals([said], REASON) if is_new else []
        revisions = (
            [] if is_new else [Revision(before, after, "revised", f"keeps its words: {why}")]
        )
        with self.work.writer.lock:
            records = self.work.records((before.id,))
            if [record.memory.version for record in records] != [before.version]:
                return
            self.work.write(proposals, revisions, now)
        if is_new:
            done.steps.append(Tended.of(said, "reworded", f"said before: {before.content}"))
        else:
            done.notes.append(f"{before.id} keeps its words: {why}")
