"""What a short or vague query is searched for as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hindsight_core.errors import ConfigurationError, ReflectionError
from hindsight_core.plain_functions import check_plain
from hindsight_core.plans import Plan, blocking
from hindsight_core.reflection.model_errors import call_error
from hindsight_core.retrieval.expansion import (
    expansion_prompt,
    further_words,
    is_vague,
    joined,
    read_expansion,
    session_context,
)
from hindsight_core.retrieval.timebox import within
from hindsight_core.verbs.scope import Scope

__all__ = ["plan_widened"]

MAX_WIDENED = 200
"""Characters of a query past which it is never taken for vague, nor looked at for it."""


def plan_widened(scope: Scope, text: str, given: Any, session_id: str, run_id: str) -> Plan[str]:
    """Return what to search for: `text`, or more where it says too little.

    A widening that fails or takes too long is counted and leaves the query as it was, unless
    `strict`.

    Args:
        scope: Who asks.
        text: What was asked.
        given: The option `expand`.
        session_id: The session that is under way, `""` if none.
        run_id: The run it is for.

    Raises:
        ConfigurationError: If the option can't be used, or there is no model for it.
    """
    how = _chosen(scope, given)
    if how == "off" or len(text) > MAX_WIDENED:
        return text
    engine = scope.engine
    try:
        terms_of = engine.sparse.content_terms
        if not is_vague(text, len(terms_of(text))):
            return text
        steps = engine.working.steps(scope.namespace, session_id) if session_id else ()
        context = session_context(text, steps, terms_of)
        if how == "session":
            return joined(text, context)
        ask = _asker(scope, how, text, context)
        more = yield from blocking(
            lambda: within(engine.settings.expand_timeout, "widening a query", ask)
        )
        return joined(text, more)
    except Exception as error:  # the query as it stands can still be searched for
        if engine.settings.strict:
            raise
        scope.health.note("expand", error, run_id)
        return text


def _chosen(scope: Scope, given: Any) -> Any:
    how: Any = scope.engine.settings.expand if given is None or given is True else given
    if given is True and how == "off":
        how = "session"
    if how is False:
        return "off"
    if how == "model" and scope.engine.model is None:
        raise ConfigurationError(
            "expand='model' needs a reflection model, and none is configured; pass one to "
            "Hindsight.open(model=…) or set REFLECTION_MODEL"
        )
    if how not in ("off", "session", "model") and not callable(how):
        raise ConfigurationError(
            f"expand {how!r} is not known; use one of off, session, model, or a function from "
            "query and session to further words"
        )
    check_plain("expand", how)
    return how


def _asker(scope: Scope, how: Any, text: str, context: str) -> Callable[[], str]:
    """Return what asks the model or the function, with secrets taken out."""
    redact = scope.engine.redactor.redact
    query, session = redact(text).text, redact(context).text
    model = scope.engine.model
    if how == "model" and model is not None:
        return lambda: read_expansion(model.complete(expansion_prompt(query, session)))

    def ask() -> str:
        try:
            return further_words(how(query, session))
        except ReflectionError:
            raise
        except Exception as error:
            raise call_error(error, model="the function that widens queries") from error

    return ask
