"""One retrieval: embed, ask the lanes at once, fuse, score, choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder
from hindsight_core.lifecycle.decay import faded_confidence
from hindsight_core.models import Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask, blocking
from hindsight_core.retrieval.currency import prefer_current
from hindsight_core.retrieval.fusion import QueryShape, fuse, query_shape
from hindsight_core.retrieval.lanes import recent_only, search_for
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.scoring import Candidate, Situation, score
from hindsight_core.store.base import Hit, SparseVector, Vector

__all__ = ["Recall"]

WEAK_SHARE = 0.6
"""Share of the threshold of abstention that every single result of a brief must reach."""
_BLANK = QueryShape(0.0, question=False, foreign=False)


@dataclass(frozen=True, slots=True)
class Recall:
    """Answers queries; holds no state besides its embedders.

    Attributes:
        dense: Embeds queries for the dense lane.
        sparse: Embeds queries for the BM25 lane.
        reads_every_script: Whether `dense` knows other scripts than Latin.
    """

    dense: DenseEmbedder
    sparse: SparseEmbedder
    reads_every_script: bool = True

    def plan(
        self,
        query: RecallQuery,
        profile: Profile,
        namespaces: tuple[Namespace, ...],
        now: datetime,
    ) -> Plan[tuple[Retrieved, ...]]:
        """Return the best memories for `query`, best first.

        A blank query embeds nothing and gives the most recent memories, newest first.
        Namespaces are in order of preference: among equals the first wins.
        """
        situation = Situation(profile, now, query.task_type, frozenset(query.tags))
        if query.is_blank:
            search = recent_only(query, namespaces, now)
            hits = [hit for lane in (yield from ask(search)) for hit in lane]
            ranked = score(_candidates(hits, _BLANK, namespaces), situation)
            ranked.sort(key=lambda result: result.memory.event_time, reverse=True)
            return tuple(ranked[: query.top_k])
        vector, sparse = yield from blocking(self._embed(query.text))
        search = search_for(query, vector, sparse, profile, namespaces, now)
        hits = [hit for lane in (yield from ask(search)) for hit in lane]
        shape = query_shape(
            query.text, sum(sparse.values), reads_every_script=self.reads_every_script
        )
        ranked = score(_candidates(hits, shape, namespaces), situation)
        if profile.newer_first:
            ranked = prefer_current(ranked, self.sparse.content_terms)
        return choose(ranked, query, profile, now)

    def _embed(self, text: str) -> Callable[[], tuple[Vector, SparseVector]]:
        return lambda: (self.dense.embed_query(text), self.sparse.embed_query(text))


def choose(
    ranked: Sequence[Retrieved], query: RecallQuery, profile: Profile, now: datetime
) -> tuple[Retrieved, ...]:
    """Return what of `ranked` is answered: confident, relevant enough, at most top_k."""
    strongest = max((result.relevance for result in ranked), default=0.0)
    if query.abstain and strongest < profile.min_relevance:
        return ()
    least = WEAK_SHARE * profile.min_relevance if query.abstain else 0.0
    fit = [
        result
        for result in ranked
        if result.relevance >= least
        and result.score >= profile.min_score
        and faded_confidence(result.memory, now, profile.lifecycle) >= query.min_confidence
    ]
    if not profile.semantic_always:
        return tuple(fit[: query.top_k])
    semantic = [result for result in fit if result.memory.kind == "semantic"]
    semantic.sort(key=lambda result: -result.memory.importance)
    reserved = {result.memory.id for result in semantic[: profile.semantic_always]}
    room = max(0, query.top_k - len(reserved))
    free = [result for result in fit if result.memory.id not in reserved][:room]
    chosen = reserved | {result.memory.id for result in free}
    return tuple(result for result in fit if result.memory.id in chosen)[: query.top_k]


def _candidates(
    hits: Sequence[Hit], shape: QueryShape, namespaces: tuple[Namespace, ...]
) -> list[Candidate]:
    preference = {namespace: rank for rank, namespace in enumerate(namespaces)}
    candidates = [Candidate(found.hit.memory, found) for found in fuse(hits, shape)]
    candidates.sort(key=lambda candidate: preference[candidate.memory.namespace])
    return candidates
