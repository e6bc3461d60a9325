"""`maintain`: what left everyday use, and what would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from hindsight_core.engine import Engine
from hindsight_core.lifecycle.maintain import KEPT_STEPS, Maintained, Maintenance, Progress
from hindsight_core.lifecycle.merge_words import OUTPUT_TOKENS, PROMPT_TOKENS, MergeWording
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.namespaces import Namespace
from hindsight_core.verbs.last_times import last_time, note_time
from hindsight_core.verbs.model_work import model_work
from hindsight_core.verbs.scope import Scope

__all__ = ["maintain_now", "maintain_with"]

OVERLAP = timedelta(days=1)
"""How far before the last maintenance merging looks, since clocks of hosts differ."""


def maintain_now(
    scope: Scope,
    *,
    dry_run: bool,
    everything: bool,
    on_progress: Callable[[Progress], None] | None,
    on_step: Callable[[Tended], None] | None,
) -> Maintained:
    """Maintain the own namespace in the calling thread."""
    scope.require_open()
    return maintain_with(
        scope.engine,
        scope.namespace,
        dry_run=dry_run,
        everything=everything,
        on_progress=on_progress,
        on_step=on_step,
    )


def maintain_with(
    engine: Engine,
    namespace: Namespace,
    *,
    dry_run: bool = False,
    everything: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_step: Callable[[Tended], None] | None = None,
) -> Maintained:
    """Maintain `namespace`, and note when that was done to the end."""
    engine.note_recalls()
    now = engine.clock()
    last = None if everything else last_time(engine, "maintained", namespace)
    maintenance = Maintenance(
        namespace, engine.profile.lifecycle, engine.writer, engine.run, on_progress, on_step
    )
    done = maintenance.maintain(
        now, dry_run=dry_run, merge_since=None if last is None else last - OVERLAP
    )
    if not dry_run:
        done = _worded(engine, namespace, done, now)
        note_time(engine, "maintained", namespace, now)
    return done


def _worded(engine: Engine, namespace: Namespace, done: Maintained, now: datetime) -> Maintained:
    """Have a model find words for what was merged, where the profile wants that."""
    wanted = engine.profile.lifecycle.merge_words == "model"
    if engine.model is None or not wanted or not done.waiting:
        return done
    work = model_work(engine, namespace, prompt_tokens=PROMPT_TOKENS, output_tokens=OUTPUT_TOKENS)
    found = MergeWording(work, engine.model).find(done.waiting, now)
    counts = dict(done.counts)
    if found.steps:
        counts["reworded"] = len(found.steps)
    if found.remaining:
        found.notes.append(f"{found.remaining} wait for words until the next time")
    return replace(
        done,
        counts=counts,
        steps=(*done.steps, *found.steps)[:KEPT_STEPS],
        notes=tuple(found.notes),
        tokens_in=found.tokens_in,
        tokens_out=found.tokens_out,
    )
