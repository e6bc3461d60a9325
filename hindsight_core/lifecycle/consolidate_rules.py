"""Rules without a model: lessons that independent runs taught in like words become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.lifecycle.episodes import Drafted, Group, backed
from hindsight_core.models import Memory, is_statement
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.neighbors import cosine_of
from hindsight_core.safety.trust import is_proven
from hindsight_core.store.base import Vector

__all__ = ["LIKE", "clusters", "draft_by_rule"]

LIKE = 0.8
"""Least cosine for two lessons to be of a kind."""


def draft_by_rule(group: Group, dense: DenseEmbedder, least_evidence: int) -> list[Drafted]:
    """Return the rules that the lessons of `group` make, each from at least two of them.

    A rule says what its best-founded lesson says; what the others say otherwise is named.
    """
    lessons = [memory for memory in group.members if is_statement(memory)]
    if len(lessons) < 2:
        return []
    vectors = dense.embed_documents([memory.content for memory in lessons])
    by_id = {memory.id: vector for memory, vector in zip(lessons, vectors, strict=True)}
    drafts = []
    for cluster in clusters(lessons, by_id):
        members, against = _agreeing(cluster, by_id)
        best = members[0]
        if len(members) < 2 or not backed(members, least_evidence):
            continue
        drafts.append(
            Drafted(
                content=best.content,
                applies_when=_common([m.applies_when for m in members]),
                not_when=_common([m.not_when for m in members]),
                members=members,
                conflicts=tuple(memory.id for memory in against),
                by="rule",
            )
        )
    return drafts


def clusters(lessons: Sequence[Memory], vectors: Mapping[str, Vector]) -> list[list[Memory]]:
    """Return lessons of a kind together, the best founded first, each lesson once."""
    left = sorted(lessons, key=_founded)
    found = []
    while left:
        seed = left.pop(0)
        like = [m for m in left if cosine_of(vectors[seed.id], vectors[m.id]) >= LIKE]
        left = [memory for memory in left if memory not in like]
        found.append([seed, *like])
    return [cluster for cluster in found if len(cluster) > 1]


def _agreeing(
    cluster: Sequence[Memory], vectors: Mapping[str, Vector]
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Return the lessons that agree with all better founded ones, and those that do not."""
    members: list[Memory] = []
    against: list[Memory] = []
    for memory in cluster:
        contradicted = any(_contradicts(member, memory, vectors) for member in members)
        (against if contradicted else members).append(memory)
    return tuple(members), tuple(against)


def _contradicts(one: Memory, other: Memory, vectors: Mapping[str, Vector]) -> bool:
    cosine = cosine_of(vectors[one.id], vectors[other.id])
    return relation(one.content, other.content, cosine) == "replaces"


def _common(conditions: Sequence[str]) -> str:
    """Return the conditions that were named, each once, joined."""
    return "; ".join(dict.fromkeys(condition for condition in conditions if condition))


def _founded(memory: Memory) -> tuple[bool, int, float, str]:
    return (not is_proven(memory), -len(memory.evidence), -memory.confidence, memory.id)
