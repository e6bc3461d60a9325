"""`replay`: the lessons that a model once wrote, kept by each system.

It measures bookkeeping: is the lesson found, is the newest one first, does confidence follow
what happened. Whether lessons help can't be told from a recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.context import Context
from benchmarks.loaders.reflexion import Trial, load_trials
from benchmarks.metrics import Measure, Ranking, difference_of_means, mean_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.systems.hindsight import HindsightStore, all_memories
from benchmarks.systems.lanes import Bm25, Dense
from benchmarks.systems.profiled import row_name
from hindsight_core import Hindsight
from hindsight_core.models import Memory
from hindsight_core.reflection.base import ModelReply, Prompt

__all__ = ["RecordedModel", "run_replay"]

DEPTH = 50
SAME_COSINE = 0.95
"""Cosine from which on two lessons about one question say the same."""


@dataclass(slots=True)
class RecordedModel:
    """A reflection model that says what another one said about the run at hand.

    Attributes:
        lessons: What it says next.
        calls: How often it was asked.
    """

    lessons: tuple[str, ...] = ()
    calls: int = 0

    def complete(self, prompt: Prompt) -> ModelReply:
        """Give the recorded lessons, as rules."""
        self.calls += 1
        found: dict[str, Any] = {
            "lessons": [{"content": text, "category": "rule"} for text in self.lessons]
        }
        return ModelReply(content=found, finish_reason="stop")


@dataclass(frozen=True, slots=True)
class _Lesson:
    """A recorded lesson.

    Attributes:
        text: What it says.
        question: The question it was learned from.
        number: The attempt it was learned from.
    """

    text: str
    question: str
    number: int


@dataclass(slots=True)
class _Found:
    """What was seen before each attempt that had lessons to go by."""

    own: list[float] = field(default_factory=list)
    newest: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    brief_tokens: list[float] = field(default_factory=list)
    run_tokens: list[float] = field(default_factory=list)

    def note(self, own: bool, newest: bool | None) -> None:
        """Take in one look-up; `newest` is `None` where there is only one lesson."""
        self.own.append(own)
        if newest is not None:
            self.newest.append(newest)


def run_replay(context: Context) -> Report:
    """Attempts in their order; before each one what is known is looked up."""
    trials = list(context.first(load_trials(context.data)))
    lessons = [
        _Lesson(text, trial.question, trial.number)
        for trial in trials
        for text in trial.reflections
    ]
    texts = [lesson.text for lesson in lessons]
    vectors = context.embedder.documents(texts, "reflections")
    context.embedder.queries(list(dict.fromkeys(t.question for t in trials)), "questions")
    dense, bm25 = Dense(texts, context.embedder), Bm25(texts)
    rows = [
        Row(context.system("dense"), _baseline(trials, lessons, lambda q: dense.rank(q, DEPTH))),
        Row(context.system("bm25"), _baseline(trials, lessons, lambda q: bm25.rank(q, DEPTH))),
        Row(context.system("hindsight"), _hindsight(trials, context)),
        *(
            Row(context.system(row_name(name)), _hindsight(trials, context, name))
            for name in context.profiles
        ),
    ]
    same = sum(
        lessons[i].question == lessons[j].question
        and sum(a * b for a, b in zip(vectors[i], vectors[j], strict=True)) >= SAME_COSINE
        for j in range(len(lessons))
        for i in range(j)
    )
    context.notes.append(
        "it measures bookkeeping, not whether lessons help: the attempts were made long ago"
    )
    context.notes.append(
        f"{len(trials)} attempts, {len(lessons)} recorded lessons, {same} pairs of them about "
        f"one question with a cosine of {SAME_COSINE} or more"
    )
    settings = context.settings(model="recorded", runs=len(trials), top_k=DEPTH)
    return Report("replay", len(trials), tuple(rows), tuple(context.notes), settings)


def _baseline(
    trials: Sequence[Trial], lessons: Sequence[_Lesson], rank: Callable[[str], Ranking]
) -> dict[str, Measure]:
    found = _Found()
    for trial in trials:
        known = {i for i, lesson in enumerate(lessons) if lesson.number < trial.number}
        mine = {i for i in known if lessons[i].question == trial.question}
        if not mine:
            continue
        ranking = rank(trial.question)
        order = sorted(known, key=lambda i: ranking[i])
        first = next(i for i in order if i in mine)
        latest = max(lessons[i].number for i in mine)
        several = len({lessons[i].number for i in mine}) > 1
        found.note(order[0] in mine, lessons[first].number == latest if several else None)
    return {"own@1": mean_of(found.own), "newest_first": mean_of(found.newest)}


def _hindsight(trials: Sequence[Trial], context: Context, profile: str = "") -> dict[str, Measure]:
    model = RecordedModel()
    found = _Found()
    by_run = {trial.trajectory.run_id: trial for trial in trials}
    past: dict[str, list[Trial]] = defaultdict(list)
    with HindsightStore(context.embedder, model=model, profile=profile) as store:
        for trial in track(trials, f"replaying {profile}".strip()):
            if any(earlier.reflections for earlier in past[trial.question]):
                _look_up(store.memory, trial, past[trial.question], by_run, found)
            store.memory.brief(trial.question, run_id=trial.trajectory.run_id)
            model.lessons = trial.reflections
            store.reflect_one(store.memory, trial.trajectory)
            past[trial.question].append(trial)
        kept = [memory for memory in all_memories(store.memory) if _is_lesson(memory)]
        return {
            "own@1": mean_of(found.own),
            "newest_first": mean_of(found.newest),
            "duplicates": _duplicates(kept, by_run, context),
            "confidence_gap": _confidence_gap(kept, by_run),
            "token_ratio": mean_of(found.ratios),
            "brief_tokens": mean_of(found.brief_tokens),
            "run_tokens": mean_of(found.run_tokens),
        }


def _look_up(
    memory: Hindsight,
    trial: Trial,
    past: Sequence[Trial],
    by_run: dict[str, Trial],
    found: _Found,
) -> None:
    results = memory.retrieve(trial.question, top_k=DEPTH)
    own = bool(results) and _question(results[0].memory, by_run) == trial.question
    numbers = [earlier.number for earlier in past if earlier.reflections]
    first = next(
        (
            _number(result.memory, by_run)
            for result in results
            if _is_lesson(result.memory) and _question(result.memory, by_run) == trial.question
        ),
        0,
    )
    found.note(own, first == max(numbers) if len(numbers) > 1 else None)
    brief = memory.brief(trial.question)
    trace = "\n".join(step.text for step in past[-1].trajectory.steps)
    tokens = memory.count_tokens(trace)
    found.ratios.append(brief.tokens / tokens)
    found.brief_tokens.append(brief.tokens)
    found.run_tokens.append(tokens)


def _is_lesson(memory: Memory) -> bool:
    return memory.category == "rule" and memory.source == "agent_inference"


def _question(memory: Memory, by_run: dict[str, Trial]) -> str:
    """Return the question of the run that taught or confirmed a memory last."""
    return by_run[memory.evidence[-1].run_id].question if memory.evidence else ""


def _number(memory: Memory, by_run: dict[str, Trial]) -> int:
    return max(by_run[evidence.run_id].number for evidence in memory.evidence)


def _duplicates(kept: Sequence[Memory], by_run: dict[str, Trial], context: Context) -> Measure:
    """Return how many active lessons say the same as another one about their question."""
    vectors = context.embedder.embed_documents([memory.content for memory in kept])
    questions = [_question(memory, by_run) for memory in kept]
    return mean_of(
        [
            any(
                questions[i] == questions[j]
                and sum(a * b for a, b in zip(vectors[i], vectors[j], strict=True)) >= SAME_COSINE
                for i in range(j)
            )
            for j in range(len(kept))
        ]
    )


def _confidence_gap(kept: Sequence[Memory], by_run: dict[str, Trial]) -> Measure:
    """Compare lessons after which the answer was right with lessons after which it was not."""
    flipped: list[float] = []
    failed: list[float] = []
    for memory in kept:
        later = by_run[memory.evidence[-1].run_id].later
        if later:
            (flipped if later == "correct" else failed).append(memory.confidence)
    return difference_of_means(flipped, failed)
