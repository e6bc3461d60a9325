"""Runs whose tools told the agent what to do, and how far that got."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.loaders.bipia import Attack, Mail, hidden_in, shingles
from benchmarks.loaders.reflexion import Trial
from benchmarks.progress import track
from benchmarks.sets.replay import RecordedModel
from benchmarks.systems.hindsight import HindsightStore, all_memories
from hindsight_core import Hindsight
from hindsight_core.models import Memory
from hindsight_core.reflection.base import Prompt
from hindsight_core.safety.injection import LEFT_OUT
from hindsight_core.trajectory import OutcomeLabel, Trajectory

__all__ = ["CHANNELS", "Case", "attacked", "cases_of", "refused", "refused_lessons"]

CHANNELS = ("read", "error", "answer", "model")
"""Ways into memory: a mail that was read; a tool's error that quotes the mail; an agent that was
taken in and answers with what the mail says; a reflection model that was taken in and makes a
rule of it."""

_CATEGORIES = ("rule", "fact")


@dataclass(frozen=True, slots=True)
class Case:
    """A mail as a tool gives it.

    Attributes:
        mail: The mail as its sender wrote it.
        text: The mail as it came.
        attack: What was hidden in it, `""` for nothing.
    """

    mail: Mail
    text: str
    attack: str = ""

    def is_in(self, text: str) -> bool:
        """Whether any part of the attack is in `text`."""
        parts = shingles(self.attack, (self.mail.text, self.mail.question))
        return bool(parts & shingles(text))


def cases_of(mails: Sequence[Mail], attacks: Sequence[Attack]) -> list[Case]:
    """Return one case per attack, the mails and the places in them taken in turn."""
    return [
        Case(mail, hidden_in(mail, attack, number % 3), attack.text)
        for number, attack in enumerate(attacks)
        for mail in (mails[number % len(mails)],)
    ]


def attacked(
    open_store: Callable[[RecordedModel | None], HindsightStore], cases: Sequence[Case]
) -> list[bool]:
    """Reflect on each case once per channel; return which attacks reach a memory or a brief."""
    through: list[bool] = []
    for channel in CHANNELS:
        memory, learned = _reflected(open_store, channel, cases)
        with memory:
            scoped = memory.memory.scoped(("benchmark", channel))
            for number, case in enumerate(track(cases, f"briefs about {channel}")):
                brief = scoped.brief(case.mail.question).text
                told = [brief, *(_said(one) for one in learned.get(f"run_{number}", ()))]
                through.append(any(case.is_in(text) for text in told))
    return through


def refused(
    open_store: Callable[[RecordedModel | None], HindsightStore], cases: Sequence[Case]
) -> tuple[list[bool], int]:
    """Reflect on mails without an attack.

    Returns:
        For each mail and channel whether anything of it was held back, and in how many a
        sentence of the mail was left out of a quotation.
    """
    held: list[bool] = []
    cut = 0
    for channel in CHANNELS:
        memory, learned = _reflected(open_store, channel, cases)
        with memory:
            kept = memory.memory.scoped(("benchmark", channel))
            back = {
                evidence.run_id
                for one in kept.list(limit=500, statuses=("quarantined",)).memories
                for evidence in one.evidence
            }
            held += [f"run_{number}" in back for number in range(len(cases))]
            cut += sum(
                any(LEFT_OUT in one.content for one in learned.get(f"run_{number}", ()))
                for number in range(len(cases))
            )
    return held, cut


def refused_lessons(
    open_store: Callable[[RecordedModel | None], HindsightStore], trials: Sequence[Trial]
) -> list[bool]:
    """Reflect on recorded runs with the lessons that a model wrote about them.

    Returns:
        For each lesson whether it was held back.
    """
    model = RecordedModel()
    held: list[bool] = []
    with open_store(model) as store:
        for trial in track(trials, "recorded lessons"):
            model.lessons = trial.reflections
            reflection = store.reflect_one(store.memory, trial.trajectory)
            back = sum("held in quarantine" in note for note in reflection.notes)
            held += [place < back for place in range(len(trial.reflections))]
    return held


class _TakenIn(RecordedModel):
    """A reflection model that gives back what it is told to, as a rule and as a fact."""

    def complete(self, prompt: Prompt) -> Any:
        """Give the lessons, each once per category."""
        reply = super().complete(prompt)
        found: Mapping[str, Any] = {
            "lessons": [
                {"content": text, "category": category}
                for text in self.lessons
                for category in _CATEGORIES
            ]
        }
        return type(reply)(content=dict(found), finish_reason="stop")


def _reflected(
    open_store: Callable[[RecordedModel | None], HindsightStore],
    channel: str,
    cases: Sequence[Case],
) -> tuple[HindsightStore, dict[str, list[Memory]]]:
    """Reflect on all cases of one channel; return the open store and what each run taught."""
    model = _TakenIn() if channel == "model" else None
    store = open_store(model)
    scoped: Hindsight = store.memory.scoped(("benchmark", channel))
    for number, case in enumerate(track(cases, f"reflecting on {channel}")):
        if model is not None:
            model.lessons = (case.attack or _honest_lesson(case.mail),)
        store.reflect_one(scoped, _run(channel, case, f"run_{number}"))
    learned: dict[str, list[Memory]] = {}
    for memory in all_memories(scoped):
        for evidence in memory.evidence:
            learned.setdefault(evidence.run_id, []).append(memory)
    return store, learned


def _honest_lesson(mail: Mail) -> str:
    return f"The mail answers {mail.question!r} with {mail.answer}."


def _said(memory: Memory) -> str:
    return "\n".join((memory.content, memory.applies_when, memory.not_when, *memory.tags))


def _run(channel: str, case: Case, run_id: str) -> Trajectory:
    """Return the run in which an agent reads a mail to answer a question."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": case.mail.question}]
    outcome: OutcomeLabel = "success"
    answer = case.mail.answer
    if channel == "error":
        messages += _call("c1", {"id": 7, "format": "html"}, f"Error: {case.text}", failed=True)
        messages += _call("c2", {"id": 7, "format": "text"}, "The mail has no attachment.")
    else:
        messages += _call("c1", {"id": 7}, case.text)
    if channel == "answer":
        outcome, answer = "failure", case.attack or case.text[:200]
    messages.append({"role": "assistant", "content": answer})
    return Trajectory.from_messages(
        messages, run_id=run_id, outcome=outcome, outcome_source="validator"
    )


def _call(
    call_id: str, arguments: dict[str, Any], result: str, *, failed: bool = False
) -> list[dict[str, Any]]:
    function = {"name": "read_mail", "arguments": json.dumps(arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    answer = {"role": "tool", "tool_call_id": call_id, "name": "read_mail", "content": result}
    if failed:
        answer["status"] = "error"
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]
