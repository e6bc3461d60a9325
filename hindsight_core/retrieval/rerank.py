"""Re-ranking: somebody with a closer look rates the candidates.

score = rating × Π multiplier, with the multipliers of the profile: in the profile `reranked`
the rating of 1–5 times the confidence of a semantic memory. Equal scores keep the order they
came in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, cast

from hindsight_core.errors import ConfigurationError, ModelReplyError, ReflectionError
from hindsight_core.models import KINDS, Memory, Retrieved
from hindsight_core.plain_functions import check_plain, no_awaitable
from hindsight_core.reflection.model_errors import call_error

__all__ = [
    "CANDIDATES",
    "CallableReranker",
    "Rating",
    "Reranker",
    "as_reranker",
    "candidate_text",
    "candidates_of",
    "checked",
    "in_new_order",
]

CANDIDATES = 40
"""Most candidates that are rated at once, the first ones; the others follow as they were."""
TEXT_LENGTH = 500
"""Characters of one candidate that are shown."""


@dataclass(frozen=True, slots=True)
class Rating:
    """How well one candidate helps.

    Attributes:
        score: 0 or more, the higher the better; 1–5 from a model or a cross-encoder.
        reason: Why, `""` if nobody says.
    """

    score: float
    reason: str = ""


class Reranker(Protocol):
    """Rates candidates for a query, all in one call.

    Attributes:
        least: Ratings below this count as irrelevant and are left out where a query abstains.
    """

    least: float

    def rate(self, query: str, texts: Sequence[str]) -> Sequence[Rating | None]:
        """Return one rating for each text, `None` for one that was not rated.

        Raises:
            ReflectionError: If it can't be done.
        """


Rate: TypeAlias = Callable[[str, Sequence[str]], Any]
"""A re-ranker as a plain function: from query and texts to one number for each text."""


class CallableReranker:
    """A plain function as a re-ranker.

    Args:
        rate: Takes the query and the texts and returns a number of 0 or more for each text.
        name: How it is called in messages, by default as the function is.
    """

    least = 0.0

    def __init__(self, rate: Rate, name: str = "") -> None:
        self._rate = rate
        self._name = name or getattr(rate, "__name__", type(rate).__name__)

    def rate(self, query: str, texts: Sequence[str]) -> Sequence[Rating | None]:
        """Return one rating for each text.

        Raises:
            ModelCallError: If the function raises, or returns something else than numbers.
        """
        try:
            answer = no_awaitable(self._rate(query, texts), f"the re-ranker {self._name!r}")
            numbers = [float(number) for number in answer]
        except ReflectionError:
            raise
        except Exception as error:
            raise call_error(error, model=f"the re-ranker {self._name!r}") from error
        return [Rating(number) for number in numbers]


def as_reranker(given: Any) -> Reranker:
    """Return `given`, an object with `rate(query, texts)` or a plain function, as a re-ranker.

    Raises:
        ConfigurationError: If it is neither, or async.
    """
    check_plain("rerank", given)
    if callable(getattr(given, "rate", None)):
        return cast("Reranker", given)
    if callable(given):
        return CallableReranker(given)
    raise ConfigurationError(
        f"{given!r} can't re-rank; use 'off', 'model', 'cross-encoder', an object with "
        "rate(query, texts), or a function from query and texts to one number for each text"
    )


def candidate_text(memory: Memory) -> str:
    """Return what a re-ranker reads of a memory: what it says, and when it applies."""
    text = " ".join(memory.content.split())[:TEXT_LENGTH]
    if memory.applies_when and memory.applies_when not in memory.content:
        text += f" (when: {' '.join(memory.applies_when.split())[:TEXT_LENGTH]})"
    if memory.not_when and memory.not_when not in memory.content:
        text += f" (not when: {' '.join(memory.not_when.split())[:TEXT_LENGTH]})"
    return text


def in_new_order(
    head: Sequence[Retrieved],
    ratings: Sequence[Rating | None],
    rest: Sequence[Retrieved] = (),
    *,
    least: float = 0.0,
) -> list[Retrieved]:
    """Return results by their ratings, best first.

    What was not rated follows in the order it had, with a score that is not above the last
    rated one; how much it was lowered is its factor `unrated`.

    Args:
        head: Results to be rated, best first.
        ratings: Their ratings.
        rest: Further results, best first.
        least: Ratings below this are left out.
    """
    rated: list[Retrieved] = []
    unrated: list[Retrieved] = []
    for result, rating in zip(head, ratings, strict=True):
        if rating is None:
            unrated.append(result)
        elif rating.score >= least:
            rated.append(_rated(result, rating))
    rated.sort(key=lambda result: -result.score)
    unrated += rest
    floor = rated[-1].score if rated else math.inf
    for result in unrated:
        rated.append(_lowered(result, floor))
        floor = rated[-1].score
    return rated


def checked(ratings: Sequence[Rating | None], count: int) -> Sequence[Rating | None]:
    """Return `ratings` if a ranking can be made of them.

    Raises:
        ModelReplyError: If there is not one for each candidate, or one is not a finite number
            of 0 or more: a single NaN would make the order a matter of chance.
    """
    ratings = no_awaitable(ratings, "the re-ranker")
    if len(ratings) != count:
        raise ModelReplyError(
            f"the re-ranker gave {len(ratings)} ratings for {count} candidates; it must give one "
            "for each, in their order"
        )
    for rating in ratings:
        if rating is not None and not (math.isfinite(rating.score) and rating.score >= 0):
            raise ModelReplyError(
                f"the re-ranker gave the rating {rating.score!r}; ratings are finite and 0 or "
                "more (pass logits through a sigmoid first)"
            )
    return ratings


def candidates_of(
    results: Sequence[Retrieved], *, by_kind: bool
) -> tuple[list[Retrieved], list[Retrieved]]:
    """Return which of `results` are rated, and the rest, each in the order given.

    Args:
        results: Results, best first.
        by_kind: Whether each kind gets half of the places, as where kinds have their own
            lanes; then the most similar count, before any multiplier.
    """
    if not by_kind:
        return list(results[:CANDIDATES]), list(results[CANDIDATES:])
    chosen: set[int] = set()
    for kind in KINDS:
        places = [place for place, result in enumerate(results) if result.memory.kind == kind]
        places.sort(key=lambda place: -_sum(results[place]))
        chosen.update(places[: CANDIDATES // 2])
    head = [result for place, result in enumerate(results) if place in chosen]
    return head, [result for place, result in enumerate(results) if place not in chosen]


def _sum(result: Retrieved) -> float:
    return sum(value for name, value in result.factors.items() if name[0] != "×")


def _rated(result: Retrieved, rating: Rating) -> Retrieved:
    multipliers = {name: value for name, value in result.factors.items() if name[0] == "×"}
    score = rating.score * math.prod(multipliers.values())
    factors: Mapping[str, float] = {"rating": rating.score, **multipliers}
    return replace(result, score=score, factors=factors, reason=rating.reason)


def _lowered(result: Retrieved, floor: float) -> Retrieved:
    if result.score <= floor:
        return result
    factors = {**result.factors, "unrated": floor - result.score}
    return replace(result, score=floor, factors=factors)
