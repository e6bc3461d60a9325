"""Both scores of every memory for every case of a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder
from benchmarks.ideas.cases import Case, IdeaSet
from benchmarks.ideas.collection import Floats, Lanes, Terms
from benchmarks.ideas.variant import Made, Scene, Variant
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.store.base import SparseVector

__all__ = ["scenes_of", "superseding"]


def scenes_of(ideas: IdeaSet, made: Made, context: Context, words: Bm25Embedder) -> list[Scene]:
    """Return what the store would answer to each case, in order.

    Args:
        ideas: The set.
        made: From what the scores are made.
        context: Has the embedder.
        words: Makes the term vectors.
    """
    sources = _Sources(ideas, made, context, words)
    try:
        return [sources.scene(case) for case in ideas.cases]
    finally:
        sources.close()


def superseding(variant: Variant, scenes: Sequence[Scene]) -> list[Scene]:
    """Return `scenes` without the memories that the variant takes for superseded."""
    if variant.superseded is None:
        return list(scenes)
    gone: dict[str, frozenset[int]] = {}
    kept = []
    for scene in scenes:
        shelf = scene.lanes.shelf
        if shelf.name not in gone:
            gone[shelf.name] = variant.superseded(shelf, scene.lanes.vectors)
        left_out = frozenset(scene.lanes.left_out) | gone[shelf.name]
        kept.append(replace(scene, lanes=replace(scene.lanes, left_out=left_out)))
    return kept


class _Sources:
    """Vectors and terms of a set, from which each case gets its scores."""

    def __init__(self, ideas: IdeaSet, made: Made, context: Context, words: Bm25Embedder) -> None:
        self._made, self._words = made, words
        self._parts = _parts(ideas)
        self._shelves = {shelf.name: shelf for shelf in ideas.shelves}
        self._places = {
            shelf.name: {entry.memory.id: place for place, entry in enumerate(shelf.entries)}
            for shelf in ideas.shelves
        }
        entries = [entry for shelf in ideas.shelves for entry in shelf.entries]
        texts = [made.dense(entry) for entry in entries]
        queries = [case.query for case in ideas.cases]
        self._first = _Dense(context.embedder, texts, queries, ideas.name)
        self._second = None
        if made.second is not None:
            other = KeptEmbedder(made.second, context.embedder.folder)
            self._second = _Dense(other, texts, queries, ideas.name)
        indexed = words.embed_documents([made.sparse(entry) for entry in entries])
        self._every = Terms(indexed) if made.rarity_over_store else None
        self._own = {name: Terms(indexed[part]) for name, part in self._parts.items()}

    def scene(self, case: Case) -> Scene:
        part, places = self._parts[case.shelf], self._places[case.shelf]
        asked = self._words.embed_query(case.query)
        if self._made.query_terms is not None:
            asked = self._made.query_terms(case.query, asked)
        cosines = self._first.cosines(case.query, part)
        if self._second is not None:
            second = self._second.cosines(case.query, part)
            cosines = self._made.blend(case.query, cosines, second)
        lanes = Lanes(
            self._shelves[case.shelf],
            self._first.vectors[part],
            cosines,
            self._bm25(asked, case.shelf),
            self._first.embedder.embed_query(case.query),
            asked,
            frozenset(places[one] for one in case.left_out),
        )
        return Scene(case.query, lanes, places)

    def _bm25(self, asked: SparseVector, shelf: str) -> Floats:
        if self._every is None:
            return self._own[shelf].scores(asked)
        return self._every.scores(asked)[self._parts[shelf]]

    def close(self) -> None:
        if self._second is not None:
            self._second.embedder.close()


class _Dense:
    def __init__(
        self, embedder: KeptEmbedder, texts: Sequence[str], queries: Sequence[str], what: str
    ) -> None:
        self.embedder = embedder
        self.vectors: Floats = np.array(embedder.documents(texts, what))
        embedder.queries(queries, f"questions of {what}")

    def cosines(self, query: str, part: slice) -> Floats:
        found: Floats = self.vectors[part] @ np.array(self.embedder.embed_query(query))
        return found


def _parts(ideas: IdeaSet) -> Mapping[str, slice]:
    parts: dict[str, slice] = {}
    start = 0
    for shelf in ideas.shelves:
        parts[shelf.name] = slice(start, start + len(shelf.entries))
        start += len(shelf.entries)
    return parts
