"""`locomo` and `beam`: is what answers a question found, and in how many tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.context import Context
from benchmarks.loaders.beam import LONGEST, load_beam
from benchmarks.loaders.locomo import load_locomo
from benchmarks.loaders.questions import Corpus, first_questions
from benchmarks.metrics import Measure, Ranking, mean_of, recall_at
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore, Stored
from benchmarks.systems.lanes import Bm25, Dense, Ranker
from hindsight_core.settings import Settings

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
        sizes = _sizes(corpora, store)
        kept: dict[str, Stored] = {}

        def stored(corpus: Corpus) -> Stored:
            kept[corpus.name] = store.store(corpus.name, corpus.documents)
            return kept[corpus.name]

        measures = {
            "dense": _found("dense", corpora, sizes, lambda c: Dense(_texts(c), context.embedder)),
            "bm25": _found("bm25", corpora, sizes, lambda c: Bm25(_texts(c))),
            "hindsight": _found("hindsight", corpora, sizes, stored),
        }
        context.notes.append(f"hindsight: {store.merged}")
        # Briefs come last: what stands in one counts as used, which no ranking above may see.
        measures["hindsight"] |= _briefs(corpora, kept)
    rows = tuple(Row(context.system(name), of) for name, of in measures.items())
    context.notes.append(
        "`tokens@k`: mean tokens of the first k results; `brief_tokens` and `brief_recall` are of "
        "the brief about the question, with the default number of memories"
    )
    count = sum(len(corpus.questions) for corpus in corpora)
    documents = sum(len(corpus.documents) for corpus in corpora)
    settings = context.settings(
        namespaces=len(corpora),
        memories=documents,
        top_k=max(DEPTHS),
        token_encoding=Settings().token_encoding,
    )
    return Report(name, count, rows, tuple(context.notes), settings)


def _sizes(corpora: Sequence[Corpus], store: HindsightStore) -> dict[str, list[int]]:
    """Return the tokens of each corpus's documents, as a brief's budget counts them."""
    return {
        corpus.name: [
            store.memory.count_tokens(text)
            for text in track(_texts(corpus), f"counting tokens of {corpus.name}")
        ]
        for corpus in corpora
    }


def _found(
    system: str,
    corpora: Sequence[Corpus],
    sizes: Mapping[str, Sequence[int]],
    make: Callable[[Corpus], Ranker],
) -> dict[str, Measure]:
    recalls: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    tokens: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    for corpus in corpora:
        ranker = make(corpus)
        for question in track(corpus.questions, f"{system} {corpus.name}"):
            ranking = ranker.rank(question.text, max(DEPTHS))
            for depth in DEPTHS:
                recalls[depth].append(recall_at(ranking, question.gold, depth))
                tokens[depth].append(_tokens(ranking, sizes[corpus.name], depth))
    return {
        **{f"R@{depth}": mean_of(values) for depth, values in recalls.items()},
        **{f"tokens@{depth}": mean_of(values) for depth, values in tokens.items()},
    }


def _tokens(ranking: Ranking, sizes: Sequence[int], depth: int) -> int:
    """Return the tokens of the first results; documents merged into one count once."""
    at = {position: sizes[place] for place, position in ranking.items() if position < depth}
    return sum(at.values())


def _briefs(corpora: Sequence[Corpus], kept: Mapping[str, Stored]) -> dict[str, Measure]:
    """Return what the brief about each question costs, and how much of the gold stands in it."""
    tokens: list[float] = []
    recalls: list[float] = []
    for corpus in corpora:
        stored = kept[corpus.name]
        for question in track(corpus.questions, f"briefs {corpus.name}"):
            brief = stored.memory.brief(question.text)
            ranking = {
                document: position
                for position, result in enumerate(brief.retrieved)
                for document in stored.places.get(result.memory.id, ())
            }
            tokens.append(brief.tokens)
            recalls.append(recall_at(ranking, question.gold, len(brief.retrieved)))
    return {"brief_tokens": mean_of(tokens), "brief_recall": mean_of(recalls)}


def _texts(corpus: Corpus) -> list[str]:
    return [document.text for document in corpus.documents]
