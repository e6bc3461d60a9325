"""`same-task`: tasks that were made of one template find each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks.context import Context
from benchmarks.loaders.webarena import Intent, load_intents
from benchmarks.metrics import (
    Measure,
    average_precision,
    mean_of,
    precision_at,
    reciprocal_rank,
)
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import MOST_RESULTS, HindsightStore
from benchmarks.systems.lanes import Bm25, Dense, LeaveOneOut, OthersRanker

__all__ = ["episodes_of", "run_same_task", "with_others"]

DONE = datetime(2024, 6, 1, tzinfo=UTC)


def run_same_task(context: Context) -> Report:
    """Leave one out; relevant is what was made of the same template."""
    intents = load_intents(context.data)
    texts = [intent.text for intent in intents]
    asked = context.first(with_others(intents))
    context.embedder.documents(texts, "intents")
    context.embedder.queries([texts[own] for own in asked], "intents")
    with HindsightStore(context.embedder) as store:
        rankers: dict[str, OthersRanker] = {
            "dense": LeaveOneOut(Dense(texts, context.embedder)),
            "bm25": LeaveOneOut(Bm25(texts)),
            "hindsight": store.store_items("intents", episodes_of(texts)),
        }
        rows = tuple(
            Row(context.system(name), _measures(ranker, intents, asked, name))
            for name, ranker in rankers.items()
        )
    context.notes.append(
        f"{len(intents)} intents, of which {len(with_others(intents))} share a template"
    )
    settings = context.settings(memories=len(texts), top_k=min(MOST_RESULTS, len(texts)))
    return Report("same-task", len(asked), rows, tuple(context.notes), settings)


def episodes_of(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return what `store_many` takes for tasks that were done."""
    return [
        {
            "content": text,
            "memory_id": str(place),
            "kind": "episodic",
            "category": "experience",
            "task_description": text,
            "event_time": DONE,
        }
        for place, text in enumerate(texts)
    ]


def with_others(intents: Sequence[Intent]) -> list[int]:
    """Return the tasks that are not the only one of their template."""
    templates = [intent.template for intent in intents]
    return [place for place, template in enumerate(templates) if templates.count(template) > 1]


def _measures(
    ranker: OthersRanker, intents: Sequence[Intent], asked: Sequence[int], name: str
) -> dict[str, Measure]:
    first: list[float] = []
    reciprocal: list[float] = []
    average: list[float] = []
    depth = min(MOST_RESULTS, len(intents))
    for own in track(asked, name):
        ranking = ranker.rank_others(own, intents[own].text, depth)
        relevant = [
            place
            for place, intent in enumerate(intents)
            if place != own and intent.template == intents[own].template
        ]
        first.append(precision_at(ranking, relevant, 1))
        reciprocal.append(reciprocal_rank(ranking, relevant))
        average.append(average_precision(ranking, relevant))
    return {"P@1": mean_of(first), "MRR": mean_of(reciprocal), "MAP": mean_of(average)}
