"""`retrieve` and `brief`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Brief, Memory, Retrieved
from hindsight_core.options import BriefOptions, RetrieveOptions
from hindsight_core.plans import Plan
from hindsight_core.retrieval.brief import render
from hindsight_core.retrieval.budget import budget_for, fit
from hindsight_core.retrieval.conflicts import conflicting
from hindsight_core.retrieval.diversity import POOL, diverse
from hindsight_core.retrieval.excerpt import Excerpts
from hindsight_core.retrieval.profiles import Profile, profile_named
from hindsight_core.retrieval.query import MAX_TOP_K, RecallQuery, query_text
from hindsight_core.runs.pending import PendingRecall
from hindsight_core.verbs.checked import check_tokens, language_for, options_given
from hindsight_core.verbs.reranking import rerank_for
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.widening import plan_widened

__all__ = ["note_recall", "plan_brief", "plan_retrieve", "profile_for"]


def plan_retrieve(
    scope: Scope, query: object, options: RetrieveOptions, run_id: str = ""
) -> Plan[tuple[Retrieved, ...]]:
    """Return the best memories for `query`, best first.

    Args:
        scope: Who asks.
        query: Text, `None`, or the content of a message.
        options: Everything else.
        run_id: The run it is for, by which a failure is told.
    """
    scope.require_open()
    options = options_given("retrieve", options, RetrieveOptions.__optional_keys__)
    engine = scope.engine
    profile = profile_for(scope, options.get("profile"))
    text = query_text(query)
    wanted = options.get("expand")
    if wanted is not None or engine.settings.expand != "off":
        session_id = options.get("session_id", "")
        text = yield from plan_widened(scope, text, wanted, session_id, run_id)
    asked = _query(scope, text, options, profile)
    rerank = rerank_for(scope, asked, profile, options.get("rerank"), run_id)
    found = yield from engine.recall.plan(asked, profile, scope.readable, engine.clock(), rerank)
    if not options.get("diverse", False):
        return found
    return diverse(found, asked.top_k, engine.sparse.content_terms)


def plan_brief(scope: Scope, query: object, options: BriefOptions) -> Plan[Brief]:
    """Return the block for a prompt; what goes wrong makes it empty, unless `strict`.

    Misuse is told at once: an option that can't be used, a facade that was closed.
    """
    scope.require_open()
    options = options_given("brief", options, BriefOptions.__optional_keys__)
    check_tokens("token_budget", options.get("token_budget"))
    check_tokens("context_window", options.get("context_window"))
    text = query_text(query)
    language = language_for(options.get("language", ""), text)
    try:
        return (yield from _compose(scope, text, options, language))
    except ConfigurationError:
        raise
    except Exception as error:  # memory never breaks the agent
        if scope.engine.settings.strict:
            raise
        scope.health.note("recall", error, options.get("run_id", ""))
        return Brief(language=language, available=False)


def _compose(scope: Scope, query: str, options: BriefOptions, language: str) -> Plan[Brief]:
    settings = scope.engine.settings
    run_id = options.get("run_id", "")
    retrieved = yield from plan_retrieve(scope, query, _plain(scope, options), run_id)
    budget = budget_for(
        options.get("token_budget") or settings.token_budget,
        options.get("context_window"),
        settings.context_share,
    )
    pairs = conflicting(retrieved, scope.engine.sparse.content_terms)
    excerpt = Excerpts(query, scope.engine.sparse.content_terms)
    kept, text, tokens = fit(
        retrieved,
        lambda items: render(items, language, [p for p in pairs if max(p) < len(items)], excerpt),
        budget,
        scope.engine.count_tokens,
    )
    if kept:
        note_recall(scope, query, run_id, [result.memory for result in kept])
    return Brief(text, kept, tokens, language)


def note_recall(scope: Scope, query: str, run_id: str, memories: Sequence[Memory]) -> None:
    """Note what was given to read for which run, so that its outcome is credited.

    Args:
        scope: Who asked.
        query: What was asked, as it was asked.
        run_id: The run, `""` if it is not known.
        memories: What was given, best first.
    """
    engine = scope.engine
    safe_query = engine.redactor.redact(query[:2_000]).text
    recall = PendingRecall(scope.namespace, run_id, tuple(memories), safe_query, engine.clock())
    engine.recalls.add(recall)


def profile_for(scope: Scope, wanted: str | Profile | None) -> Profile:
    """Return the profile for one call, by default that of the engine."""
    if wanted is None:
        return scope.engine.profile
    return profile_named(wanted) if isinstance(wanted, str) else wanted


def _plain(scope: Scope, options: BriefOptions) -> RetrieveOptions:
    """Return what `retrieve` takes of `options`; a brief abstains unless told not to."""
    known = RetrieveOptions.__optional_keys__
    plain = {key: value for key, value in options.items() if key in known}
    mine = {"abstain": True, "diverse": scope.engine.settings.diverse_briefs}
    return cast("RetrieveOptions", {**mine, **plain})


def _query(scope: Scope, text: str, options: RetrieveOptions, profile: Profile) -> RecallQuery:
    top_k = options.get("top_k")
    if top_k is None:
        top_k = scope.engine.settings.top_k or profile.top_k
    pool = 0
    # Places that a profile reserves are filled by the recall itself.
    if options.get("diverse", False) and isinstance(top_k, int) and not profile.semantic_always:
        pool = min(POOL * top_k, MAX_TOP_K)
    return RecallQuery(
        text=text,
        top_k=top_k,
        pool=pool,
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
