"""A trusted statement goes before less trusted ones about the same thing; pure.

Somebody who can write to a memory, or to a page that an agent reads, can make a text as similar
to a question as they like, as new as they like, and as many of them as they like. None of that
lets it stand above what a validator found or a person said about the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hindsight_core.models import Retrieved, is_statement
from hindsight_core.retrieval.falling import falling
from hindsight_core.safety.trust import TRUST, outranks

__all__ = ["prefer_trusted"]

WINDOW = 50
"""Results that are looked at, so that a handful of copies can't push the trusted one out."""
SAME_ANSWER = 0.8
"""Share of what the other one has of the query's terms that the trusted one needs to have too:
what says less about what is asked does not answer it better, whoever said it."""
SAME_THING = 0.5
"""Share of the content terms of the one with fewer of them that the other one has too, from
which on both speak of the same thing, where the query's terms don't tell: an answer and a false
one may share nothing else than two terms of the question."""
LEAST_RATIO = 0.5
"""The trusted one needs at least this share of the other one's score."""


def prefer_trusted(
    ranked: Sequence[Retrieved], query: str, content_terms: Callable[[str], frozenset[int]]
) -> list[Retrieved]:
    """Return `ranked` with what is trusted more before what is trusted less about the same thing.

    Runs are what happened and keep their places. A result that moved up brings the factor
    `trusted`, which is how much its score was raised to stand where it stands.

    Args:
        ranked: Results, best first.
        query: What was asked.
        content_terms: Gives the terms of a text that say what it is about.
    """
    head = list(ranked[:WINDOW])
    places = [place for place, result in enumerate(head) if is_statement(result.memory)]
    if len({TRUST[head[place].memory.source] for place in places}) < 2:
        return list(ranked)
    asked = content_terms(query)
    known: dict[str, frozenset[int]] = {}

    def terms(result: Retrieved) -> frozenset[int]:
        content = result.memory.content
        if content not in known:
            known[content] = content_terms(content)
        return known[content]

    def passes(result: Retrieved, earlier: Retrieved) -> bool:
        return (
            outranks(result.memory, earlier.memory)
            and result.score >= LEAST_RATIO * earlier.score
            and _speak_of_the_same(terms(result), terms(earlier), asked)
        )

    order: list[Retrieved] = []
    for result in (head[place] for place in places):
        before = (place for place, earlier in enumerate(order) if passes(result, earlier))
        order.insert(next(before, len(order)), result)
    for place, result in zip(places, order, strict=True):
        head[place] = result
    return [*falling(head, "trusted"), *ranked[WINDOW:]]


def _speak_of_the_same(
    trusted: frozenset[int], other: frozenset[int], asked: frozenset[int]
) -> bool:
    """Whether both are about one thing, and the trusted one says as much about what is asked."""
    both, answered = trusted & other, other & asked
    if len(both & asked) < SAME_ANSWER * len(answered):
        return False
    fewer = min(len(trusted), len(other))
    return len(answered) > 1 or (fewer > 0 and len(both) >= SAME_THING * fewer)
