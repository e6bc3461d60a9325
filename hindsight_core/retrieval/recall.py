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
from hindsight_core.retrieval.fusion import fuse
from hindsight_core.retrieval.lanes import LaneHits, gather, recent_only, search_for
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.scoring import Candidate, Situation, score
from hindsight_core.store.base import SparseVector, Vector

__all__ = ["Recall"]


@dataclass(frozen=True, slots=True)
class Recall:
    """Answers queries; holds no state besides its embedders.

    Attributes:
        dense: Embeds queries for the dense lane.
        sparse: Embeds queries for the BM25 lane.
    """

    dense: DenseEmbedder
    sparse: SparseEmbedder

    def plan(
        self,
        query: RecallQuery,
        profile: Profile,
        namespaces: tuple[Namespace, ...],
        now: datetime,
    ) -> Plan[tuple[Retrieved, ...]]:
        """Return the best memories for `query`, best first.

        A blank query embeds nothing and gives the most recent memories, with score 0 for
        similarity. Namespaces are in order of preference: among equals the first wins.
        """
        if query.is_blank:
            search = recent_only(query, namespaces, now)
            hits = gather(search, (yield from ask(search))).others
            candidates = [Candidate(hit.memory, 0.0, 0.0, 0.0, 0.0) for hit in hits]
        else:
            vector, sparse = yield from blocking(self._embed(query.text))
            search = search_for(query, vector, sparse, profile, namespaces, now)
            lanes = gather(search, (yield from ask(search)))
            candidates = _candidates(lanes, namespaces)
        situation = Situation(profile, now, query.task_type, frozenset(query.tags))
        ranked = score(candidates, situation)
        if query.is_blank:
            ranked.sort(key=lambda result: result.memory.event_time, reverse=True)
        return choose(ranked, query, profile, now)

    def _embed(self, text: str) -> Callable[[], tuple[Vector, SparseVector]]:
        return lambda: (self.dense.embed_query(text), self.sparse.embed_query(text))


def choose(
    ranked: Sequence[Retrieved], query: RecallQuery, profile: Profile, now: datetime
) -> tuple[Retrieved, ...]:
    """Return what of `ranked` is answered: confident, relevant enough, at most top_k."""
    fit = [
        result
        for result in ranked
        if faded_confidence(result.memory, now, profile.lifecycle) >= query.min_confidence
        and result.score >= profile.min_score
        and not (query.abstain and result.relevance < profile.min_relevance)
    ]
    if not profile.semantic_always:
        return tuple(fit[: query.top_k])
    semantic = [result for result in fit if result.memory.kind == "semantic"]
    semantic.sort(key=lambda result: -result.memory.importance)
    reserved = {result.memory.id for result in semantic[: profile.semantic_always]}
    room = query.top_k - len(reserved)
    free = [r for r in fit if r.memory.id not in reserved][: max(0, room)]
    chosen = reserved | {result.memory.id for result in free}
    return tuple(result for result in fit if result.memory.id in chosen)[: query.top_k]


def _candidates(lanes: LaneHits, namespaces: tuple[Namespace, ...]) -> list[Candidate]:
    preference = {namespace: rank for rank, namespace in enumerate(namespaces)}
    candidates = fuse(lanes.dense, lanes.sparse, lanes.others)
    candidates.sort(key=lambda candidate: preference[candidate.memory.namespace])
    return candidates
