"""What is asked of memory, validated before anything is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hindsight_core.content import as_mapping, clean_text, read_content
from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Category, Kind, Status
from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import MemoryFilter
from hindsight_core.store.narrowing import check_narrowing
from hindsight_core.trajectory import OutcomeLabel

__all__ = ["MAX_TOP_K", "RecallQuery", "query_text"]

MAX_TOP_K = 1_000
"""Most results of one retrieval; listing pages through more."""
MAX_QUERY_LENGTH = 8_000
"""Characters of a query that are searched for: its head and its tail."""
_MEDIA = re.compile(r"\[(?:image|audio|video|file)(?: [^\]\n]*)?\]")
"""Notes that stand for media among content blocks; nothing can be searched for by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """One retrieval.

    Attributes:
        text: The task or question; blank text asks for the most recent memories.
        top_k: Results, 1–1000.
        task_type: Task type of what is about to be done, `""` if not known.
        tags: Tags that raise a memory's score.
        kinds: Kinds to include, `()` for any, likewise below.
        categories: Categories to include.
        task_types: Task types to include; filters, where `task_type` only scores.
        domain: Field of work: episodes from other domains are left out, rules may cross.
        outcomes: Outcomes to include.
        keywords: Words that must all occur in the content.
        since: Earliest event time.
        until: Latest event time.
        min_confidence: Least confidence at the time of asking.
        statuses: Statuses to include.
        abstain: Whether to leave out what is not relevant enough.
        pool: Results to bring for a choice that is made later, where more than `top_k`.
    """

    text: str
    top_k: int
    task_type: str = ""
    tags: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    categories: tuple[Category, ...] = ()
    task_types: tuple[str, ...] = ()
    domain: str = ""
    outcomes: tuple[OutcomeLabel, ...] = ()
    keywords: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_confidence: float = 0.0
    statuses: tuple[Status, ...] = ("active",)
    abstain: bool = False
    pool: int = 0

    def __post_init__(self) -> None:
        """Validate the numbers and labels, and cut what is too long to search for."""
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, int):
            raise ConfigurationError(f"top_k {self.top_k!r} is not a whole number")
        if not 1 <= self.top_k <= MAX_TOP_K:
            raise ConfigurationError(
                f"top_k {self.top_k} is not in 1–{MAX_TOP_K}; use list() to page through more"
            )
        check_narrowing(self)
        if self.since and self.until and self.since > self.until:
            raise ConfigurationError(f"since {self.since} is after until {self.until}")
        if len(self.text) > MAX_QUERY_LENGTH:
            half = MAX_QUERY_LENGTH // 2
            object.__setattr__(self, "text", f"{self.text[:half]}\n{self.text[-half:]}")

    @property
    def room(self) -> int:
        """Results to bring."""
        return max(self.top_k, self.pool)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to search for."""
        return not self.text.strip()

    def where(self, namespaces: tuple[Namespace, ...], now: datetime) -> MemoryFilter:
        """Return the store's filter for this query."""
        return MemoryFilter(
            namespaces=namespaces,
            statuses=self.statuses,
            kinds=self.kinds,
            categories=self.categories,
            task_types=self.task_types,
            outcomes=self.outcomes,
            keywords=self.keywords,
            since=self.since,
            until=self.until,
            valid_at=now,
            # Fading only lowers confidence, so the stored one is a safe first sieve.
            min_confidence=self.min_confidence,
        )


def query_text(query: Any) -> str:
    """Return what is asked as text: `""` for `None` and for media without words.

    Args:
        query: Text, `None`, a message, or the content blocks of one.

    Raises:
        ConfigurationError: If it is anything else.
    """
    if query is None:
        return ""
    if isinstance(query, str):
        return clean_text(query)
    content: Any = query
    message = None if isinstance(query, list | tuple) else as_mapping(query)
    if message is not None:
        content = message.get("content", query)
    if not isinstance(content, str | list | tuple) and content is not None and message is None:
        raise ConfigurationError(
            f"a query is {type(query).__name__}; pass text, None, or the content of a message"
        )
    return _MEDIA.sub(" ", read_content(content).text).strip()
