"""Which re-ranker a retrieval uses, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hindsight_core.embedding.cross_encoder import CrossEncoder
from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Retrieved
from hindsight_core.plans import Plan, blocking
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.recall import Rerank
from hindsight_core.retrieval.rerank import (
    CallableReranker,
    Reranker,
    as_reranker,
    candidate_text,
    candidates_of,
    checked,
    in_new_order,
)
from hindsight_core.retrieval.rerank_model import ModelReranker
from hindsight_core.retrieval.timebox import within
from hindsight_core.verbs.scope import Scope

__all__ = ["rerank_for"]


def rerank_for(
    scope: Scope, query: RecallQuery, profile: Profile, given: Any, run_id: str
) -> Rerank | None:
    """Return how results are to be ordered anew, `None` for not at all.

    A re-ranking that fails, takes too long or makes no sense is counted and leaves the order
    as it was, unless `strict`.

    Args:
        scope: Who asks.
        query: What is asked.
        profile: Whose multipliers apply to the ratings.
        given: The option `rerank`.
        run_id: The run it is for.

    Raises:
        ConfigurationError: If there is no such re-ranker, or no model for it.
    """
    reranker = _chosen(scope, given)
    if reranker is None:
        return None
    chosen, settings = reranker, scope.engine.settings
    least = getattr(chosen, "least", 0.0) if query.abstain else 0.0

    def rerank(results: Sequence[Retrieved]) -> Plan[Sequence[Retrieved] | None]:
        head, rest = candidates_of(results, by_kind=profile.lanes.split_kinds)
        if len(head) < 2:
            return None
        asked = scope.engine.redactor.redact(query.text).text
        texts = [candidate_text(result.memory) for result in head]
        try:
            ratings = yield from blocking(
                lambda: within(
                    settings.rerank_timeout, "re-ranking", lambda: chosen.rate(asked, texts)
                )
            )
            return in_new_order(head, checked(ratings, len(head)), rest, least=least)
        except Exception as error:  # a closer look that fails leaves what was found
            if settings.strict:
                raise
            scope.health.note("rerank", error, run_id)
            return None

    return rerank


def _chosen(scope: Scope, given: Any) -> Reranker | None:
    settings = scope.engine.settings
    wanted = settings.rerank if given is None or given is True else given
    if given is True and wanted == "off":
        wanted = "model"
    if wanted is False or wanted == "off":
        return None
    if wanted == "model":
        if scope.engine.model is None:
            raise ConfigurationError(
                "rerank='model' needs a reflection model, and none is configured; pass one to "
                "Hindsight.open(model=…) or set REFLECTION_MODEL"
            )
        return ModelReranker(scope.engine.model)
    if wanted == "cross-encoder":
        return _cross_encoder(settings.rerank_model, settings.cache_dir, settings.allow_download)
    return as_reranker(wanted)


@lru_cache(maxsize=4)
def _cross_encoder(name: str, cache_dir: Path | None, allow_download: bool) -> Reranker:
    encoder = CrossEncoder(name, cache_dir=cache_dir, allow_download=allow_download)
    return CallableReranker(encoder, name)
