"""`contradictions`."""

from __future__ import annotations

from hindsight_core.errors import ConfigurationError
from hindsight_core.models import STATEMENTS
from hindsight_core.options import RetrieveOptions
from hindsight_core.plans import Plan
from hindsight_core.retrieval.contradicting import Contradiction, contradictions_among
from hindsight_core.retrieval.query import query_text
from hindsight_core.verbs.recalling import plan_retrieve
from hindsight_core.verbs.scope import Scope

__all__ = ["LOOKED_AT", "plan_contradictions"]

LOOKED_AT = 50
"""Memories that are compared with the statement, the most relevant ones, or `top_k` if more."""


def plan_contradictions(
    scope: Scope, statement: object, top_k: int, least: float
) -> Plan[tuple[Contradiction, ...]]:
    """Return what is known that contradicts `statement`, the strongest first.

    Args:
        scope: Who asks.
        statement: Text, or the content of a message.
        top_k: Most results.
        least: Least score of a result, 0–1.
    """
    scope.require_open()
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        raise ConfigurationError(f"least {least!r} is not a number in 0–1")
    if isinstance(top_k, bool) or not isinstance(top_k, int):
        raise ConfigurationError(f"top_k {top_k!r} is not a whole number")
    text = query_text(statement)
    if not text.strip():
        return ()
    options = RetrieveOptions(
        top_k=max(top_k, LOOKED_AT) if top_k > 0 else top_k,
        categories=STATEMENTS,
        expand="off",
        rerank="off",
        diverse=False,
    )
    results = yield from plan_retrieve(scope, text, options)
    found = contradictions_among(text, results, scope.engine.sparse.content_terms)
    return tuple(one for one in found if one.score >= least)[:top_k]
