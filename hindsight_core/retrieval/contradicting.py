"""How strongly what is remembered contradicts a statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hindsight_core.models import Memory, Retrieved, is_statement
from hindsight_core.reconcile.compare import relation
from hindsight_core.reconcile.opposition import dispute, opposition, stance_of

__all__ = ["LEAST_SCORE", "Contradiction", "contradictions_among"]

LEAST_SCORE = 0.68
"""Least score by default. What is only about the same thing and differs in nothing reaches ⅔ at
most. Of 53 pairs of messages that contradict each other half reach it, as with .65, and none of
the 124 other messages beside each, where with .65 two do. Flat from .68 to .7."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A memory that contradicts a statement.

    Attributes:
        memory: The memory.
        score: How strongly, 0–1, comparable between statements: (relevance + ½ · difference)
            / 1½.
        relevance: How much both are about the same thing, 0–1.
        difference: How much of one the other excludes, 0–1: 1 where only a number, a named
            value or a negation differs, else the share of what either denies that the other
            claims.
    """

    memory: Memory
    score: float
    relevance: float
    difference: float


def contradictions_among(
    statement: str, results: Sequence[Retrieved], content_terms: Callable[[str], frozenset[int]]
) -> list[Contradiction]:
    """Return how strongly each result contradicts `statement`, the strongest first.

    The statement itself is left out, and so are experiences, which are what happened.

    Args:
        statement: The statement, taken to be newer than the results.
        results: What was found for it.
        content_terms: Gives the terms of a text that say what it is about.
    """
    words, stance = statement.split(), stance_of(statement, content_terms)
    found: list[Contradiction] = []
    for result in results:
        memory, relevance = result.memory, result.relevance
        if not is_statement(memory) or memory.content.split() == words:
            continue
        if relation(statement, memory.content, relevance) == "replaces":
            difference = 1.0
        else:
            difference = opposition(stance, stance_of(memory.content, content_terms))
        score = dispute(relevance, difference)
        found.append(Contradiction(memory, score, relevance, difference))
    found.sort(key=lambda contradiction: -contradiction.score)
    return found
