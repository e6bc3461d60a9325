"""Dense and BM25 scores become one relevance that suits the query.

The lanes are asked in one request. Scores are normalised and added, not ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_core.retrieval.scoring import Candidate
from hindsight_core.store.base import Hit

__all__ = ["fuse"]

KEYWORD_WEIGHT = 0.5


def fuse(dense: Sequence[Hit], sparse: Sequence[Hit], others: Sequence[Hit]) -> list[Candidate]:
    """Merge the hits of all lanes into candidates, each memory once.

    Args:
        dense: Hits with cosines, best first.
        sparse: Hits with BM25 scores, best first.
        others: Hits of lanes without a relevance of their own.
    """
    cosine = {hit.memory.id: max(0.0, min(1.0, hit.score)) for hit in dense}
    keyword = {hit.memory.id: hit.score for hit in sparse}
    best = max(keyword.values(), default=0.0)
    floor = min(cosine.values(), default=0.0)
    seen = {hit.memory.id: hit.memory for hit in (*dense, *sparse, *others)}
    candidates = []
    for memory_id, memory in seen.items():
        vector = cosine.get(memory_id, floor if memory_id in keyword else 0.0)
        words = keyword.get(memory_id, 0.0) / best if best > 0 else 0.0
        similarity = (vector + KEYWORD_WEIGHT * words) / (1.0 + KEYWORD_WEIGHT)
        candidates.append(Candidate(memory, similarity, vector, words, similarity))
    return candidates
