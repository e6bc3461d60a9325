"""The port to what was learned: operations as data, and two ways to execute them.

A store is anything that executes the operations below. Every operation that reads or changes
memories carries at least one namespace; there is no way to express "all of them" except
`Purge(whole_store=True)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from hindsight_core.errors import ConfigurationError, NamespaceError
from hindsight_core.models import Category, Change, Kind, Memory, Source, Status
from hindsight_core.namespaces import Namespace
from hindsight_core.store.narrowing import check_narrowing
from hindsight_core.trajectory import OutcomeLabel

__all__ = [
    "FORMAT_VERSION",
    "Count",
    "DenseLane",
    "Facet",
    "Get",
    "Hit",
    "Lane",
    "MemoryFilter",
    "MemoryStore",
    "OrderedLane",
    "Patch",
    "Point",
    "Purge",
    "Put",
    "Record",
    "Schema",
    "Scroll",
    "ScrollPage",
    "Search",
    "SparseLane",
    "SparseVector",
    "StoreOp",
    "StoreStats",
    "Vector",
]

R = TypeVar("R")
FORMAT_VERSION = 2
"""Version of the payload layout; a store of another version is refused at open."""

Vector: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A sparse vector: parallel indices and values."""

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """What the vectors of a store were made with; compared at open.

    Attributes:
        model: Name of the dense embedding model.
        dimension: Width of its vectors.
        format_version: Layout of the payload.
    """

    model: str
    dimension: int
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories an operation is about; all conditions must hold.

    A condition that would narrow nothing down (a keyword without letters or digits, a blank
    item, a label that there is not) is a `ConfigurationError`.

    Attributes:
        namespaces: At least one; a memory matches when it is in any of them.
        statuses: Statuses to include, `()` for any.
        ids: Memory ids, `()` for any.
        kinds: `()` for any, likewise below.
        categories: Categories to include.
        task_types: Task types to include.
        tags: A memory matches when it has any of these.
        domains: Domains to include.
        sources: Sources to include.
        outcomes: Outcomes to include.
        run_id: Only memories with this run in their evidence, `""` for any.
        keywords: Words that must all occur in the content, case-insensitively.
        since: Earliest event time, inclusive.
        until: Latest event time, inclusive.
        valid_at: Leave out what had expired (`valid_until`) by this time.
        min_confidence: Least stored confidence.
    """

    namespaces: tuple[Namespace, ...]
    statuses: tuple[Status, ...] = ("active",)
    ids: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    categories: tuple[Category, ...] = ()
    task_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    outcomes: tuple[OutcomeLabel, ...] = ()
    run_id: str = ""
    keywords: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    valid_at: datetime | None = None
    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        """Fail closed: a filter without a namespace, or with a void condition, is an error."""
        if not self.namespaces or not all(isinstance(n, Namespace) for n in self.namespaces):
            raise NamespaceError(
                f"a filter needs at least one namespace, not {self.namespaces!r}; "
                "nothing was read or changed"
            )
        check_narrowing(self)


@dataclass(frozen=True, slots=True)
class Point:
    """A memory with everything that is stored beside it.

    Attributes:
        memory: The memory.
        dense: Its embedding, unit length, `Schema.dimension` wide.
        sparse: Its BM25 vector.
        changes: Its history, oldest first.
    """

    memory: Memory
    dense: Vector
    sparse: SparseVector
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A memory as read back with its history."""

    memory: Memory
    changes: tuple[Change, ...] = ()


class Hit(NamedTuple):
    """One candidate of a lane; a hundred are made for each query, so a plain tuple.

    Attributes:
        memory: The memory, without its history.
        score: The lane's own score: cosine for dense, BM25 for sparse, 0 for ordered lanes.
        dense: Its embedding, where `Search.with_vectors` asked for it, else `()`.
        cosine: Its cosine to the first dense lane's vector, where `Search.exact` asked for
            it, else `None`.
        bm25: Its BM25 score for the first sparse lane's vector, likewise; 0 when they share
            no term.
    """

    memory: Memory
    score: float
    dense: Vector = ()
    cosine: float | None = None
    bm25: float | None = None


@dataclass(frozen=True, slots=True)
class DenseLane:
    """Nearest by cosine."""

    vector: Vector
    limit: int
    where: MemoryFilter | None = None


