"""The keyword arguments that several verbs share, sync and async."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, TypedDict

from hindsight_core.models import Category, Context, Evidence, Kind, Source, Status
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.trajectory import OutcomeLabel, OutcomeSource

__all__ = [
    "BriefOptions",
    "FeedbackOptions",
    "FilterOptions",
    "ForethoughtOptions",
    "ListOptions",
    "RetrieveOptions",
    "StoreOptions",
]


class StoreOptions(TypedDict, total=False):
    """What `store` takes besides the content; see `hindsight_core.models.Memory`."""

    kind: Kind
    category: Category
    memory_id: str
    task_type: str
    task_description: str
    applies_when: str
    not_when: str
    context: Context
    outcome: OutcomeLabel
    confidence: float
    importance: float
    source: Source
    tags: Sequence[str]
    domain: str
    evidence: Sequence[Evidence]
    event_time: datetime
    valid_until: datetime
    metadata: Mapping[str, Any]


class RetrieveOptions(TypedDict, total=False):
    """What `retrieve` takes besides the query.

    Keys:
        top_k: Results, 1–1000; by default the profile's.
        profile: Name of a profile, or one of your own, for this call.
        task_type: Task type of what is about to be done; raises matching memories.
        tags: Tags that raise a memory's score.
        kinds: Kinds to include; likewise `categories`, `task_types`, `outcomes`.
        domain: Field of work; episodes from other domains are left out.
        keywords: Words that must all occur in the content.
        since: Earliest event time, aware.
        until: Latest event time, aware.
        min_confidence: Least confidence now, 0–1.
        statuses: Statuses to include, by default only `active`.
        abstain: Leave out what is not relevant enough, as a brief does.
        rerank: `False` for no re-ranking, `True` or `None` for what the settings say (`True`:
            the reflection model if they say `off`), or what `Settings.rerank` takes.
        expand: Likewise for widening a short or vague query (`True`: from the session), or
            what `Settings.expand` takes.
        session_id: The session that a vague query is widened from.
        diverse: Fold near-copies of a run and put its best success and its closest failure
            first, as a brief does.
    """

    top_k: int | None
    profile: str | Profile | None
    task_type: str | None
    tags: Sequence[str]
    kinds: Sequence[Kind] | None
    categories: Sequence[Category] | None
    task_types: Sequence[str] | None
    outcomes: Sequence[OutcomeLabel] | None
    domain: str
    keywords: Sequence[str]
    since: datetime | None
    until: datetime | None
    min_confidence: float
    statuses: Sequence[Status]
    abstain: bool
    rerank: Any
    expand: Any
    session_id: str
    diverse: bool


class BriefOptions(RetrieveOptions, total=False):
    """What `brief` takes besides the query and what `retrieve` takes.

    Keys:
        token_budget: Most tokens; by default the settings'.
        context_window: Tokens of the model's window, of which a brief takes a share at most.
        run_id: The run it is for, so that its outcome is credited to these memories.
        language: `en` or `zh` headings; by default, or with `auto`, the language of the query.
    """

    token_budget: int | None
    context_window: int | None
    run_id: str
    language: str


class ForethoughtOptions(TypedDict, total=False):
    """What `forethought` takes besides the task.

    Keys:
        token_budget: Most tokens, at most 200, which is the default.
        run_id: The run it is for, so that its outcome is credited to these memories.
        language: `en` or `zh`; by default, or with `auto`, the language of the task.
        profile: Name of a profile, or one of your own, for this call.
        task_type: Task type of what is about to be done; raises matching memories.
        domain: Field of work; episodes from other domains are left out.
        timezone: Where weekdays are told, UTC by default.
    """

    token_budget: int
    run_id: str
    language: str
    profile: str | Profile | None
    task_type: str | None
    domain: str
    timezone: tzinfo | None


class FilterOptions(TypedDict, total=False):
    """Filters of `list` and `forget`; each leaves everything in when it is left out."""

    kinds: Sequence[Kind]
    categories: Sequence[Category]
    statuses: Sequence[Status]
    task_types: Sequence[str]
    tags: Sequence[str]
    domains: Sequence[str]
    sources: Sequence[Source]
    outcomes: Sequence[OutcomeLabel]
    keywords: Sequence[str]
    since: datetime
    until: datetime
    min_confidence: float


class ListOptions(FilterOptions, total=False):
    """What `list` takes: the filters, and a run that taught or confirmed what is listed."""

    run_id: str


class FeedbackOptions(TypedDict, total=False):
    """What `feedback` takes.

    Keys:
        run_id: The run it is about, with `outcome`.
        outcome: How that run turned out.
        memory_id: The memory it is about, with `helpful`.
        helpful: Whether that memory was right.
        source: Who says so.
        reason: Why, in words.
    """

    run_id: str
    outcome: OutcomeLabel
    memory_id: str
    helpful: bool
    source: OutcomeSource
    reason: str
