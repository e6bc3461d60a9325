"""`retrieve` and `brief`."""

from __future__ import annotations

from typing import cast

from hindsight_core.errors import ConfigurationError
from hindsight_core.language import language_of
from hindsight_core.models import Brief, Retrieved
from hindsight_core.options import BriefOptions, RetrieveOptions
from hindsight_core.plans import Plan
from hindsight_core.retrieval.brief import render
from hindsight_core.retrieval.budget import budget_for, fit
from hindsight_core.retrieval.profiles import Profile, profile_named
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.runs.pending import PendingRecall
from hindsight_core.verbs.scope import Scope

__all__ = ["plan_brief", "plan_retrieve"]


def plan_retrieve(
    scope: Scope, query: str | None, options: RetrieveOptions
) -> Plan[tuple[Retrieved, ...]]:
    """Return the best memories for `query`, best first."""
    scope.require_open()
    engine = scope.engine
    profile = _profile(scope, options)
    asked = _query(scope, query, options, profile)
    return (yield from engine.recall.plan(asked, profile, scope.readable, engine.clock()))


def plan_brief(scope: Scope, query: str | None, options: BriefOptions) -> Plan[Brief]:
    """Return the block for a prompt; what goes wrong makes it empty, unless `strict`.

    Misuse is told at once: an option that can't be used, a facade that was closed.
    """
    scope.require_open()
    language = options.get("language") or language_of(query or "")
    try:
        return (yield from _compose(scope, query, options, language))
    except ConfigurationError:
        raise
    except Exception as error:  # memory never breaks the agent
        if scope.engine.settings.strict:
            raise
        scope.health.note("recall", error, options.get("run_id", ""))
        return Brief(language=language, available=False)


def _compose(scope: Scope, query: str | None, options: BriefOptions, language: str) -> Plan[Brief]:
    settings = scope.engine.settings
    retrieved = yield from plan_retrieve(scope, query, _plain(options))
    budget = budget_for(
        options.get("token_budget") or settings.token_budget,
        options.get("context_window"),
        settings.context_share,
    )
    kept, text, tokens = fit(
        retrieved,
        lambda items: render(items, language),
        budget,
        scope.engine.count_tokens,
    )
    if kept:
        _note_recall(scope, query or "", options.get("run_id", ""), kept)
    return Brief(text, kept, tokens, language)


def _note_recall(scope: Scope, query: str, run_id: str, kept: tuple[Retrieved, ...]) -> None:
    engine = scope.engine
    safe_query = engine.redactor.redact(query[:2_000]).text
    memories = tuple(result.memory for result in kept)
    engine.recalls.add(PendingRecall(scope.namespace, run_id, memories, safe_query, engine.clock()))


def _plain(options: BriefOptions) -> RetrieveOptions:
    """Return what `retrieve` takes of `options`; a brief abstains unless told not to."""
    known = RetrieveOptions.__optional_keys__
    plain = {key: value for key, value in options.items() if key in known}
    return cast("RetrieveOptions", {"abstain": True, **plain})


def _profile(scope: Scope, options: RetrieveOptions) -> Profile:
    wanted = options.get("profile")
    if wanted is None:
        return scope.engine.profile
    return profile_named(wanted) if isinstance(wanted, str) else wanted


def _query(
    scope: Scope, query: str | None, options: RetrieveOptions, profile: Profile
) -> RecallQuery:
    top_k = options.get("top_k")
    if top_k is None:
        top_k = scope.engine.settings.top_k or profile.top_k
    return RecallQuery(
        text=query or "",
        top_k=top_k,
        task_type=options.get("task_type") or "",
        tags=tuple(options.get("tags") or ()),
        kinds=tuple(options.get("kinds") or ()),
        categories=tuple(options.get("categories") or ()),
        task_types=tuple(options.get("task_types") or ()),
        domain=options.get("domain", ""),
        outcomes=tuple(options.get("outcomes") or ()),
        keywords=tuple(options.get("keywords") or ()),
        since=options.get("since"),
        until=options.get("until"),
        min_confidence=options.get("min_confidence", 0.0),
        statuses=tuple(options.get("statuses") or ("active",)),
        abstain=options.get("abstain", False),
    )
