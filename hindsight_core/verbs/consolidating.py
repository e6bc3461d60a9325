"""`consolidate`: episodes become rules, by hand or when it is time."""

from __future__ import annotations

from datetime import timedelta

from hindsight_core.engine import Engine
from hindsight_core.errors import HindsightError
from hindsight_core.lifecycle.consolidate import Consolidated, Consolidation
from hindsight_core.lifecycle.episodes import Group
from hindsight_core.namespaces import Namespace
from hindsight_core.verbs.last_times import last_time, note_time
from hindsight_core.verbs.maintaining import maintain_with
from hindsight_core.verbs.model_work import model_work
from hindsight_core.verbs.scope import Scope

__all__ = ["consolidate_now", "schedule_tending", "tend_when_due"]


def consolidate_now(
    scope: Scope, *, dry_run: bool, everything: bool, token_limit: int | None
) -> Consolidated:
    """Consolidate the own namespace in the calling thread."""
    scope.require_open()
    engine = scope.engine
    tending = _consolidation(engine, scope.namespace, token_limit)
    last = None if everything else last_time(engine, "consolidated", scope.namespace)
    groups = tending.groups(last)
    return _done(engine, tending, groups, engine.profile.lifecycle.consolidate_by_hand, dry_run)


def schedule_tending(scope: Scope) -> None:
    """Have the worker tend memory after runs, where the settings want that.

    What fails there is noted and does not touch the run.
    """
    engine = scope.engine
    hours = engine.settings.tend_hours
    if not hours:
        return

    def tend(namespace: Namespace) -> None:
        try:
            tend_when_due(engine, namespace, hours)
        except HindsightError as error:
            scope.health.note("tending", error)

    engine.after_runs.append(tend)


def tend_when_due(engine: Engine, namespace: Namespace, hours: float) -> None:
    """Consolidate and maintain `namespace` if the profile and `hours` say that it is time.

    Args:
        engine: The open memory.
        namespace: Whose memories.
        hours: Least hours between two maintenances.
    """
    now, lifecycle = engine.clock(), engine.profile.lifecycle
    last = last_time(engine, "consolidated", namespace)
    if last is None or now - last >= timedelta(hours=lifecycle.consolidate_hours):
        tending = _consolidation(engine, namespace, None)
        groups = tending.groups(last)
        if sum(group.episodes for group in groups) >= lifecycle.consolidate_episodes:
            _done(engine, tending, groups, lifecycle.consolidate_by_hand, dry_run=False)
    maintained = last_time(engine, "maintained", namespace)
    if maintained is None or now - maintained >= timedelta(hours=hours):
        maintain_with(engine, namespace)


def _consolidation(engine: Engine, namespace: Namespace, token_limit: int | None) -> Consolidation:
    settings = engine.settings.model
    work = model_work(
        engine,
        namespace,
        prompt_tokens=settings.max_input_tokens,
        output_tokens=settings.max_output_tokens,
        token_limit=token_limit,
    )
    return Consolidation(work, engine.model)


def _done(
    engine: Engine, tending: Consolidation, groups: list[Group], least: int, dry_run: bool
) -> Consolidated:
    """Consolidate, and note when everything that was new had been looked at."""
    now = engine.clock()
    found = tending.consolidate(groups, now, least_members=least, dry_run=dry_run)
    if not dry_run and not found.remaining:
        note_time(engine, "consolidated", tending.work.namespace, now)
    return found
