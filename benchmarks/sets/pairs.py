"""`currency` and `contradiction`: two statements about the same thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.context import Context
from benchmarks.loaders.pairs import Pair, Pairs, load_pairs
from benchmarks.metrics import Measure, first_position, mean_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore
from benchmarks.systems.lanes import Bm25, Dense, Ranker

__all__ = ["run_contradiction", "run_currency"]

DEPTH = 50
"""Results that are looked at; what is not among them was not found."""


def run_currency(context: Context) -> Report:
    """Does the newer of two statements come first."""
    pairs = load_pairs(context.data, "knowledge_update", keep_same_message=False)
    asked = context.first(pairs.pairs)
    _embed(pairs, asked, context)
    with HindsightStore(context.embedder) as store:
        rankers = _rankers(pairs, store, context)
        rows = tuple(
            Row(context.system(name), _currency(ranker, asked, name))
            for name, ranker in rankers.items()
        )
        context.notes.append(f"hindsight: {store.merged}")
    settings = context.settings(memories=len(pairs.documents), top_k=DEPTH)
    return Report("currency", len(asked), rows, tuple(context.notes), settings)


def run_contradiction(context: Context) -> Report:
    """Are both of two contradicting statements found."""
    pairs = load_pairs(context.data, "contradiction_resolution", keep_same_message=True)
    asked = context.first(pairs.pairs)
    _embed(pairs, asked, context)
    with HindsightStore(context.embedder) as store:
        rankers = _rankers(pairs, store, context)
        rows = tuple(
            Row(context.system(name), _both(ranker, asked, name))
            for name, ranker in rankers.items()
        )
        context.notes.append(f"hindsight: {store.merged}")
    settings = context.settings(memories=len(pairs.documents), top_k=DEPTH)
    return Report("contradiction", len(asked), rows, tuple(context.notes), settings)


def _embed(pairs: Pairs, asked: Sequence[Pair], context: Context) -> None:
    context.embedder.documents([document.text for document in pairs.documents], "messages")
    context.embedder.queries([pair.question for pair in asked], "questions")


def _rankers(pairs: Pairs, store: HindsightStore, context: Context) -> Mapping[str, Ranker]:
    texts = [document.text for document in pairs.documents]
    return {
        "dense": Dense(texts, context.embedder),
        "bm25": Bm25(texts),
        "hindsight": store.store("messages", pairs.documents),
    }


def _currency(ranker: Ranker, pairs: Sequence[Pair], name: str) -> dict[str, Measure]:
    before: list[float] = []
    places: list[int] = []
    for pair in track(pairs, name):
        ranking = ranker.rank(pair.question, DEPTH)
        places.append(first_position(ranking, pair.new))
        before.append(places[-1] < first_position(ranking, pair.old))
    return {
        "new_first": mean_of(before),
        "new@1": mean_of([place < 1 for place in places]),
        "new@5": mean_of([place < 5 for place in places]),
    }


def _both(ranker: Ranker, pairs: Sequence[Pair], name: str) -> dict[str, Measure]:
    both: list[float] = []
    for pair in track(pairs, name):
        ranking = ranker.rank(pair.question, DEPTH)
        both.append(max(first_position(ranking, side) for side in (pair.old, pair.new)) < 5)
    return {"both@5": mean_of(both)}
