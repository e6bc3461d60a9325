"""Which of two statements about the same thing is current.

Among the first places a newer memory about the same thing goes before the older one, and so
does a newer rule from another attempt at the very same task. Nothing gets lost: places are
exchanged, not taken away.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from hindsight_core.models import Memory, Retrieved, is_statement
from hindsight_core.retrieval.falling import falling
from hindsight_core.safety.trust import outranks

__all__ = ["prefer_current"]

TOP = 4
"""Only so many statements, the best ones, are reordered among themselves: where nothing but
statements is stored, recall at 4 and beyond can't change by it."""
CONTEXT = 10
"""Results among which those statements are looked for, past the runs that stand between, and
over which the rarity of a term is judged: what all of them share is the topic."""
SAME_THING = 0.15
"""Weighted overlap of content terms from which on two memories are about the same thing."""
SAME_THING_OTHER_NUMBER = 0.10
"""The same where each states a number that the other does not: numbers are values, and an
update changes a value."""
LEAST_RATIO = 0.5
"""The newer one needs at least this share of the older one's score."""
BETTER_SUPPORTED = 0.3
"""An older statement with this much more confidence keeps its place."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Said:
    terms: frozenset[int]
    numbers: frozenset[str]


def prefer_current(
    ranked: Sequence[Retrieved], content_terms: Callable[[str], frozenset[int]]
) -> list[Retrieved]:
    """Return `ranked` with the newer of two memories about the same thing first.

    A result that moved up brings the factor `newer`, which is how much its score was raised
    to stand where it stands.

    Args:
        ranked: Results, best first.
        content_terms: Gives the terms of a text that say what it is about.
    """
    slots = [i for i, r in enumerate(ranked[:CONTEXT]) if is_statement(r.memory)][:TOP]
    if len(slots) < 2:
        return list(ranked)
    head = [ranked[slot] for slot in slots]
    context = [_said(result.memory, content_terms) for result in ranked[:CONTEXT]]
    weights = _rarities(context)
    said = [context[slot] for slot in slots]
    order: list[int] = []
    for index, result in enumerate(head):
        place = next(
            (
                position
                for position, earlier in enumerate(order)
                if _outdates(result, head[earlier], said[index], said[earlier], weights)
            ),
            len(order),
        )
        order.insert(place, index)
    first = list(ranked[:CONTEXT])
    for slot, index in zip(slots, order, strict=True):
        first[slot] = head[index]
    return [*falling(first, "newer"), *ranked[CONTEXT:]]


def _said(memory: Memory, content_terms: Callable[[str], frozenset[int]]) -> _Said:
    if not is_statement(memory):
        return _Said(frozenset(), frozenset())
    return _Said(content_terms(memory.content), _numbers_of(memory.content))


@lru_cache(4_096)
def _numbers_of(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _rarities(said: Sequence[_Said]) -> Mapping[int, float]:
    """Return log(1 + (n − df + ½) / (df + ½)) for each term, BM25's inverse frequency."""
    count = len(said)
    rarity = [math.log(1 + (count - k + 0.5) / (k + 0.5)) for k in range(count + 1)]
    frequency = Counter(chain.from_iterable(one.terms for one in said))
    return {term: rarity[k] for term, k in frequency.items()}


def _outdates(
    new: Retrieved, old: Retrieved, new_said: _Said, old_said: _Said, weights: Mapping[int, float]
) -> bool:
    first, second = new.memory, old.memory
    if not (is_statement(first) and is_statement(second)):
        return False
    if first.event_time <= second.event_time or new.score < LEAST_RATIO * old.score:
        return False
    if second.confidence - first.confidence >= BETTER_SUPPORTED or outranks(second, first):
        return False
    # Steps of one conversation answer each other.
    if {e.run_id for e in first.evidence} & {e.run_id for e in second.evidence}:
        return False
    if _learned_in_one_task(first, second):
        return True
    numbers = new_said.numbers - old_said.numbers and old_said.numbers - new_said.numbers
    needed = SAME_THING_OTHER_NUMBER if numbers else SAME_THING
    return _overlap(new_said.terms, old_said.terms, weights) >= needed


def _learned_in_one_task(first: Memory, second: Memory) -> bool:
    """Whether two rules come from attempts at the very same task."""
    if not first.category == second.category == "rule" or not first.task_description.strip():
        return False
    return first.task_description.split() == second.task_description.split()


def _overlap(first: frozenset[int], second: frozenset[int], weights: Mapping[int, float]) -> float:
    union = sum(weights[term] for term in first | second)
    return sum(weights[term] for term in first & second) / union if union else 0.0
