"""Dense and BM25 scores become one relevance that suits the query.

Scores are normalized and added, not ranks. How much the words weigh beside the meaning
follows from the query: its form, its script, and how much of it the best hit explains. The
constants were measured on seven public sets at once (`python -m benchmarks all`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from hindsight_core.embedding.bm25 import is_question
from hindsight_core.retrieval.opening import begin_alike, opening_of
from hindsight_core.store.base import Hit

__all__ = ["QueryShape", "Relevance", "fuse", "query_shape"]

QUESTION_WEIGHT = 0.7
"""Weight of the words beside the cosine when the query is a question; flat from .5 to .8."""
STATEMENT_WEIGHT = 2.5
"""The same when the query states a task: runs of one kind of task share their wording."""
FLOOR_PER_TERM = 2.5
"""BM25 per query term that counts as a full match. Where even the best hit explains little
of the query, as with long questions, the words weigh less in proportion. Flat from 1.5 to 3."""
FOREIGN_WEIGHT = 0.1
"""Weight of the cosine when the query is in a script that the embedder has not learned."""
FOREIGN_SHARE = 0.3
"""Share of letters outside the embedder's scripts from which on a query counts as foreign."""
NEIGHBOR_WEIGHT = 0.4
"""Share of the next or previous step's relevance, above the middling candidate's, that a
memory of the same run or session gets: an answer stands beside its question."""
OPENING_WEIGHT = 0.15
"""What a task that begins like the query gains beside one that begins otherwise: runs of one
kind of task share their template, and what varies stands at its end. Rising from 0 to .2."""
STRENGTH_PER_TERM = 0.15
"""Weight of BM25 per query term in the absolute relevance."""
FOREIGN_STRENGTH = 0.38
"""Stands in for the cosine in the absolute relevance when the script is foreign; without any
terms nothing does."""
_LATIN_END = 0x24F


@dataclass(frozen=True, slots=True)
class QueryShape:
    """What the weights follow from.

    Attributes:
        terms: Sum of the weights of the query's terms.
        question: Whether it asks rather than states.
        foreign: Whether its script is unknown to the embedder, or it has neither letters nor
            terms, so that a cosine says nothing.
        opening: Its first words, by which tasks of one kind are known.
    """

    terms: float
    question: bool
    foreign: bool
    opening: tuple[str, ...] = ()

    @property
    def words_weight(self) -> float:
        """Weight of the words beside the meaning."""
        return QUESTION_WEIGHT if self.question else STATEMENT_WEIGHT


class Relevance(NamedTuple):
    """How relevant one candidate is, and by what; made for every candidate, so a plain tuple.

    Attributes:
        hit: The candidate.
        meaning: Share of the cosine.
        words: Share of BM25, and of what the task it was learned in has in common with the
            beginning of the query.
        neighbor: Share of what stands beside it in the same run or session.
        vector: The cosine, 0–1.
        keyword: BM25 divided by the best of this query, 0–1.
        strength: Absolute relevance, comparable between queries, 0–1.
    """

    hit: Hit
    meaning: float
    words: float
    neighbor: float
    vector: float
    keyword: float
    strength: float

    @property
    def similarity(self) -> float:
        """Fused relevance, 0–1 up to the share of neighbors."""
        return self.meaning + self.words + self.neighbor


def query_shape(text: str, terms: float, *, reads_every_script: bool) -> QueryShape:
    """Return what the weights for `text` follow from.

    Args:
        text: The query.
        terms: Sum of the weights of its BM25 terms.
        reads_every_script: Whether the embedder knows other scripts than Latin.
    """
    nothing_to_read = terms <= 0.0 and not any(map(str.isalnum, text))  # emoji, "???"
    foreign = not reads_every_script and (nothing_to_read or _foreign_share(text) > FOREIGN_SHARE)
    return QueryShape(terms, is_question(text), foreign, opening_of(text))


