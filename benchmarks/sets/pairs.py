"""`currency` and `contradiction`: two statements about the same thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.context import Context
from benchmarks.loaders.pairs import Pair, Pairs, load_pairs
from benchmarks.metrics import Measure, area_under_curve, first_position, mean_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore
from benchmarks.systems.lanes import Bm25, Dense, Ranker, Scorer

__all__ = ["currency_of", "run_contradiction", "run_currency"]

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
            Row(context.system(name), currency_of(ranker, asked, name))
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
            Row(context.system(name), _both(ranker, asked, name) | _detected(ranker, pairs, asked))
            for name, ranker in rankers.items()
        )
        context.notes.append(f"hindsight: {store.merged}")
    context.notes.append(
        "auc: memory is asked with the newer statement; the score of the older one (cosine, BM25, "
        "absolute relevance) against that of the best other message; pairs without a common message"
    )
    settings = context.settings(memories=len(pairs.documents), top_k=DEPTH)
    return Report("contradiction", len(asked), rows, tuple(context.notes), settings)


def _embed(pairs: Pairs, asked: Sequence[Pair], context: Context) -> None:
    context.embedder.documents([document.text for document in pairs.documents], "messages")
    context.embedder.queries([pair.question for pair in asked], "questions")


def _rankers(pairs: Pairs, store: HindsightStore, context: Context) -> Mapping[str, Scorer]:
    texts = [document.text for document in pairs.documents]
    return {
        "dense": Dense(texts, context.embedder),
        "bm25": Bm25(texts),
        "hindsight": store.store("messages", pairs.documents),
    }


def currency_of(ranker: Ranker, pairs: Sequence[Pair], name: str) -> dict[str, Measure]:
    """Return how often the newer statement comes before the older one, and how near the top."""
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


def _both(ranker: Scorer, pairs: Sequence[Pair], name: str) -> dict[str, Measure]:
    both: list[float] = []
    for pair in track(pairs, name):
        ranking = ranker.rank(pair.question, DEPTH)
        both.append(max(first_position(ranking, side) for side in (pair.old, pair.new)) < 5)
    return {"both@5": mean_of(both)}


def _detected(scorer: Scorer, pairs: Pairs, asked: Sequence[Pair]) -> dict[str, Measure]:
    """Tell true pairs from the hardest neighbors by their scores alone."""
    true: list[float] = []
    hardest: list[float] = []
    for pair in asked:
        if pair.old & pair.new:
            continue
        scores = [scorer.scores(pairs.documents[new].text) for new in sorted(pair.new)]
        others = [i for i in range(len(pairs.documents)) if i not in pair.old | pair.new]
        true.append(max(float(row[old]) for row in scores for old in pair.old))
        hardest.append(max(float(row[others].max()) for row in scores))
    return {"auc": replace(area_under_curve(true, hardest), n=len(true))}
