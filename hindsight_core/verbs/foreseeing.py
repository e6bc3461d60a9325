"""`forethought`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC

from hindsight_core.errors import ConfigurationError
from hindsight_core.lifecycle.decay import faded_confidence
from hindsight_core.models import Category, Memory, Retrieved
from hindsight_core.options import ForethoughtOptions
from hindsight_core.plans import Plan, ask
from hindsight_core.retrieval.budget import fit
from hindsight_core.retrieval.forethought import (
    MAX_TOKENS,
    Foreseen,
    Forethought,
    closest_failure,
    foresee,
    render_forethought,
)
from hindsight_core.retrieval.query import RecallQuery, query_text
from hindsight_core.store.base import MemoryFilter, Scroll
from hindsight_core.verbs.checked import check_tokens, language_for, options_given
from hindsight_core.verbs.recalling import note_recall, profile_for
from hindsight_core.verbs.scope import Scope

__all__ = ["plan_forethought"]

RULES = 8
"""Rules that are looked at."""
RUNS = 50
"""Past runs that are looked at, and that patterns are counted over."""
TAUGHT = 20
"""Lessons of the failed run that are looked at for its fix."""
SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of its text that the first thing to mind is cut to where it would not fit: some
scripts and emoji take several tokens for a character."""


def plan_forethought(scope: Scope, task: object, options: ForethoughtOptions) -> Plan[Forethought]:
    """Return what past runs warn of; what goes wrong makes it empty, unless `strict`."""
    scope.require_open()
    options = options_given("forethought", options, ForethoughtOptions.__optional_keys__)
    text = query_text(task)
    language = language_for(options.get("language", ""), text)
    budget = options.get("token_budget", MAX_TOKENS)
    check_tokens("token_budget", budget)
    if not text.strip():
        return Forethought(language=language)
    try:
        items = yield from _foreseen(scope, text, language, options)
    except ConfigurationError:
        raise
    except Exception as error:  # memory never breaks the agent
        if scope.engine.settings.strict:
            raise
        scope.health.note("forethought", error, options.get("run_id", ""))
        return Forethought(language=language, available=False)
    kept, block, tokens = _fitted(items, language, min(budget, MAX_TOKENS), scope)
    memories = _behind(kept)
    if memories:
        note_recall(scope, text, options.get("run_id", ""), memories)
    confidence = max((item.confidence for item in kept), default=0.0)
    return Forethought(block, kept, tokens, language, confidence)


def _foreseen(
    scope: Scope, task: str, language: str, options: ForethoughtOptions
) -> Plan[tuple[Foreseen, ...]]:
    engine = scope.engine
    profile, now = profile_for(scope, options.get("profile")), engine.clock()

    # No abstention here: what is relevant enough is told with thresholds that do not depend on
    # the profile.
    def find(categories: tuple[Category, ...], count: int) -> Plan[tuple[Retrieved, ...]]:
        query = RecallQuery(
            text=task,
            top_k=count,
            categories=categories,
            task_type=options.get("task_type") or "",
            domain=options.get("domain", ""),
        )
        return (yield from engine.recall.plan(query, profile, scope.readable, now))

    runs = yield from find(("experience",), RUNS)
    rules = yield from find(("rule", "correction"), RULES)
    failure = closest_failure(runs)
    taught: tuple[Memory, ...] = ()
    if failure is not None and failure.evidence:
        where = MemoryFilter(
            namespaces=(failure.namespace,),
            categories=("rule", "correction"),
            run_id=failure.evidence[0].run_id,
            valid_at=now,
        )
        page = yield from ask(Scroll(where, TAUGHT))
        taught = tuple(record.memory for record in page.records)
    return foresee(
        task,
        rules=rules,
        runs=runs,
        taught=taught,
        now=now,
        zone=options.get("timezone") or UTC,
        language=language,
        confidence_of=lambda memory: faded_confidence(memory, now, profile.lifecycle),
    )


def _fitted(
    items: tuple[Foreseen, ...], language: str, budget: int, scope: Scope
) -> tuple[tuple[Foreseen, ...], str, int]:
    """Return the items that fit, the first one shortened if not even that does."""
    fitted: tuple[tuple[Foreseen, ...], str, int] = ((), "", 0)
    for share in SHARES:
        some = items if share == 1 else [_shortened(item, share) for item in items[:1]]
        fitted = fit(
            some,
            lambda kept: render_forethought(kept, language),
            budget,
            scope.engine.count_tokens,
        )
        if fitted[0]:
            break
    return fitted


def _shortened(item: Foreseen, share: float) -> Foreseen:
    return replace(item, text=item.text[: int(len(item.text) * share)].rstrip() + " …")


def _behind(items: Iterable[Foreseen]) -> tuple[Memory, ...]:
    """Return the memories to be credited; a pattern is no single memory's merit."""
    memories = [memory for item in items if item.kind != "pattern" for memory in item.memories]
    return tuple({(m.namespace, m.id): m for m in memories}.values())
