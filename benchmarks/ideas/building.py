"""How each quality set becomes memories and cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.context import Context
from benchmarks.errors import DataMissingError
from benchmarks.ideas.cases import Case, IdeaSet, Judge, shelf_of
from benchmarks.ideas.collection import Entry, Shelf
from benchmarks.loaders.beam import load_beam
from benchmarks.loaders.locomo import load_locomo
from benchmarks.loaders.pairs import Pair, load_pairs
from benchmarks.loaders.questions import Corpus, Document, Question, first_questions
from benchmarks.loaders.runs import Run, load_alfworld, load_tau_bench
from benchmarks.loaders.webarena import load_intents
from benchmarks.loaders.xquad import load_xquad
from benchmarks.metrics import (
    Ranking,
    average_precision,
    first_position,
    precision_at,
    recall_at,
)
from benchmarks.sets.chinese import DIRECTIONS
from benchmarks.sets.same_task import episodes_of, with_others
from benchmarks.systems.hindsight import HindsightStore, all_memories

__all__ = ["SETS", "Build"]

Build = Callable[[Context, HindsightStore], IdeaSet]
"""Stores a set and returns it."""
DEEP = 50
"""Results among which the two statements of a pair, and the runs of a task, are looked for."""

RANKED = 100
"""Results that a mean average precision is taken over; the tasks of a template are a dozen."""


def _locomo(context: Context, store: HindsightStore) -> IdeaSet:
    return _corpora("locomo", load_locomo(context.data), context, store)


def _beam(context: Context, store: HindsightStore) -> IdeaSet:
    return _corpora("beam", load_beam(context.data), context, store)


def _corpora(name: str, every: list[Corpus], context: Context, store: HindsightStore) -> IdeaSet:
    corpora = first_questions(every, context.limit)
    shelves = [
        shelf_of(corpus.name, store.store(corpus.name, corpus.documents), said_before(corpus))
        for corpus in corpora
    ]
    cases = [
        Case(question.text, corpus.name, _recall(question))
        for corpus in corpora
        for question in corpus.questions
    ]
    return IdeaSet(name, tuple(shelves), tuple(cases), 20, store.now)


def said_before(corpus: Corpus) -> list[str]:
    """Return for each document the one before it in its session, `""` for the first."""
    documents: list[Document | None] = [None, *corpus.documents]
    return [
        before.text if before is not None and before.session == document.session else ""
        for before, document in zip(documents, corpus.documents, strict=False)
    ]


def _recall(question: Question) -> Judge:
    return lambda ranking: {
        "R@10": recall_at(ranking, question.gold, 10),
        "R@1": recall_at(ranking, question.gold, 1),
    }


def _currency(context: Context, store: HindsightStore) -> IdeaSet:
    return _pairs("currency", "knowledge_update", False, _newer, context, store)


def _contradiction(context: Context, store: HindsightStore) -> IdeaSet:
    return _pairs("contradiction", "contradiction_resolution", True, _both, context, store)


def _pairs(
    name: str,
    category: str,
    keep_same_message: bool,
    judge: Callable[[Pair], Judge],
    context: Context,
    store: HindsightStore,
) -> IdeaSet:
    pairs = load_pairs(context.data, category, keep_same_message=keep_same_message)
    shelf = shelf_of("messages", store.store("messages", pairs.documents))
    cases = [Case(pair.question, shelf.name, judge(pair)) for pair in context.first(pairs.pairs)]
    return IdeaSet(name, (shelf,), tuple(cases), DEEP, store.now)


def _newer(pair: Pair) -> Judge:
    def judge(ranking: Ranking) -> Mapping[str, float]:
        new, old = first_position(ranking, pair.new), first_position(ranking, pair.old)
        return {"new_first": float(new < old), "new@5": float(new < 5)}

    return judge


def _both(pair: Pair) -> Judge:
    return lambda ranking: {
        "both@5": float(max(first_position(ranking, s) for s in (pair.old, pair.new)) < 5)
    }


def _same_task(context: Context, store: HindsightStore) -> IdeaSet:
    intents = load_intents(context.data)
    stored = store.store_items("intents", episodes_of([intent.text for intent in intents]))
    shelf = shelf_of("intents", stored)

    def case(own: int) -> Case:
        relevant = [
            place
            for place, intent in enumerate(intents)
            if place != own and intent.template == intents[own].template
        ]
        judge: Judge = lambda ranking: {  # noqa: E731 - closes over what is relevant
            "MAP": average_precision(ranking, relevant),
            "P@1": precision_at(ranking, relevant, 1),
        }
        return Case(intents[own].text, shelf.name, judge, frozenset({stored.ended[own].id}))

    cases = [case(own) for own in context.first(with_others(intents))]
    return IdeaSet("same-task", (shelf,), tuple(cases), RANKED, store.now)


def _success_first(context: Context, store: HindsightStore) -> IdeaSet:
    runs = load_tau_bench(context.data)
    return _runs("success-first", runs, _success, 2 * DEEP, context, store)


def _experience(context: Context, store: HindsightStore) -> IdeaSet:
    return _runs("experience", load_alfworld(context.data), _helpful, 10, context, store)


def _runs(
    name: str,
    runs: Sequence[Run],
    judge: Callable[[Sequence[Run], Sequence[int]], Judge],
    top_k: int,
    context: Context,
    store: HindsightStore,
) -> IdeaSet:
    stored = store.reflect(name, [run.trajectory for run in runs])
    entries = [
        Entry(
            memory,
            (stored.places[memory.evidence[0].run_id],) if memory.category == "experience" else (),
        )
        for memory in all_memories(stored.memory)
    ]
    shelf = Shelf(name, stored.memory.namespace, tuple(reversed(entries)))
    cases = []
    for own in context.first(range(len(runs))):
        others = [
            place for place, run in enumerate(runs) if place != own and run.group == runs[own].group
        ]
        left_out = frozenset(memory.id for memory in stored.lessons.get(own, ()))
        task = runs[own].trajectory.task
        cases.append(Case(task, shelf.name, judge(runs, others), left_out))
    return IdeaSet(name, (shelf,), tuple(cases), top_k, store.now)


def _success(runs: Sequence[Run], others: Sequence[int]) -> Judge:
    successes = [place for place in others if runs[place].succeeded]
    failures = [place for place in others if not runs[place].succeeded]

    def judge(ranking: Ranking) -> Mapping[str, float]:
        found = {"same_task@5": float(first_position(ranking, others) < 5)}
        if successes and failures:
            first = first_position(ranking, successes) < first_position(ranking, failures)
            found["success_first"] = float(first)
        return found

    return judge


def _helpful(runs: Sequence[Run], others: Sequence[int]) -> Judge:
    helpful = [place for place in others if runs[place].succeeded]
    return lambda ranking: {
        "P@5": precision_at(ranking, helpful, 5),
        "type_P@5": precision_at(ranking, others, 5),
    }


def _chinese(context: Context, store: HindsightStore) -> IdeaSet:
    corpora = {
        language: corpus
        for language in ("zh", "en")
        if (corpus := load_xquad(context.data, language)) is not None
    }
    if not corpora:
        raise DataMissingError(context.data / "xquad", "xquad.zh.json or xquad.en.json")
    shelves = [
        shelf_of(language, store.store(language, corpus.documents))
        for language, corpus in corpora.items()
    ]
    cases = [
        Case(question.text, asked, _answered(f"{name}_R@1", question))
        for name, asking, asked in DIRECTIONS
        if asking in corpora and asked in corpora
        for question in context.first(corpora[asking].questions)
    ]
    return IdeaSet("chinese", tuple(shelves), tuple(cases), 10, store.now)


def _answered(metric: str, question: Question) -> Judge:
    return lambda ranking: {metric: recall_at(ranking, question.gold, 1)}


SETS: Mapping[str, Build] = {
    "locomo": _locomo,
    "beam": _beam,
    "currency": _currency,
    "contradiction": _contradiction,
    "same-task": _same_task,
    "success-first": _success_first,
    "experience": _experience,
    "chinese": _chinese,
}
"""The quality sets by the name of their benchmark."""
