"""Which lanes a query asks, all in one batched request."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime

from hindsight_core.models import Kind
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.profiles import Lanes, Profile
from hindsight_core.retrieval.query import MAX_TOP_K, RecallQuery
from hindsight_core.store.base import (
    DenseLane,
    Lane,
    MemoryFilter,
    OrderedLane,
    Search,
    SparseLane,
    SparseVector,
    Vector,
)

__all__ = ["recent_only", "search_for"]


def search_for(
    query: RecallQuery,
    vector: Vector,
    sparse: SparseVector,
    profile: Profile,
    namespaces: tuple[Namespace, ...],
    now: datetime,
) -> Search:
    """Return the one request that brings all candidates of `query`."""
    where = query.where(namespaces, now)
    widths, top_k = _widths(profile.lanes, query), query.top_k
    lanes: list[Lane] = []
    for part in _parts(where, query, widths):
        lanes.append(DenseLane(vector, _width(widths.dense, widths.dense_per_k, top_k), part))
        if sparse.indices:
            limit = _width(widths.sparse, widths.sparse_per_k, top_k)
            lanes.append(SparseLane(sparse, limit, part))
    for part in _parts(where, query, _PLAIN):
        if widths.tagged and query.tags:
            lanes.append(DenseLane(vector, widths.tagged, replace(part, tags=query.tags)))
        if widths.recent:
            lanes.append(OrderedLane("event_time", widths.recent, part))
        if widths.important:
            important = part
            if profile.semantic_always and not part.kinds:
                important = replace(part, kinds=("semantic",))
            lanes.append(OrderedLane("importance", widths.important, important))
    return Search(where, tuple(lanes), exact=True)


def recent_only(query: RecallQuery, namespaces: tuple[Namespace, ...], now: datetime) -> Search:
    """Return the request for a blank query: the most recent memories, nothing embedded."""
    where = query.where(namespaces, now)
    parts = _parts(where, query, _PLAIN)
    # What has faded below the least confidence is dropped afterwards.
    limit = query.room if not query.min_confidence else MAX_TOP_K
    return Search(where, tuple(OrderedLane("event_time", limit, part) for part in parts))


def _widths(widths: Lanes, query: RecallQuery) -> Lanes:
    """Return the lanes of a query; a choice among many is made from both kinds.

    However many runs of one task there are, they then leave room for what is known about it.
    """
    if not query.pool or widths.split_kinds:
        return widths
    narrowed = {name: math.ceil(getattr(widths, name) * NARROWED) for name in ("dense", "sparse")}
    return replace(widths, split_kinds=True, **narrowed)


NARROWED = 0.6
"""Width of a lane that is asked once per kind, of one that is asked for both."""
_PLAIN = Lanes()
"""No lane of a profile: split by what is asked alone."""


def _parts(where: MemoryFilter, query: RecallQuery, widths: Lanes) -> list[MemoryFilter]:
    """Split by kind where the profile or a domain asks for it.

    With a domain, episodes stay inside it, while rules and facts may come from anywhere.
    """
    if not (widths.split_kinds or query.domain):
        return [where]
    kinds: tuple[Kind, ...] = query.kinds or ("semantic", "episodic")
    parts = [replace(where, kinds=(kind,)) for kind in kinds]
    if query.domain:
        parts = [
            replace(part, domains=(query.domain,)) if part.kinds == ("episodic",) else part
            for part in parts
        ]
    return parts


def _width(fixed: int, per_k: int, top_k: int) -> int:
    return max(fixed, per_k * top_k, top_k)
