"""How much of what one text denies another one claims.

Works on whole messages, of which only a clause or two contradict: "I've never used Bootstrap,
can you show me how?" against "I prefer Bootstrap's navbar". Pure; no cosine, no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["DISPUTED", "Stance", "dispute", "opposition", "stance_of"]

DISPUTED = 0.65
"""Degree of dispute from which on two texts are said to contradict each other. Of 53 pairs that
do, half reach it, and of the hardest neighbor among 124 others, 4 %."""
DIFFERENCE_WEIGHT = 0.5
"""Weight of what differs beside how much both are about the same thing; flat from .3 to 1."""

MAX_READ = 20_000
"""Characters of a text that are read."""
UNSURE = 1.0
"""Added to the terms of a denied clause before its share is taken: of one term that occurs in
the other text by chance, half counts. Flat from 1 to 3."""
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CLAUSE = re.compile(
    r"[.!?;:]+(?=\s|$)|[。！？；：，…\n]+|,\s|\s[-–—]\s"
    r"|\s(?:but|so|since|because|which|although|though|while|whereas)\s",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:never|not|no|none|nobody|nothing|neither|nor|without|cannot"
    r"|(?:ca|do|does|did|is|are|was|were|wo|have|has|had|could|should|would)n't)\b"
    r"|从未|从来没有?|从来不|从不|从没|没有|没(?!关系)|尚未|并未|未(?!来)|不(?![过错仅但同断])|别(?=[再用做去])|勿",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stance:
    """What a text claims and what it denies.

    Attributes:
        claimed: Content terms of its clauses without a negation.
        denied: Content terms behind the negation, for each clause that has one.
    """

    claimed: frozenset[int]
    denied: tuple[frozenset[int], ...]


def dispute(relevance: float, difference: float) -> float:
    """Return how strongly two texts contradict each other, 0–1.

    (relevance + ½ · difference) / 1½: texts that differ in nothing reach ⅔ at most.

    Args:
        relevance: How much both are about the same thing, 0–1.
        difference: How much of one the other excludes, 0–1; see `opposition`.
    """
    return (relevance + DIFFERENCE_WEIGHT * difference) / (1.0 + DIFFERENCE_WEIGHT)


def stance_of(text: str, content_terms: Callable[[str], frozenset[int]]) -> Stance:
    """Take `text` apart.

    Args:
        text: A statement or a whole message; code in it is left out.
        content_terms: Gives the terms of a text that say what it is about.
    """
    claimed, denied = _clauses(text)
    plain = content_terms(claimed) if claimed else frozenset()
    terms = (content_terms(clause) for clause in denied)
    return Stance(plain, tuple(found for found in terms if found))


def opposition(one: Stance, other: Stance) -> float:
    """Return how much of what either denies the other claims, 0 to almost 1, symmetric.

    The largest share |denied ∩ claimed| / (|denied| + 1) over the denied clauses of both.
    """
    return max(_share(one, other), _share(other, one))


def _share(denying: Stance, claiming: Stance) -> float:
    shares = (len(clause & claiming.claimed) / (len(clause) + UNSURE) for clause in denying.denied)
    return max(shares, default=0.0)


@lru_cache(2_048)
def _clauses(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the clauses without a negation, joined, and what the others deny."""
    claimed: list[str] = []
    denied: list[str] = []
    for clause in _CLAUSE.split(_CODE.sub(" ", text[:MAX_READ].replace("’", "'"))):
        found = _NEGATION.search(clause)
        if found is None:
            claimed.append(clause)
        else:
            # "never been tested": what is denied may stand in front as well.
            behind = clause[found.end() :]
            denied.append(behind if behind.strip() else clause[: found.start()])
    return "\n".join(claimed).strip(), tuple(denied)
