"""`locomo` and `beam`: is what answers a question found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.context import Context
from benchmarks.loaders.beam import LONGEST, load_beam
from benchmarks.loaders.locomo import load_locomo
from benchmarks.loaders.questions import Corpus, first_questions
from benchmarks.metrics import Ranking, mean_of, recall_at
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore
from benchmarks.systems.lanes import Bm25, Dense, Ranker

__all__ = ["run_beam", "run_locomo"]

DEPTHS = (1, 5, 10, 20)


def run_locomo(context: Context) -> Report:
    """One memory per turn, one namespace per conversation."""
    return _run("locomo", load_locomo(context.data), context)


def run_beam(context: Context) -> Report:
    """One memory per message of either side, one namespace per chat."""
    corpora = load_beam(context.data)
    cut = sum(len(d.text) == LONGEST for corpus in corpora for d in corpus.documents)
    if cut:
        context.notes.append(f"{cut} messages are cut to {LONGEST:,} characters, for all systems")
    return _run("beam", corpora, context)


def _run(name: str, every: list[Corpus], context: Context) -> Report:
    corpora = first_questions(every, context.limit)
    for corpus in corpora:
        texts = [document.text for document in corpus.documents]
        context.embedder.documents(texts, f"{name} {corpus.name}")
        context.embedder.queries([q.text for q in corpus.questions], f"questions {corpus.name}")
    with HindsightStore(context.embedder) as store:
        rows = (
            _row("dense", corpora, lambda c: Dense(_texts(c), context.embedder), context),
            _row("bm25", corpora, lambda c: Bm25(_texts(c)), context),
            _row("hindsight", corpora, lambda c: store.store(c.name, c.documents), context),
        )
        context.notes.append(f"hindsight: {store.merged}")
    count = sum(len(corpus.questions) for corpus in corpora)
    documents = sum(len(corpus.documents) for corpus in corpora)
    settings = context.settings(namespaces=len(corpora), memories=documents, top_k=max(DEPTHS))
    return Report(name, count, rows, tuple(context.notes), settings)


def _row(
    system: str, corpora: Sequence[Corpus], make: Callable[[Corpus], Ranker], context: Context
) -> Row:
    recalls: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    for corpus in corpora:
        ranker = make(corpus)
        for question in track(corpus.questions, f"{system} {corpus.name}"):
            ranking: Ranking = ranker.rank(question.text, max(DEPTHS))
            for depth in DEPTHS:
                recalls[depth].append(recall_at(ranking, question.gold, depth))
    measures = {f"R@{depth}": mean_of(values) for depth, values in recalls.items()}
    return Row(context.system(system), measures)


def _texts(corpus: Corpus) -> list[str]:
    return [document.text for document in corpus.documents]
