"""The prompts of the reflection model, in English and Chinese, and what must not come back.

`build_prompt` asks for one run; `repeats_the_prompt` tells lessons that only copy the prompt's
own examples or instructions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_core.cutting import clipped
from hindsight_core.models import Lesson, Memory
from hindsight_core.reflection.base import Prompt
from hindsight_core.reflection.prompts import en, zh
from hindsight_core.reflection.prompts.echoes import Echoes, own_echoes
from hindsight_core.reflection.prompts.schema import reply_schema
from hindsight_core.reflection.prompts.wording import Phrases, Sample

__all__ = [
    "MAX_LESSONS",
    "MAX_OFFERED",
    "Echoes",
    "Question",
    "build_prompt",
    "offer",
    "offer_found",
    "repeats_the_prompt",
    "reply_schema",
    "sample_lessons",
]

MAX_LESSONS = 8
"""Lessons that a model is asked for at most."""

MAX_OFFERED = 12
"""Known memories that a model may see."""

_LANGUAGES: dict[str, Phrases] = {"en": en.PHRASES, "zh": zh.PHRASES}
_KNOWN_LENGTH = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked about one run, all but the run itself.

    Attributes:
        language: `en` or `zh`, the language of the run.
        task_types: The declared task types.
        outcome: How the run ended.
        date: When it ended.
        found: What the rules found in it.
        known: Memories that may be superseded, in the order of their numbers.
        named: Numbers and ids by which the agent may speak of its brief.
        max_output_tokens: Cap on the answer.
        complaint: What was wrong with the last answer, `""` at the first attempt.
    """

    language: str
    task_types: tuple[str, ...]
    outcome: str
    date: datetime
    found: tuple[Lesson, ...] = ()
    known: tuple[Memory, ...] = ()
    named: tuple[str, ...] = ()
    max_output_tokens: int = 1_500
    complaint: str = ""


def build_prompt(question: Question, run_text: str) -> Prompt:
    """Return the prompt for one run.

    The run stands between two marks that hold a digest of it, so that no text inside can
    close them.
    """
    phrases = _LANGUAGES.get(question.language, en.PHRASES)
    numbers = [*offer_found(question.found), *offer(question.known)]
    return Prompt(
        system=_system(phrases, question, numbers),
        user=_user(phrases, question, run_text),
        schema=reply_schema(question.task_types, numbers, question.named),
        max_output_tokens=question.max_output_tokens,
    )


def offer(known: Sequence[Memory]) -> dict[str, str]:
    """Return the numbers under which memories are offered, `m0` on, with their real ids."""
    return {f"m{number}": memory.id for number, memory in enumerate(known[:MAX_OFFERED])}


def offer_found(found: Sequence[Lesson]) -> dict[str, int]:
    """Return the numbers under which the rules' findings are shown, with their positions."""
    return {f"r{position}": position for position in range(len(found))}


def repeats_the_prompt(text: str) -> bool:
    """Return whether `text` is an example or an instruction of a prompt, or nearly."""
    return own_echoes(tuple(_LANGUAGES.values())).repeats(text)


def sample_lessons(language: str) -> tuple[str, ...]:
    """Return the lessons of the examples in the prompt of `language`."""
    return tuple(sample.lesson for sample in _LANGUAGES[language].samples)


def _system(phrases: Phrases, question: Question, numbers: Sequence[str]) -> str:
    examples = [_example(sample, question.task_types) for sample in phrases.samples]
    examples.append(_show(phrases.empty_run, _answer(phrases.empty_goal, question.task_types[0])))
    return phrases.system.format(
        max_lessons=MAX_LESSONS,
        task_types=", ".join(question.task_types),
        shape=_shape(question, numbers),
        examples="\n".join(examples),
    )


def _user(phrases: Phrases, question: Question, run_text: str) -> str:
    digest = hashlib.sha256(run_text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    mark = phrases.run_mark.format(mark=digest)
    parts = [
        phrases.today.format(date=question.date.date().isoformat(), outcome=question.outcome),
        _found(phrases, question.found),
    ]
    if question.known:
        lines = [
            f"m{number}: {_one_line(memory.content)}"
            for number, memory in enumerate(question.known[:MAX_OFFERED])
        ]
        parts.append("\n".join([phrases.known, *lines]))
    if question.named:
        parts.append(phrases.remarks.format(named=", ".join(question.named)))
    parts.append(f"{phrases.run_notice}\n<<<{mark}\n{run_text}\n{mark}>>>")
    parts.append(phrases.run_end)
    if question.complaint:
        parts.append(phrases.complaint.format(reason=question.complaint))
    return "\n\n".join(parts)


def _found(phrases: Phrases, found: Sequence[Lesson]) -> str:
    if not found:
        return phrases.nothing_found
    lines = [f"r{number}: {_one_line(lesson.content)}" for number, lesson in enumerate(found)]
    return "\n".join([phrases.found, *lines])


def _one_line(text: str) -> str:
    return clipped(" ".join(text.split()), _KNOWN_LENGTH)


def _shape(question: Question, numbers: Sequence[str]) -> str:
    lesson: dict[str, object] = {
        "content": "…",
        "category": "rule",
        "task_type": question.task_types[0],
        "applies_when": "",
        "not_when": "",
        "confidence": 0.0,
        "importance": 0.0,
        "steps": [0],
        "tags": [],
        "valid_until": None,
    }
    if numbers:
        lesson["supersedes"] = []
    decision = {"step": 0, "decision": "…", "reason": "…", "alternatives": [], "expected": "…"}
    shape: dict[str, object] = {
        "goal": "…",
        "task_type": question.task_types[0],
        "decisions": [decision],
        "failures": [{"step": 0, "what": "…", "fix": "…"}],
        "lessons": [lesson],
    }
    if question.named:
        shape["remarks"] = [{"memory": question.named[0], "helpful": False, "reason": "…"}]
    return json.dumps(shape, ensure_ascii=False)


def _example(sample: Sample, task_types: Sequence[str]) -> str:
    task_type = "operations" if "operations" in task_types else task_types[0]
    decision = {
        "step": 3,
        "decision": sample.decision,
        "reason": sample.reason,
        "alternatives": [sample.alternative],
        "expected": sample.expected,
    }
    lesson = {
        "content": sample.lesson,
        "category": "rule",
        "task_type": task_type,
        "applies_when": sample.condition,
        "not_when": "",
        "confidence": 0.8,
        "importance": 0.6,
        "steps": [2, 4],
        "tags": [sample.tag],
        "valid_until": None,
    }
    answer = _answer(sample.goal, task_type)
    answer["decisions"] = [decision]
    answer["failures"] = [{"step": 2, "what": sample.failure, "fix": sample.fix}]
    answer["lessons"] = [lesson]
    return _show(sample.run, answer)


def _answer(goal: str, task_type: str) -> dict[str, object]:
    return {"goal": goal, "task_type": task_type, "decisions": [], "failures": [], "lessons": []}


def _show(run: str, answer: dict[str, object]) -> str:
    return f"{run}\n{json.dumps(answer, ensure_ascii=False)}\n"
