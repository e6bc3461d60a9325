"""The write gate: what a run's tools said to the agent as an instruction becomes no lesson; pure.

A lesson that gives back what a page, a mail or another agent told the reader to do is kept in
quarantine, out of every brief, until a person releases it. The story of a run is never held
back; what would be held back in it is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hindsight_core.models import Lesson, Memory, is_statement
from hindsight_core.safety.injection import (
    LEFT_OUT,
    instruction_in,
    overrides_agent,
    sentences_of,
    visible,
)
from hindsight_core.safety.trust import TRUST, is_proven
from hindsight_core.trajectory import Trajectory

__all__ = ["QUARANTINE", "Gate", "Judged", "held_back", "reason_against"]

QUARANTINE = "quarantine"
"""Metadata of a memory in quarantine: why it is there."""

OVERRIDES = "it tries to change whom the agent obeys"
REPEATS = "it repeats an instruction that a tool gave"

LONGEST_STEP = 40_000
"""Characters of one step that are read, from both its ends."""
LONGEST_BLOCK = 600
"""Characters after an instruction that ends in a colon, which are what it is about."""
SAME = 0.7
"""Share of the words of either from which on a sentence gives an instruction back."""
LEAST_WORDS = 3
"""Words from which on a sentence is long enough for that."""
SAID = 0.5
"""Share of a lesson's words that people have to have used for it to be theirs."""
STEM = 5
"""Characters by which words are the same."""

_WORD = re.compile(r"[a-z0-9]{2,}")
_CHARACTERS = re.compile(r"(?=([\u3400-\u9fff]{2}))")
_PLAIN_WORDS = frozenset(
    "the a an and or of to in on for with is are be it this that as by at from your you i".split()
)
_QUOTED = re.compile(r"[\"“”「」]")


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of a lesson at the gate.

    Attributes:
        lesson: The lesson, without what was left out.
        reason: Why it goes into quarantine, `""` if it does not.
        is_cut: Whether a part was left out.
    """

    lesson: Lesson
    reason: str = ""
    is_cut: bool = False


class Gate:
    """What in one run spoke to the agent without being asked.

    Instructions of the system and of people are theirs to give; what a tool said that repeats
    them is no instruction of its own.

    Args:
        run: The run.
    """

    def __init__(self, run: Trajectory) -> None:
        steps, outcome = run.steps, run.outcome
        heard = [step.text for step in steps if step.kind in {"tool_result", "error"}]
        if outcome.source in {"exception", "rule"}:  # words of whatever raised
            heard.append(outcome.reason)
        self._own = [
            terms
            for step in steps
            if step.kind == "system" or (step.kind == "user" and not step.agent)
            for sentence in sentences_of(_ends(step.text))
            if (terms := _terms(sentence))
        ]
        self._told = [
            terms
            for text in heard
            for terms in _instructions(_ends(text))
            if not any(_gives_back(terms, own) for own in self._own)
        ]

    def judge(self, lesson: Lesson) -> Judged:
        """Return what becomes of `lesson`."""
        if lesson.source == "user_feedback" and is_statement(lesson):
            content = self._quoting_none(lesson.content)
            return Judged(replace(lesson, content=content), is_cut=content != lesson.content)
        if not is_statement(lesson):
            start = self._told_part(lesson.content)
            if start < 0:
                return Judged(lesson)
            story = replace(lesson, content=f"{lesson.content[:start].rstrip()} {LEFT_OUT}")
            return Judged(story, is_cut=True)
        for text in (lesson.content, lesson.applies_when, lesson.not_when, *lesson.tags):
            if overrides_agent(text):
                return Judged(lesson, OVERRIDES)
            if any(self._repeats(piece) for piece in _pieces(text)):
                return Judged(lesson, REPEATS)
        return Judged(lesson)

    def may_replace(self, lesson: Lesson, known: Memory) -> bool:
        """Whether `lesson` may replace a memory that it names.

        What stands on more than the lesson's own source gives way only where a person of this
        run said most of what the lesson says.
        """
        if TRUST[lesson.source] >= TRUST[known.source]:
            return True
        terms = _terms(lesson.content)
        said = {term for own in self._own for term in own}
        return len(terms & said) >= SAID * len(terms)

    def _repeats(self, sentence: str) -> bool:
        if not self._told:
            return False
        terms = _terms(sentence)
        if not terms or any(terms <= own for own in self._own):
            return False
        return any(_gives_back(terms, told) for told in self._told)

    def _quoting_none(self, content: str) -> str:
        """Return what a person said, without an answer quoted in it that gives one back."""
        for quoted in _QUOTED.split(content):
            if any(self._repeats(part) for part in sentences_of(quoted)):
                content = content.replace(quoted, LEFT_OUT)
        return content

    def _told_part(self, content: str) -> int:
        """Return where the story of a run begins to give instructions back, `-1` if it doesn't.

        An answer or an error that begins so is theirs to its end, and it closes the story.
        """
        start = 0
        for sentence in sentences_of(content):
            start = content.find(sentence, start)
            if any(self._repeats(part) for part in _pieces(sentence)):
                return start
        return -1


def held_back(memory: Memory, reason: str) -> Memory:
    """Return `memory` as it is kept in quarantine, with the reason in its metadata."""
    metadata = {**memory.metadata, QUARANTINE: reason}
    return replace(memory, status="quarantined", metadata=metadata)


def reason_against(memory: Memory) -> str:
    """Return why a memory that was stored by hand is held back, `""` if it is not.

    What a person or a validator stands behind never is.
    """
    if is_proven(memory):
        return ""
    return OVERRIDES if overrides_agent(memory.content) else ""


def _instructions(text: str) -> list[frozenset[str]]:
    """Return the words of each instruction in a text, and of what stands below it."""
    found: list[frozenset[str]] = []
    for sentence in sentences_of(text):
        if not instruction_in(sentence):
            continue
        found.append(_terms(sentence))
        if sentence.rstrip().endswith((":", "：")):
            after = text.find(sentence) + len(sentence)
            found.append(_terms(text[after : after + LONGEST_BLOCK]))
    return [terms for terms in found if terms]


def _gives_back(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sentences say the same; of very short ones every word has to be there."""
    if min(len(one), len(other)) < LEAST_WORDS:
        return one == other
    return len(one & other) >= SAME * min(len(one), len(other))


def _pieces(text: str) -> list[str]:
    """Return the sentences of a lesson, and the parts inside and outside of their quotations."""
    return [part for one in sentences_of(text) for part in (one, *_QUOTED.split(one))]


def _terms(text: str) -> frozenset[str]:
    plain = visible(text).lower()
    stems = {word[:STEM] for word in _WORD.findall(plain) if word not in _PLAIN_WORDS}
    return frozenset(stems.union(_CHARACTERS.findall(plain)))


def _ends(text: str) -> str:
    half = LONGEST_STEP // 2
    return text if len(text) <= LONGEST_STEP else f"{text[:half]}\n{text[-half:]}"