def fuse(hits: Sequence[Hit], query: QueryShape) -> list[Relevance]:
    """Return the relevance of each hit; a memory that several lanes found counts once.

    relevance = (w_m · cosine + w_w · bm25 / max(best bm25, 2.5 · terms)) / (1 + w_w)
    + opening + neighbor

    Args:
        hits: Hits that bring both their scores (`Search.exact`).
        query: What the weights follow from.
    """
    found = list({(hit.memory.namespace.parts, hit.memory.id): hit for hit in hits}.values())
    cosines = [_clamp(hit.cosine or 0.0) for hit in found]
    scores = [hit.bm25 or 0.0 for hit in found]
    best = max(scores, default=0.0)
    unit = max(best, FLOOR_PER_TERM * query.terms, 1e-9)
    scale = 1.0 + query.words_weight
    meaning_weight = FOREIGN_WEIGHT if query.foreign else 1.0
    meanings = [meaning_weight * cosine / scale for cosine in cosines]
    words = [query.words_weight * score / unit / scale for score in scores]
    strengths = _strengths(cosines, scores, query)
    plain = [m + w for m, w in zip(meanings, words, strict=True)]
    openings = _openings(found, query, plain)
    words = [word + opening for word, opening in zip(words, openings, strict=True)]
    neighbors = _neighbors(found, [m + w for m, w in zip(meanings, words, strict=True)])
    return [
        Relevance(hit, meaning, word, neighbor, cosine, bm25 / best if best > 0 else 0.0, strength)
        for hit, meaning, word, neighbor, cosine, bm25, strength in zip(
            found, meanings, words, neighbors, cosines, scores, strengths, strict=True
        )
    ]


def _openings(hits: Sequence[Hit], query: QueryShape, relevances: Sequence[float]) -> list[float]:
    """Return what each hit gains or loses by how its task begins; 0 for what has no task.

    It decides among the tasks and raises them on average by nothing above what was stored
    without one. No hit loses more than half of its relevance.
    """
    tasks = [hit.memory.task_description for hit in hits] if query.opening else []
    if not any(tasks):
        return [0.0] * len(hits)
    alike = [begin_alike(query.opening, opening_of(task)) for task in tasks]
    middle = fmean(share for share, task in zip(alike, tasks, strict=True) if task)
    return [
        max(OPENING_WEIGHT * (share - middle), -relevance / 2) if task else 0.0
        for share, task, relevance in zip(alike, tasks, relevances, strict=True)
    ]


def _neighbors(hits: Sequence[Hit], relevances: Sequence[float]) -> list[float]:
    """Return what each hit gains from the steps beside it in the same run or session."""
    places = [_place(hit) for hit in hits]
    runs = {place[0] for place in places if place}
    if len(runs) == sum(place is not None for place in places):
        return [0.0] * len(hits)  # no two of one run
    middle = median(relevances)
    above = {
        place: relevance - middle
        for place, relevance in zip(places, relevances, strict=True)
        if place
    }
    gains = []
    for place in places:
        gain = 0.0
        if place:
            run, step = place
            beside = max(above.get((run, step - 1), 0.0), above.get((run, step + 1), 0.0))
            gain = NEIGHBOR_WEIGHT * beside
        gains.append(gain)
    return gains


def _place(hit: Hit) -> tuple[str, int] | None:
    """Return the run or session of a hit and its step there, `None` if it has none."""
    evidence = hit.memory.evidence
    if len(evidence) != 1 or len(evidence[0].steps) != 1:
        return None
    return evidence[0].run_id, evidence[0].steps[0]


def _strengths(cosines: Sequence[float], scores: Sequence[float], query: QueryShape) -> list[float]:
    """Return the absolute relevance of hits with these cosines and BM25 scores."""
    terms = max(query.terms, 1e-9)
    unread = FOREIGN_STRENGTH if query.terms > 0 else 0.0
    return [
        min(1.0, (unread if query.foreign else cosine) + STRENGTH_PER_TERM * (score / terms))
        for cosine, score in zip(cosines, scores, strict=True)
    ]


def _foreign_share(text: str) -> float:
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return 0.0
    return sum(ord(unicodedata.normalize("NFKC", char)[0]) > _LATIN_END for char in letters) / len(
        letters
    )


def _clamp(value: float) -> float:
    return max(0.0, min(1.0, value))
