"""What was learned: memories, the lessons they come from, and what retrieval gives back.

All values are frozen. Times are aware and in UTC. Confidence and importance are in 0–1.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from hindsight_core.clock import as_utc
from hindsight_core.errors import ConfigurationError
from hindsight_core.namespaces import Namespace
from hindsight_core.trajectory import OUTCOME_LABELS, OutcomeLabel

__all__ = [
    "CATEGORIES",
    "KINDS",
    "SOURCES",
    "STATEMENTS",
    "STATUSES",
    "Brief",
    "Category",
    "Change",
    "Context",
    "Evidence",
    "Kind",
    "Lesson",
    "Memory",
    "Page",
    "Reflection",
    "ReflectionStatus",
    "Retrieved",
    "Source",
    "Status",
    "is_statement",
]

Kind: TypeAlias = Literal["episodic", "semantic"]
Category: TypeAlias = Literal["experience", "rule", "fact", "preference", "entity", "correction"]
Source: TypeAlias = Literal["user_feedback", "validator", "agent_inference", "rule", "import"]
Status: TypeAlias = Literal["active", "superseded", "archived", "forgotten", "quarantined"]
ReflectionStatus: TypeAlias = Literal["learned", "nothing_to_learn", "failed"]

KINDS: tuple[Kind, ...] = ("episodic", "semantic")
CATEGORIES: tuple[Category, ...] = (
    "experience",
    "rule",
    "fact",
    "preference",
    "entity",
    "correction",
)
STATEMENTS: tuple[Category, ...] = tuple(c for c in CATEGORIES if c != "experience")
"""Categories of what holds, which is compared, merged and replaced; see `is_statement`."""
SOURCES: tuple[Source, ...] = (
    "user_feedback",
    "validator",
    "agent_inference",
    "rule",
    "import",
)
STATUSES: tuple[Status, ...] = ("active", "superseded", "archived", "forgotten", "quarantined")
MAX_CONTENT_LENGTH = 20_000
"""Characters of content that a memory keeps; longer text is refused, not cut in silence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a memory comes from.

    Attributes:
        run_id: The run that taught or confirmed it.
        steps: Positions of the steps in that run's trajectory, counted from 0.
    """

    run_id: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The circumstances of an experience.

    Attributes:
        tools_used: Tools in order of first use.
        parameters: The arguments that mattered, JSON-safe.
        input_sample: A short piece of what went in.
        output_sample: A short piece of what came out.
    """

    tools_used: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    input_sample: str = ""
    output_sample: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One step in a memory's life.

    Attributes:
        version: The version that this change made, 2 for the first change.
        at: When it was made.
        reason: Why, in words, for example `"feedback: failure of run_…"`.
        run_id: The run behind it, `""` if none.
        before: The changed fields as they were, JSON-safe, in payload form.
    """

    version: int
    at: datetime
    reason: str
    run_id: str
    before: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What reflection proposes; reconciliation decides what becomes of it.

    Attributes:
        content: One fact, plain text, in the language of the run.
        kind: `episodic` for what happened, `semantic` for what holds.
        category: What sort of statement it is.
        task_type: A declared task type, `"general"` if none fits.
        task_description: What was being done when it was learned.
        applies_when: Condition under which it holds, `""` if always.
        not_when: Condition under which it does not hold.
        context: The circumstances.
        outcome: Outcome of the run it comes from.
        confidence: How sure, 0–1; `None` takes the profile's initial value.
        importance: How much it matters, 0–1.
        source: Who stands behind it.
        tags: Labels.
        steps: Positions of the steps that show it.
        event_time: When it happened or began to hold; `None` takes the end of the run.
        valid_until: When it stops holding, if that is known.
        supersedes: Ids of offered memories that this one replaces.
    """

    content: str
    kind: Kind = "semantic"
    category: Category = "fact"
    task_type: str = "general"
    task_description: str = ""
    applies_when: str = ""
    not_when: str = ""
    context: Context = Context()
    outcome: OutcomeLabel = "unknown"
    confidence: float | None = None
    importance: float = 0.5
    source: Source = "rule"
    tags: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    event_time: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Validate the text, the labels and the numbers."""
        _check_statement(self)
        if self.outcome not in OUTCOME_LABELS:  # of a memory, `store` looks before it is kept
            raise ConfigurationError(
                f"outcome {self.outcome!r} is not known; use one of {', '.join(OUTCOME_LABELS)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that Hindsight holds, as it stands in its latest version.

    Attributes:
        id: `mem_…` when made here; any non-blank text when given by a caller.
        namespace: Who may see it.
        content: One fact, plain text.
        kind: `episodic` or `semantic`.
        category: What sort of statement it is.
        task_type: A declared task type.
        task_description: What was being done.
        applies_when: Condition under which it holds.
        not_when: Condition under which it does not.
        context: The circumstances.
        outcome: How the run behind an experience ended.
        confidence: 0–1, as last changed; fading is computed when it is read.
        importance: 0–1.
        source: Who stands behind it.
        tags: Labels.
        domain: Field of work that an episode stays inside, `""` for none.
        evidence: The runs and steps behind it.
        supersedes: Ids that this memory replaced.
        superseded_by: Id that replaced it, `""` if none.
        status: Only `active` memories are retrieved by default.
        event_time: When it happened or began to hold.
        created_at: When it was stored.
        updated_at: When it was last changed.
        last_accessed_at: When it last went into a brief, `None` if never.
        valid_until: When it stops holding.
        access_count: How often it went into a brief.
        success_count: How often a run that had it in its brief succeeded.
        failure_count: How often such a run failed.
        version: 1 when stored, one more with each change.
        metadata: JSON-safe notes of the caller.
    """

    id: str
    namespace: Namespace
    content: str
    kind: Kind
    category: Category
    event_time: datetime
    created_at: datetime
    updated_at: datetime
    task_type: str = "general"
    task_description: str = ""
    applies_when: str = ""
    not_when: str = ""
    context: Context = Context()
    outcome: OutcomeLabel = "unknown"
    confidence: float = 0.7
    importance: float = 0.5
    source: Source = "agent_inference"
    tags: tuple[str, ...] = ()
    domain: str = ""
    evidence: tuple[Evidence, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str = ""
    status: Status = "active"
    last_accessed_at: datetime | None = None
    valid_until: datetime | None = None
    access_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    version: int = 1
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate the text, the labels, the numbers and the times."""
        _check_statement(self)
        if not self.id.strip():
            raise ConfigurationError("a memory id is blank; leave it out to have one made")
        if self.status not in STATUSES:
            raise ConfigurationError(
                f"status {self.status!r} is not known; use one of {', '.join(STATUSES)}"
            )
        for name in ("created_at", "updated_at", "last_accessed_at"):
            moment = getattr(self, name)
            if moment is not None:
                object.__setattr__(self, name, as_utc(moment, name=name))

    def detached(self) -> Memory:
        """Return an equal memory whose mappings are its own.

        What a store keeps for the next search is handed out so: nobody's change to the notes of
        a result may show in the results of others.
        """
        memory = object.__new__(Memory)
        for name in Memory.__slots__:
            object.__setattr__(memory, name, getattr(self, name))
        own = copy.deepcopy(self.metadata) if self.metadata else {}
        object.__setattr__(memory, "metadata", own)
        if self.context.parameters:
            object.__setattr__(memory, "context", copy.deepcopy(self.context))
        return memory


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One result of a retrieval.

    Attributes:
        memory: The memory.
        score: What it was ranked by; comparable within one retrieval only.
        factors: Each factor's share of `score`. Additive factors sum to it before the
            multiplicative ones, whose names start with `×`.
        relevance: Absolute relevance to the query in 0–1, what abstention looks at.
        reason: Why a re-ranker rated it so, `""` if none did.
        copies: Ids of near-copies that this result stands for, as in a brief.
    """

    memory: Memory
    score: float
    factors: Mapping[str, float]
    relevance: float = 0.0
    reason: str = ""
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """The rendered block that goes into a prompt; falsy when there is nothing to say.

    Attributes:
        text: The block between its marks, `""` when empty.
        retrieved: What it is made of, in order of rank.
        tokens: Tokens of `text`.
        language: `en` or `zh`, the language of its headings.
        available: `False` when the store could not be asked, so emptiness means nothing.
    """

    text: str = ""
    retrieved: tuple[Retrieved, ...] = ()
    tokens: int = 0
    language: str = "en"
    available: bool = True

    def __bool__(self) -> bool:
        """Whether there is anything to inject."""
        return bool(self.text)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


@dataclass(frozen=True, slots=True)
class Reflection:
    """How the reflection on one run ended.

    Attributes:
        run_id: The run.
        status: `learned` (then `memories` are its ids' current state), `nothing_to_learn`,
            or `failed` (then `reason` says why and the run is kept for a retry).
        memories: What was stored or strengthened.
        superseded: Ids that the new memories replaced.
        reason: Why nothing was learned or why it failed.
        notes: What was skipped, repaired or truncated on the way, for people.
        tokens_in: Tokens sent to a model, 0 by rules alone.
        tokens_out: Tokens that it answered.
        repeated: Whether the run had been reflected on before, so that nothing changed now.
    """

    run_id: str
    status: ReflectionStatus
    memories: tuple[Memory, ...] = ()
    superseded: tuple[str, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing.

    Attributes:
        memories: The memories of this page.
        cursor: Pass it to get the next page; `None` on the last one.
    """

    memories: tuple[Memory, ...]
    cursor: str | None


def is_statement(said: Lesson | Memory) -> bool:
    """Whether it says what holds; an experience tells what happened and stays as it is."""
    return said.category != "experience"


def _check_statement(statement: Lesson | Memory) -> None:
    content = statement.content
    if not isinstance(content, str) or not content.strip():
        raise ConfigurationError(f"memory content {content!r} is blank; give it text")
    if len(content) > MAX_CONTENT_LENGTH:
        raise ConfigurationError(
            f"memory content has {len(content)} characters, more than {MAX_CONTENT_LENGTH}; "
            "split it into several memories"
        )
    for name, value, known in (
        ("kind", statement.kind, KINDS),
        ("category", statement.category, CATEGORIES),
        ("source", statement.source, SOURCES),
    ):
        if value not in known:
            raise ConfigurationError(
                f"{name} {value!r} is not known; use one of {', '.join(known)}"
            )
    for name in ("confidence", "importance"):
        number = getattr(statement, name)
        if number is not None and not (
            isinstance(number, int | float) and math.isfinite(number) and 0.0 <= number <= 1.0
        ):
            raise ConfigurationError(f"{name} {number!r} is not in 0–1")
    for name in ("event_time", "valid_until"):
        moment = getattr(statement, name)
        if moment is not None:
            object.__setattr__(statement, name, as_utc(moment, name=name))
