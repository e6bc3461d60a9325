"""What a `MemoryFilter` asks for, as conditions on stored fields that any engine can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hindsight_core.namespaces import Namespace
from hindsight_core.store.base import MemoryFilter
from hindsight_core.store.jsonsafe import clean_text, iso
from hindsight_core.store.payload import point_id, ranked
from hindsight_core.store.words import keyword_words

__all__ = [
    "DATETIME_FIELDS",
    "FLOAT_FIELDS",
    "KEYWORD_FIELDS",
    "TENANT_FIELD",
    "WORDS_FIELD",
    "AllWords",
    "AnyOf",
    "AtLeast",
    "Condition",
    "Conditions",
    "HasId",
    "Within",
    "conditions_of",
    "in_namespaces",
]

TENANT_FIELD = "namespace"
KEYWORD_FIELDS = (
    "status",
    "kind",
    "category",
    "task_type",
    "tags",
    "domain",
    "source",
    "outcome",
    "run_ids",
)
DATETIME_FIELDS = ("event_time", "created_at", "last_accessed_at", "valid_until")
FLOAT_FIELDS = ("confidence", "importance")
WORDS_FIELD = "words"
"""Words with spaces between them: engines take one text much faster than a list of words."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field, or an item of it, is one of `values`."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllWords:
    """The text in the field has each of `words` between its spaces."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The number in the field is `least` or more."""

    field: str
    least: float


@dataclass(frozen=True, slots=True)
class Within:
    """The time in the field is not before `since` nor after `until` (ISO 8601)."""

    field: str
    since: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class HasId:
    """The point is one of these."""

    point_ids: tuple[str, ...]


Condition: TypeAlias = AnyOf | AllWords | AtLeast | Within | HasId


@dataclass(frozen=True, slots=True)
class Conditions:
    """All of `must` hold and none of `must_not`."""

    must: tuple[Condition, ...]
    must_not: tuple[Condition, ...] = ()


def in_namespaces(namespaces: tuple[Namespace, ...]) -> Conditions:
    """Return the condition of being in any of `namespaces`."""
    return Conditions((AnyOf(TENANT_FIELD, tuple(n.key for n in namespaces)),))


def conditions_of(where: MemoryFilter) -> Conditions:
    """Return the conditions of `where`; that of its namespaces always comes first."""
    must: list[Condition] = [*in_namespaces(where.namespaces).must]
    for field, values in (
        ("status", where.statuses),
        ("kind", where.kinds),
        ("category", where.categories),
        ("task_type", where.task_types),
        ("tags", where.tags),
        ("domain", where.domains),
        ("source", where.sources),
        ("outcome", where.outcomes),
        ("run_ids", (where.run_id,) if where.run_id else ()),
    ):
        if values:
            must.append(AnyOf(field, tuple(clean_text(str(value)) for value in values)))
    if where.ids:
        must.append(HasId(_point_ids(where)))
    words = {word for keyword in where.keywords for word in keyword_words(keyword)}
    if words:
        must.append(AllWords(WORDS_FIELD, tuple(sorted(words))))
    if where.since is not None or where.until is not None:
        since = None if where.since is None else iso(where.since)
        must.append(Within("event_time", since, None if where.until is None else iso(where.until)))
    if where.min_confidence > 0:
        must.append(AtLeast("confidence", ranked(where.min_confidence)))
    must_not: tuple[Condition, ...] = ()
    if where.valid_at is not None:
        must_not = (Within("valid_until", None, iso(where.valid_at)),)
    return Conditions(tuple(must), must_not)


def _point_ids(where: MemoryFilter) -> tuple[str, ...]:
    return tuple(point_id(space, id_) for id_ in where.ids for space in where.namespaces)
