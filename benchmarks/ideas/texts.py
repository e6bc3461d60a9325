"""What text is embedded and indexed, and which terms of a query weigh more."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.ideas.collection import Entry
from benchmarks.ideas.variant import Made, Variant
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.reconcile.texts import searchable_text
from hindsight_core.store.base import SparseVector

__all__ = ["named_in", "term_variants", "text_variants"]

BEFORE = 200
"""Characters of the message before, its last ones, that are put in front."""
RUNS = ("success-first", "experience")
"""Sets whose memories were learned in tasks."""
_SPEAKER = re.compile(r"^[A-Z]\w*: ")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]+")
_NUMBER = re.compile(r"\b[\w-]*\d[\w-]*\b|[\"“]([^\"”]+)[\"”]")


def text_variants() -> list[Variant]:
    """Return the variants of the text that a memory is found by."""
    group = "text"
    return [
        Variant(group, "content alone", made=_both(_content), sets=RUNS),
        Variant(group, "content and task", made=_both(_with_task), sets=RUNS),
        Variant(group, "date in front, embedded", made=Made(dense=_dated), sets=("locomo",)),
        Variant(group, "date in front, both lanes", made=_both(_dated), sets=("locomo",)),
        Variant(
            group, "message before in front, embedded",
            made=Made(dense=_with_before), sets=("locomo", "beam"),
        ),
        Variant(
            group, "message before in front, both lanes",
            made=_both(_with_before), sets=("locomo", "beam"),
        ),
    ]  # fmt: skip


def term_variants() -> list[Variant]:
    """Return the variants of speakers, names and other exact terms."""
    group = "terms"
    return [
        Variant(group, "speaker not embedded", made=Made(dense=_without_speaker), sets=("locomo",)),
        Variant(group, "speaker in neither lane", made=_both(_without_speaker), sets=("locomo",)),
        Variant(group, "names of the query weigh 2", made=_heavier(named_in, 2.0)),
        Variant(group, "names of the query weigh .5", made=_heavier(named_in, 0.5)),
        Variant(group, "numbers and quoted words weigh 2", made=_heavier(_exact_in, 2.0)),
        Variant(
            group, "rarity of a term over the store",
            made=Made(rarity_over_store=True), sets=("locomo", "beam", "chinese"),
        ),
        Variant(group, "stop words of a question weigh 1", made=Made(query_terms=_all_alike)),
    ]  # fmt: skip


def named_in(query: str) -> list[str]:
    """Return the capitalized words of a query that do not begin a sentence."""
    return [match.group() for match in _NAME.finditer(query)]


def _exact_in(query: str) -> list[str]:
    return [match[1] or match.group() for match in _NUMBER.finditer(query)]


def _both(text: Callable[[Entry], str]) -> Made:
    return Made(dense=text, sparse=text)


def _content(entry: Entry) -> str:
    return entry.memory.content


def _with_task(entry: Entry) -> str:
    memory = entry.memory
    parts = (memory.task_description, memory.content, memory.applies_when)
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _dated(entry: Entry) -> str:
    return f"{entry.memory.event_time:%d %B %Y}. {searchable_text(entry.memory)}"


def _with_before(entry: Entry) -> str:
    return f"{entry.before[-BEFORE:]}\n{searchable_text(entry.memory)}".lstrip()


def _without_speaker(entry: Entry) -> str:
    return _SPEAKER.sub("", searchable_text(entry.memory))


def _heavier(find: Callable[[str], list[str]], weight: float) -> Made:
    words = Bm25Embedder()

    def query_terms(query: str, asked: SparseVector) -> SparseVector:
        found = frozenset(words.embed_query(" ".join(find(query))).indices)
        values = (
            value * weight if term in found else value
            for term, value in zip(asked.indices, asked.values, strict=True)
        )
        return SparseVector(asked.indices, tuple(values))

    return Made(query_terms=query_terms)


def _all_alike(query: str, asked: SparseVector) -> SparseVector:
    return SparseVector(asked.indices, (1.0,) * len(asked.indices))
