"""Both scores of every memory for every case of a set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder
from benchmarks.ideas.cases import IdeaSet
from benchmarks.ideas.collection import Floats, Lanes, Terms
from benchmarks.ideas.variant import Made, Scene, Variant
from hindsight_core.embedding.bm25 import Bm25Embedder

__all__ = ["scenes_of", "superseding"]


def scenes_of(ideas: IdeaSet, made: Made, context: Context, words: Bm25Embedder) -> list[Scene]:
    """Return what the store would answer to each case, in order.

    Args:
        ideas: The set.
        made: From what the scores are made.
        context: Has the embedder.
        words: Makes the term vectors.
    """
    parts = _parts(ideas)
    entries = [entry for shelf in ideas.shelves for entry in shelf.entries]
    texts = [made.dense(entry) for entry in entries]
    first = _Dense(context.embedder, texts, ideas.name)
    second = None
    if made.second is not None:
        second = _Dense(KeptEmbedder(made.second, context.embedder.folder), texts, ideas.name)
    terms = Terms(words.embed_documents([made.sparse(entry) for entry in entries]))
    shelves = {shelf.name: shelf for shelf in ideas.shelves}
    places = {
        shelf.name: {entry.memory.id: place for place, entry in enumerate(shelf.entries)}
        for shelf in ideas.shelves
    }
    queries = [case.query for case in ideas.cases]
    for dense in (first, second):
        if dense is not None:
            dense.embedder.queries(queries, f"questions of {ideas.name}")
    scenes = []
    for case in ideas.cases:
        part = parts[case.shelf]
        asked = words.embed_query(case.query)
        if made.query_terms is not None:
            asked = made.query_terms(case.query, asked)
        cosines = first.cosines(case.query, part)
        if second is not None:
            cosines = made.blend(case.query, cosines, second.cosines(case.query, part))
        lanes = Lanes(
            shelves[case.shelf],
            first.vectors[part],
            cosines,
            terms.scores(asked, part),
            first.embedder.embed_query(case.query),
            asked,
            frozenset(places[case.shelf][one] for one in case.left_out),
        )
        scenes.append(Scene(case.query, lanes, places[case.shelf]))
    return scenes


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


class _Dense:
    def __init__(self, embedder: KeptEmbedder, texts: Sequence[str], what: str) -> None:
        self.embedder = embedder
        self.vectors: Floats = np.array(embedder.documents(texts, what))

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