@dataclass(frozen=True, slots=True)
class SparseLane:
    """Best by BM25, with IDF taken over the namespaces of the filter."""

    vector: SparseVector
    limit: int
    where: MemoryFilter | None = None


@dataclass(frozen=True, slots=True)
class OrderedLane:
    """First by a field, largest first: the recent or the important."""

    by: Literal["event_time", "importance", "last_accessed_at", "created_at"]
    limit: int
    where: MemoryFilter | None = None


Lane: TypeAlias = DenseLane | SparseLane | OrderedLane


class StoreOp(Generic[R]):
    """Base of all operations; `R` is what executing one returns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Put(StoreOp[None]):
    """Insert points or replace those with the same namespace and id; durable on return."""

    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Patch(StoreOp[bool]):
    """Change a memory's fields and history, leaving its vectors alone.

    Returns `True` if the memory was there in version `expected_version` (or in any version,
    when that is `None`) and is now as given; `False` if not, and then nothing was changed.
    """

    memory: Memory
    changes: tuple[Change, ...]
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Get(StoreOp[tuple[Record, ...]]):
    """Read memories by id within `namespaces`, of any status, in the order asked for.

    Ids that are not there are left out.
    """

    namespaces: tuple[Namespace, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Search(StoreOp[tuple[tuple[Hit, ...], ...]]):
    """Ask several lanes in one batched request; the answer has one tuple per lane.

    Attributes:
        where: Applied to every lane; a lane's own `where` replaces it.
        lanes: The lanes.
        with_vectors: Whether hits bring their embeddings.
        exact: Whether each hit, whichever lane found it, brings both its cosine and its BM25
            score. A hit that only one lane found is then not worse off for it.
    """

    where: MemoryFilter
    lanes: tuple[Lane, ...]
    with_vectors: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ScrollPage:
    """One page of a scroll; `cursor` is `None` on the last one."""

    records: tuple[Record, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Scroll(StoreOp[ScrollPage]):
    """Page through memories in a stable order, `limit` at a time."""

    where: MemoryFilter
    limit: int = 100
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Count(StoreOp[int]):
    """Count memories exactly."""

    where: MemoryFilter


@dataclass(frozen=True, slots=True)
class Facet(StoreOp[Mapping[str, int]]):
    """Count memories by the value of one keyword field, exactly."""

    where: MemoryFilter
    field: Literal["kind", "category", "status", "task_type", "outcome", "source", "domain"]


@dataclass(frozen=True, slots=True)
class Purge(StoreOp[int]):
    """Erase for good, and return how many were erased.

    Attributes:
        where: What to erase.
        whole_store: Erase every namespace; then `where` must be `None`.
    """

    where: MemoryFilter | None = None
    whole_store: bool = False

    def __post_init__(self) -> None:
        """Refuse an erasure that does not say clearly what it is about."""
        if (self.where is None) != self.whole_store:
            raise ConfigurationError(
                "Purge needs either a filter or whole_store=True, not both and not neither; "
                "nothing was erased"
            )


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store says about itself.

    Attributes:
        backend: `edge`, `qdrant` or `memory`.
        location: Path or URL, without any secret.
        points: All points, of all namespaces and statuses.
        schema: What the vectors were made with.
        details: Anything else worth showing, JSON-safe; under `unreadable` how many damaged
            memories searching and listing have met and left out since the store was opened.
    """

    backend: str
    location: str
    points: int
    schema: Schema
    details: Mapping[str, Any] = field(default_factory=dict)


class MemoryStore(ABC):
    """A place that keeps memories.

    Implementations translate every foreign exception into a `StoreError`. They are safe to
    use from several threads, and `aexecute` from several event loops.
    """

    @abstractmethod
    def execute(self, op: StoreOp[R]) -> R:
        """Execute `op` in the calling thread.

        Raises:
            StoreError: If the store can't do it; nothing was half done.
        """

    @abstractmethod
    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op` without blocking the event loop; same result, same errors."""

    @abstractmethod
    def stats(self) -> StoreStats:
        """Describe the store."""

    def is_ready(self) -> bool:
        """Whether work may be begun that needs the store, as far as that is known here."""
        return True

    @abstractmethod
    def close(self) -> None:
        """Release the store; closing twice is harmless."""
