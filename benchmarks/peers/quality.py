"""What the peers find, with the same embeddings: the questions of three other benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.context import Context
from benchmarks.loaders.locomo import load_locomo
from benchmarks.loaders.pairs import load_pairs
from benchmarks.loaders.questions import Corpus
from benchmarks.loaders.runs import load_tau_bench
from benchmarks.metrics import Measure, Ranking, mean_of, recall_at
from benchmarks.peers.process import PeerFailedError, Peers
from benchmarks.peers.vectors import VectorFiles
from benchmarks.progress import track
from benchmarks.sets.pairs import currency_of
from benchmarks.sets.runs import success_first_of
from benchmarks.systems.hindsight import HindsightStore
from benchmarks.systems.lanes import Dense, LeaveOneOut, Ranker

__all__ = ["QUESTIONS", "PeerRanker", "measure_currency", "measure_locomo", "measure_success"]

QUESTIONS = 200
"""Questions of `locomo` that all systems are asked, evenly from all of them."""
DEPTH = 10
FILL = 250

Commands: TypeAlias = Mapping[str, Sequence[str]]
Figures: TypeAlias = dict[str, dict[str, Measure]]


class PeerRanker:
    """Ranks what one peer was given under a namespace."""

    def __init__(self, peers: Peers, name: str, namespace: str) -> None:
        self._peers = peers
        self._name = name
        self._namespace = namespace

    def rank(self, query: str, k: int) -> Ranking:
        """Return the best documents for `query`.

        Raises:
            PeerFailedError: If the peer has failed.
        """
        answer = self._peers.ask(
            self._name, op="search", text=query, namespace=self._namespace, k=k
        )
        if answer is None:
            raise PeerFailedError(self._peers.failed.get(self._name, self._name))
        return {int(place): position for position, place in enumerate(answer["places"])}


def measure_locomo(context: Context, commands: Commands, folder: Path) -> tuple[Figures, Peers]:
    """Return recall, and how much of the first ten is what cosine alone brings up.

    Raises:
        DataMissingError: If there are no conversations.
    """
    corpora = _some(load_locomo(context.data), context.limit or QUESTIONS)
    texts = {corpus.name: [d.text for d in corpus.documents] for corpus in corpora}
    asked = [question.text for corpus in corpora for question in corpus.questions]
    figures: Figures = {}
    with _filled(context, commands, folder, texts, asked) as peers:
        dense = {name: Dense(some, context.embedder) for name, some in texts.items()}
        figures["dense"] = _recalled("dense", corpora, dense, dense)
        with HindsightStore(context.embedder) as store:
            ours = {corpus.name: store.store(corpus.name, corpus.documents) for corpus in corpora}
            figures["hindsight"] = _recalled("hindsight", corpora, ours, dense)
        figures |= _of_each(
            peers,
            lambda name: _recalled(
                name, corpora, {c.name: PeerRanker(peers, name, c.name) for c in corpora}, dense
            ),
        )
    return figures, peers


def measure_currency(context: Context, commands: Commands, folder: Path) -> tuple[Figures, Peers]:
    """Return how often the newer of two statements comes first.

    Raises:
        DataMissingError: If there are no pairs.
    """
    pairs = load_pairs(context.data, "knowledge_update", keep_same_message=False)
    asked = context.first(pairs.pairs)
    texts = {"messages": [document.text for document in pairs.documents]}
    figures: Figures = {}
    with _filled(context, commands, folder, texts, [pair.question for pair in asked]) as peers:

        def judged(name: str, ranker: Ranker) -> dict[str, Measure]:
            return {"new_first": currency_of(ranker, asked, name)["new_first"]}

        figures["dense"] = judged("dense", Dense(texts["messages"], context.embedder))
        with HindsightStore(context.embedder) as store:
            figures["hindsight"] = judged("hindsight", store.store("messages", pairs.documents))
        figures |= _of_each(peers, lambda name: judged(name, PeerRanker(peers, name, "messages")))
    return figures, peers


def measure_success(context: Context, commands: Commands, folder: Path) -> tuple[Figures, Peers]:
    """Return how often a successful run of the same task comes before a failed one.

    Raises:
        DataMissingError: If there are no runs.
    """
    runs = load_tau_bench(context.data)
    asked = context.first(range(len(runs)))
    texts = {"runs": [run.trajectory.task for run in runs]}
    figures: Figures = {}
    with _filled(context, commands, folder, texts, [texts["runs"][own] for own in asked]) as peers:

        def judged(name: str, ranker: Any) -> dict[str, Measure]:
            return {"success_first": success_first_of(runs, asked, ranker, name)["success_first"]}

        figures["dense"] = judged("dense", LeaveOneOut(Dense(texts["runs"], context.embedder)))
        with HindsightStore(context.embedder) as store:
            ours = store.reflect("success-first", [run.trajectory for run in runs])
            figures["hindsight"] = judged("hindsight", ours)
        figures |= _of_each(
            peers, lambda name: judged(name, LeaveOneOut(PeerRanker(peers, name, "runs")))
        )
    return figures, peers


def _some(corpora: Sequence[Corpus], count: int) -> list[Corpus]:
    """Return the corpora with `count` of their questions: the kinds of them stand in blocks."""
    every = [(place, q) for place, corpus in enumerate(corpora) for q in corpus.questions]
    count = min(count, len(every))
    chosen = [every[i * len(every) // count] for i in range(count)]
    return [
        replace(corpus, questions=tuple(q for of, q in chosen if of == place))
        for place, corpus in enumerate(corpora)
    ]


def _recalled(
    name: str,
    corpora: Sequence[Corpus],
    rankers: Mapping[str, Ranker],
    dense: Mapping[str, Ranker],
) -> dict[str, Measure]:
    recalls: list[float] = []
    shared: list[float] = []
    for corpus in corpora:
        for question in track(corpus.questions, f"{name} {corpus.name}"):
            found = rankers[corpus.name].rank(question.text, DEPTH)
            cosine = dense[corpus.name].rank(question.text, DEPTH)
            recalls.append(recall_at(found, question.gold, DEPTH))
            first = [place for place, position in cosine.items() if position < DEPTH]
            shared.append(recall_at(found, first, DEPTH))
    return {"R@10": mean_of(recalls), "as_dense@10": mean_of(shared)}


def _of_each(peers: Peers, judge: Callable[[str], dict[str, Measure]]) -> Figures:
    figures: Figures = {}
    for name in peers.names:
        try:
            figures[name] = judge(name)
        except PeerFailedError:
            # What it said stands in `Peers.failed`; a part of the questions is no figure.
            continue
    return figures


@contextmanager
def _filled(
    context: Context,
    commands: Commands,
    folder: Path,
    texts: Mapping[str, Sequence[str]],
    queries: Sequence[str],
) -> Iterator[Peers]:
    """Open every peer with the texts of each namespace, all of them active."""
    files = VectorFiles(folder / "vectors")
    for name, some in texts.items():
        files.write("document", some, context.embedder.documents(some, name))
    files.write("query", queries, context.embedder.queries(queries, "questions"))
    with Peers(commands, folder) as peers:
        peers.open(context.embedder.dimension)
        for request in files.requests():
            for _ in peers.ask_all(**request):
                pass
        for name in peers.names:
            for namespace, some in texts.items():
                _fill(peers, name, namespace, some)
        yield peers


def _fill(peers: Peers, name: str, namespace: str, texts: Sequence[str]) -> None:
    memories = [
        {"place": i, "text": text, "namespace": namespace, "metadata": {"status": "active"}}
        for i, text in enumerate(texts)
    ]
    for start in track(range(0, len(memories), FILL), f"filling {name} {namespace}"):
        peers.ask(name, op="fill", memories=memories[start : start + FILL])
