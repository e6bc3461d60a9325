"""One case asked of one variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from benchmarks.ideas.collection import Lanes
from benchmarks.ideas.variant import Order, Scene, Variant
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.models import Retrieved
from hindsight_core.plans import Blocking, Plan
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.recall import Recall, Rerank
from hindsight_core.store.base import Search, SparseVector, Vector

__all__ = ["Asking", "Kept", "KeptVector", "retrieved"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Both embedders for one query whose vector and terms are known.

    Attributes:
        lanes: What the store would answer to the query.
        words: Tells the terms of texts.
    """

    lanes: Lanes
    words: Bm25Embedder

    @property
    def dense(self) -> KeptVector:
        """The dense embedder."""
        return KeptVector(self.lanes.vector)

    def embed_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        """Embed texts by their words."""
        return self.words.embed_documents(texts)

    def embed_query(self, text: str) -> SparseVector:
        """Return the terms of the query."""
        return self.lanes.terms

    def content_terms(self, text: str) -> frozenset[int]:
        """Return the terms of `text` without stop words."""
        return self.words.content_terms(text)


@dataclass(frozen=True, slots=True)
class KeptVector:
    """A dense embedder that knows one query's vector.

    Attributes:
        vector: The vector.
        name: Name of the model.
    """

    vector: Vector
    name: str = "kept"

    @property
    def dimension(self) -> int:
        """Width of the vector."""
        return len(self.vector)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector for each text."""
        return [self.vector] * len(texts)

    def embed_query(self, text: str) -> Vector:
        """Return the vector."""
        return self.vector


@dataclass(frozen=True, slots=True)
class Asking:
    """How a set is asked.

    Attributes:
        profile: The profile of the default system.
        now: The present moment.
        top_k: Results.
        reads_every_script: Whether the embedder knows other scripts than Latin.
    """

    profile: Profile
    now: datetime
    top_k: int
    reads_every_script: bool


def retrieved(
    scene: Scene, variant: Variant, asking: Asking, words: Bm25Embedder
) -> Sequence[Retrieved]:
    """Return what `variant` finds, by the core's own retrieval.

    The variant's replacements must stand in their places.
    """
    kept = Kept(scene.lanes, words)
    reads = variant.reads_every_script
    recall = Recall(kept.dense, kept, asking.reads_every_script if reads is None else reads)
    plan = recall.plan(
        RecallQuery(text=scene.query, top_k=asking.top_k),
        variant.profile(asking.profile),
        (scene.lanes.shelf.namespace,),
        asking.now,
        None if variant.before is None else _rerank(variant.before, scene),
    )
    found = _run(plan, scene.lanes)
    return found if variant.after is None else variant.after(scene, found)


def _rerank(order: Order, scene: Scene) -> Rerank:
    def rerank(results: Sequence[Retrieved]) -> Plan[Sequence[Retrieved] | None]:
        yield from ()
        return order(scene, results)

    return rerank


def _run(plan: Plan[tuple[Retrieved, ...]], lanes: Lanes) -> tuple[Retrieved, ...]:
    """Run `plan` with what is known instead of a store.

    Raises:
        TypeError: If it asks for anything but a search.
    """
    answer: object = None
    while True:
        try:
            effect = plan.send(answer)
        except StopIteration as stop:
            found: tuple[Retrieved, ...] = stop.value
            return found
        if isinstance(effect, Blocking):
            answer = effect.call()
        elif isinstance(effect, Search):
            answer = lanes.answer(effect)
        else:
            raise TypeError(f"a retrieval asked for {type(effect).__name__}, not for a search")
