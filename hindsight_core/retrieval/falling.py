"""Scores of a ranking in which something was moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hindsight_core.models import Retrieved

__all__ = ["falling"]


def falling(results: Sequence[Retrieved], factor: str) -> list[Retrieved]:
    """Raise the score of what stands above a higher one to that one, so that scores fall.

    Args:
        results: Results in their new order.
        factor: Name under which a raised result tells by how much.
    """
    raised: list[Retrieved] = []
    best = -math.inf
    for result in reversed(results):
        best = max(best, result.score)
        if best > result.score:
            factors = {**result.factors, factor: best - result.score}
            result = replace(result, score=best, factors=factors)
        raised.append(result)
    return raised[::-1]
