"""One retrieval: embed, ask the lanes at once, fuse, score, choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder
from hindsight_core.lifecycle.decay import faded_confidence
from hindsight_core.models import Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask, blocking
from hindsight_core.retrieval.coverage import with_coverage
from hindsight_core.retrieval.currency import prefer_current
from hindsight_core.retrieval.fusion import QueryShape, fuse, query_shape
from hindsight_core.retrieval.lanes import recent_only, search_for
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.scoring import Candidate, Situation, score
from hindsight_core.retrieval.trusted import prefer_trusted
from hindsight_core.store.base import Hit, SparseVector, Vector

__all__ = ["Recall", "Rerank", "admitted", "choose", "cut"]

Rerank: TypeAlias = Callable[[Sequence[Retrieved]], Plan[Sequence[Retrieved] | None]]
"""Orders results anew, best first; `None` keeps the order they came in."""

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
        rerank: Rerank | None = None,
    ) -> Plan[tuple[Retrieved, ...]]:
        """Return the best memories for `query`, best first.

        A blank query embeds nothing and gives the most recent memories, newest first.
        Namespaces are in order of preference: among equals the first wins.

        Args:
            query: What is asked.
            profile: How candidates are found and weighed.
            namespaces: Where to look, the preferred one first.
            now: The present moment.
            rerank: Orders anew what may be answered; `None` from it keeps the order.
        """
        situation = Situation(profile, now, query.task_type, frozenset(query.tags))
        if query.is_blank:
            search = recent_only(query, namespaces, now)
            hits = [hit for lane in (yield from ask(search)) for hit in lane]
            ranked = score(_candidates(hits, _BLANK, namespaces), situation)
            ranked.sort(key=lambda result: result.memory.event_time, reverse=True)
            sure = [result for result in ranked if _sure_enough(result, query, profile, now)]
            return _handed_out(sure[: query.room])
        vector, sparse = yield from blocking(self._embed(query.text))
        search = search_for(query, vector, sparse, profile, namespaces, now)
        hits = [hit for lane in (yield from ask(search)) for hit in lane]
        shape = query_shape(
            query.text, sum(sparse.values), reads_every_script=self.reads_every_script
        )
        ranked = score(_candidates(hits, shape, namespaces), situation)
        if shape.foreign:
            ranked = with_coverage(ranked, query.text, self.sparse.content_terms)
        better = None
        if rerank is not None:
            better = yield from rerank(admitted(ranked, query, profile, now))
        current = ranked if better is None else better
        if profile.newer_first:
            current = prefer_current(current, self.sparse.content_terms)
        current = prefer_trusted(current, query.text, self.sparse.content_terms)
        if better is not None:
            return _handed_out(cut(current, query, profile))
        return _handed_out(choose(current, query, profile, now))

    def _embed(self, text: str) -> Callable[[], tuple[Vector, SparseVector]]:
        return lambda: (self.dense.embed_query(text), self.sparse.embed_query(text))


def choose(
    ranked: Sequence[Retrieved], query: RecallQuery, profile: Profile, now: datetime
) -> tuple[Retrieved, ...]:
    """Return what of `ranked` is answered: confident, relevant enough, at most top_k."""
    return cut(admitted(ranked, query, profile, now), query, profile)


def admitted(
    ranked: Sequence[Retrieved], query: RecallQuery, profile: Profile, now: datetime
) -> list[Retrieved]:
    """Return what of `ranked` may be answered: confident and relevant enough."""
    strongest = max((result.relevance for result in ranked), default=0.0)
    if query.abstain and (strongest <= 0.0 or strongest < profile.min_relevance):
        return []  # also where the profile has no threshold: nothing is relevant at all
    least = WEAK_SHARE * profile.min_relevance if query.abstain else 0.0
    return [
        result
        for result in ranked
        if result.relevance >= least
        and result.score >= profile.min_score
        and _sure_enough(result, query, profile, now)
    ]


def cut(ranked: Sequence[Retrieved], query: RecallQuery, profile: Profile) -> tuple[Retrieved, ...]:
    """Return the first results of `ranked`, with those that a profile reserves places for."""
    if not profile.semantic_always:
        return tuple(ranked[: query.room])
    semantic = [result for result in ranked if result.memory.kind == "semantic"]
    semantic.sort(key=lambda result: -result.memory.importance)
    reserved = {_key(result) for result in semantic[: profile.semantic_always]}
    room = max(0, query.room - len(reserved))
    free = [result for result in ranked if _key(result) not in reserved][:room]
    chosen = reserved | {_key(result) for result in free}
    return tuple(result for result in ranked if _key(result) in chosen)[: query.room]


def _handed_out(results: Sequence[Retrieved]) -> tuple[Retrieved, ...]:
    return tuple([replace(result, memory=result.memory.detached()) for result in results])


def _key(result: Retrieved) -> tuple[Namespace, str]:
    return result.memory.namespace, result.memory.id


def _sure_enough(result: Retrieved, query: RecallQuery, profile: Profile, now: datetime) -> bool:
    if not query.min_confidence:
        return True
    return faded_confidence(result.memory, now, profile.lifecycle) >= query.min_confidence


def _candidates(
    hits: Sequence[Hit], shape: QueryShape, namespaces: tuple[Namespace, ...]
) -> list[Candidate]:
    preference = {namespace: rank for rank, namespace in enumerate(namespaces)}
    candidates = [
        Candidate(found.hit.memory, found, found.similarity) for found in fuse(hits, shape)
    ]
    if len(preference) > 1:
        candidates.sort(key=lambda candidate: preference[candidate.memory.namespace])
    return candidates
