"""`currency` and `contradiction`: two statements about the same thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.context import Context
from benchmarks.loaders.pairs import Pair, Pairs, load_pairs
from benchmarks.metrics import Measure, area_under_curve, first_position, mean_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore, Stored
from benchmarks.systems.lanes import Bm25, Dense, Ranker, Scorer
from benchmarks.systems.profiled import with_profiles

__all__ = ["currency_of", "run_contradiction", "run_currency"]

DEPTH = 50
"""Results that are looked at; what is not among them was not found."""


def run_currency(context: Context) -> Report:
    """Does the newer of two statements come first."""
    pairs = load_pairs(context.data, "knowledge_update", keep_same_message=False)
    asked = context.first(pairs.pairs)
    _embed(pairs, asked, context)
    with HindsightStore(context.embedder) as store:
        stored = store.store("messages", pairs.documents)
        rankers = _rankers(pairs, stored, context)
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
        stored = store.store("messages", pairs.documents)
        rankers = _rankers(pairs, stored, context)
        rows = tuple(
            Row(
                context.system(name),
                _both(ranker, asked, name) | {"auc": _detected(ranker.scores, pairs, asked)},
            )
            for name, ranker in rankers.items()
        )
        relevance = _detected(stored.relevances, pairs, asked)
        context.notes.append(f"hindsight: {store.merged}")
    context.notes.append(
        "auc: asked with the newer statement, the score of the older one against that of the best "
        "other message; pairs without a common message. The score is the cosine, BM25, and for "
        "hindsight what `contradictions` says, which is relevance and how much of what one denies "
        f"the other claims; its relevance alone has {relevance.value:.3f}"
    )
    settings = context.settings(memories=len(pairs.documents), top_k=DEPTH)
    return Report("contradiction", len(asked), rows, tuple(context.notes), settings)


def _embed(pairs: Pairs, asked: Sequence[Pair], context: Context) -> None:
    context.embedder.documents([document.text for document in pairs.documents], "messages")
    context.embedder.queries([pair.question for pair in asked], "questions")


def _rankers(pairs: Pairs, stored: Stored, context: Context) -> Mapping[str, Scorer]:
    texts = [document.text for document in pairs.documents]
    return {
        "dense": Dense(texts, context.embedder),
        "bm25": Bm25(texts),
        **with_profiles(stored, context),
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


def _detected(
    scores_of: Callable[[str], NDArray[np.float64]], pairs: Pairs, asked: Sequence[Pair]
) -> Measure:
    """Tell true pairs from the hardest neighbors by their scores alone.

    Args:
        scores_of: Gives the score of each document beside a statement.
        pairs: The documents.
        asked: The pairs.
    """
    true: list[float] = []
    hardest: list[float] = []
    for pair in asked:
        if pair.old & pair.new:
            continue
        scores = [scores_of(pairs.documents[new].text) for new in sorted(pair.new)]
        others = [i for i in range(len(pairs.documents)) if i not in pair.old | pair.new]
        true.append(max(float(row[old]) for row in scores for old in pair.old))
        hardest.append(max(float(row[others].max()) for row in scores))
    return replace(area_under_curve(true, hardest), n=len(true))
