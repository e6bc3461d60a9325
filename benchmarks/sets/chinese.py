"""`chinese`: questions and paragraphs in Chinese, in English, and across."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.context import Context
from benchmarks.errors import DataMissingError
from benchmarks.loaders.questions import Corpus, Question
from benchmarks.loaders.xquad import load_xquad
from benchmarks.metrics import Measure, mean_of, recall_at, reciprocal_rank
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore
from benchmarks.systems.lanes import Bm25, Dense, Ranker

__all__ = ["run_chinese"]

DIRECTIONS = (("zh", "zh", "zh"), ("en", "en", "en"), ("en_zh", "en", "zh"))
"""Name of the metric, language of the questions, language of the paragraphs."""
DEPTH = 10


def run_chinese(context: Context) -> Report:
    """One memory per paragraph, one namespace per language."""
    corpora = {
        language: corpus
        for language in ("zh", "en")
        if (corpus := load_xquad(context.data, language)) is not None
    }
    missing = [language for language in ("zh", "en") if language not in corpora]
    if not corpora:
        raise DataMissingError(context.data / "xquad", "xquad.zh.json or xquad.en.json")
    for language in missing:
        context.notes.append(f"xquad.{language}.json is absent; what needs it was left out")
    for language, corpus in corpora.items():
        context.embedder.documents([d.text for d in corpus.documents], f"{language} paragraphs")
        asked = context.first(corpus.questions)
        context.embedder.queries([q.text for q in asked], f"{language} questions")
    with HindsightStore(context.embedder) as store:
        rows = tuple(_rows(corpora, store, context))
        context.notes.append(f"hindsight: {store.merged}")
    count = max(len(context.first(corpus.questions)) for corpus in corpora.values())
    memories = {language: len(corpus.documents) for language, corpus in corpora.items()}
    settings = context.settings(memories=memories, top_k=DEPTH)
    return Report("chinese", count, rows, tuple(context.notes), settings)


def _rows(corpora: dict[str, Corpus], store: HindsightStore, context: Context) -> list[Row]:
    rankers: dict[str, dict[str, Ranker]] = {"dense": {}, "bm25": {}, "hindsight": {}}
    for language, corpus in corpora.items():
        texts = [document.text for document in corpus.documents]
        rankers["dense"][language] = Dense(texts, context.embedder)
        rankers["bm25"][language] = Bm25(texts)
        rankers["hindsight"][language] = store.store(language, corpus.documents)
    rows = []
    for system, by_language in rankers.items():
        measures: dict[str, Measure] = {}
        for name, asking, asked in DIRECTIONS:
            if asking in corpora and asked in corpora:
                questions = context.first(corpora[asking].questions)
                label = f"{system} {asking}→{asked}"
                measures |= _measures(by_language[asked], questions, name, label)
        rows.append(Row(context.system(system), measures))
    return rows


def _measures(
    ranker: Ranker, questions: Sequence[Question], name: str, label: str
) -> dict[str, Measure]:
    first: list[float] = []
    five: list[float] = []
    reciprocal: list[float] = []
    for question in track(questions, label):
        ranking = ranker.rank(question.text, DEPTH)
        first.append(recall_at(ranking, question.gold, 1))
        five.append(recall_at(ranking, question.gold, 5))
        reciprocal.append(reciprocal_rank(ranking, question.gold, DEPTH))
    return {
        f"{name}_R@1": mean_of(first),
        f"{name}_R@5": mean_of(five),
        f"{name}_MRR@{DEPTH}": mean_of(reciprocal),
    }
