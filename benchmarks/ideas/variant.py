"""What a variant changes about the default system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeAlias

from benchmarks.ideas.collection import Entry, Floats, Lanes, Shelf
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.models import Retrieved
from hindsight_core.reconcile.texts import searchable_text
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.store.base import SparseVector

__all__ = ["Made", "Order", "Replacement", "Scene", "Variant", "replaced"]

Replacement: TypeAlias = tuple[ModuleType, str, Any]
"""A module, the name of one of its constants or functions, and what stands there meanwhile."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a re-ordering may look at besides the results.

    Attributes:
        query: The query.
        lanes: The memories with their scores.
        places: Place of a memory among them, by its id.
    """

    query: str
    lanes: Lanes
    places: Mapping[str, int]


Order: TypeAlias = Callable[[Scene, Sequence[Retrieved]], list[Retrieved]]
"""Orders results anew."""


@dataclass(frozen=True, slots=True)
class Made:
    """From what the scores of a set are made; variants with equal ones share them.

    Attributes:
        dense: Text of a memory that is embedded.
        sparse: Text of a memory that is indexed by its words.
        query_terms: Changes the terms of a query; given its text and terms.
        rarity_over_store: Whether the rarity of a term is counted among all memories of the
            store instead of those of the namespace that is asked, as a store does.
        second: Embeds for a second dense lane.
        blend: Makes one cosine of those of both lanes, given the query.
    """

    dense: Callable[[Entry], str] = field(default=lambda entry: searchable_text(entry.memory))
    sparse: Callable[[Entry], str] = field(default=lambda entry: searchable_text(entry.memory))
    query_terms: Callable[[str, SparseVector], SparseVector] | None = None
    rarity_over_store: bool = False
    second: DenseEmbedder | None = None
    blend: Callable[[str, Floats, Floats], Floats] = lambda query, first, second: first


DEFAULT = Made()


@dataclass(frozen=True, slots=True)
class Variant:
    """The default system with one thing changed.

    Attributes:
        group: The idea.
        name: What is changed.
        replaces: What stands elsewhere in the core's place while it runs.
        profile: Changes the profile.
        made: From what the scores are made.
        written: Changes the profile that the memories are written with; `None` for no change.
        superseded: Which memories of a shelf a newer one has replaced, given their vectors.
        before: Orders what is found anew, before the newer and the trusted go first.
        after: Orders the results anew at the end.
        reads_every_script: Whether the embedders know other scripts than Latin; `None` for
            what the default system has.
        sets: The sets where it can make a difference; all if empty.
        most: Most cases of a set, evenly spread, for what takes long; 0 for all.
    """

    group: str
    name: str
    replaces: tuple[Replacement, ...] = ()
    profile: Callable[[Profile], Profile] = lambda profile: profile
    made: Made = DEFAULT
    written: Callable[[Profile], Profile] | None = None
    superseded: Callable[[Shelf, Floats], frozenset[int]] | None = None
    before: Order | None = None
    after: Order | None = None
    reads_every_script: bool | None = None
    sets: tuple[str, ...] = ()
    most: int = 0


@contextmanager
def replaced(replacements: Sequence[Replacement]) -> Iterator[None]:
    """Put something in the place of what modules hold, and put that back at the end.

    Raises:
        AttributeError: If a module has no such name.
    """
    before = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    try:
        for module, name, value in replacements:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
