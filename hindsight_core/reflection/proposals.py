"""A reply's lessons as proposals: checked against the run, the prompt and what was offered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any, cast

from hindsight_core.language import language_of
from hindsight_core.models import MAX_CONTENT_LENGTH, Category, Context, Lesson
from hindsight_core.reflection.parse import ParsedReply
from hindsight_core.reflection.plain_text import plain_text
from hindsight_core.reflection.prompts import Echoes, repeats_the_prompt
from hindsight_core.trajectory import Trajectory

__all__ = ["Circumstances", "Proposals", "propose"]

_MAX_TAGS = 5
_TAG_LENGTH = 40
_GOAL_LENGTH = 300
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a reply is read against.

    Attributes:
        run: The run.
        language: Its language.
        task_types: The declared task types; unknown labels become the first.
        offered: Numbers of known memories that may be superseded, with their ids.
        found: Numbers of what the rules found, with its position.
    """

    run: Trajectory
    language: str
    task_types: tuple[str, ...]
    offered: Mapping[str, str]
    found: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a reply proposes.

    Attributes:
        lessons: The lessons.
        better: For each lesson, positions of the rules' findings that it says better.
        notes: What was skipped or mapped, for people.
    """

    lessons: tuple[Lesson, ...]
    better: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]


def propose(parsed: ParsedReply, around: Circumstances) -> Proposals:
    """Return the lessons of a reply that come from the run.

    Left out, with a note each, are copies of the prompt's own text and of the instructions
    that the agent had been given.
    """
    instructions = Echoes(step.text for step in around.run.steps if step.kind == "system")
    notes: list[str] = []
    lessons: list[Lesson] = []
    better: list[tuple[int, ...]] = []
    for number, item in enumerate(parsed.lessons, start=1):
        content = plain_text(item["content"])
        reason = _reason_against(content, instructions)
        if reason:
            notes.append(f"lesson {number}: skipped, {reason}")
            continue
        ids, places = _superseded(item["supersedes"], around, notes)
        lessons.append(_lesson(item, content, ids, parsed, around, notes))
        better.append(places)
    return Proposals(tuple(lessons), tuple(better), tuple(dict.fromkeys(notes)))


def _reason_against(content: str, instructions: Echoes) -> str:
    if not content:
        return "it has no text"
    if repeats_the_prompt(content):
        return "it repeats the prompt's own text"
    if instructions.repeats(content):
        return "it repeats the instructions that the agent was given"
    if len(content) > MAX_CONTENT_LENGTH:
        return "it is too long"
    return ""


def _lesson(
    item: Mapping[str, Any],
    content: str,
    supersedes: tuple[str, ...],
    parsed: ParsedReply,
    around: Circumstances,
    notes: list[str],
) -> Lesson:
    category = cast("Category", item["category"] or "fact")
    steps = tuple(step for step in item["steps"] if step < len(around.run.steps))
    if language_of(content) != around.language:
        notes.append(f"a lesson is not in the language of the run ({around.language})")
    return Lesson(
        content=content,
        kind="episodic" if category == "experience" else "semantic",
        category=category,
        task_type=_task_type(item["task_type"] or parsed.task_type, around, notes),
        task_description=parsed.goal[:_GOAL_LENGTH] or around.run.task[:_GOAL_LENGTH],
        applies_when=plain_text(item["applies_when"]),
        not_when=plain_text(item["not_when"]),
        context=_context(category, steps, around.run),
        outcome=around.run.outcome.label,
        confidence=item["confidence"],
        importance=item["importance"],
        source="agent_inference",
        tags=_tags(item["tags"]),
        steps=steps,
        valid_until=_moment(item["valid_until"], notes),
        supersedes=supersedes,
    )


def _task_type(label: str, around: Circumstances, notes: list[str]) -> str:
    declared = {_folded(name): name for name in around.task_types}
    if around.run.task_type and _folded(around.run.task_type) in declared:
        return declared[_folded(around.run.task_type)]
    if label and _folded(label) not in declared:
        notes.append(f"task type {label[:40]!r} is not declared and became {around.task_types[0]}")
    return declared.get(_folded(label), around.task_types[0])


def _folded(label: str) -> str:
    return re.sub(r"[\s_-]+", "_", label.strip().casefold())


def _context(category: str, steps: Sequence[int], run: Trajectory) -> Context:
    """Return the tools at the lesson's steps, or all of the run's for its story."""
    if category == "experience":
        return Context(tools_used=run.tools_used)
    at = [run.steps[step] for step in steps]
    names = [call.name for step in at for call in step.tool_calls]
    names += [step.tool_name for step in at if step.tool_name]
    return Context(tools_used=tuple(dict.fromkeys(names)))


def _tags(values: Sequence[str]) -> tuple[str, ...]:
    tags = (" ".join(plain_text(value).lower().split())[:_TAG_LENGTH] for value in values)
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:_MAX_TAGS]


def _moment(text: str, notes: list[str]) -> datetime | None:
    """Return the end of the day that is named, or the moment."""
    if not text or text.casefold() in ("null", "none"):
        return None
    try:
        if _DATE.fullmatch(text):
            return datetime.combine(datetime.fromisoformat(text), time.max, tzinfo=UTC)
        moment = datetime.fromisoformat(text)
    except ValueError:
        notes.append(f"valid_until {text[:40]!r} is not a date and was left out")
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _superseded(
    values: Sequence[str], around: Circumstances, notes: list[str]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return ids of offered memories, and positions of the rules' findings.

    A number that was not offered is skipped with a note; ids themselves are never accepted.
    """
    ids: list[str] = []
    places: list[int] = []
    for value in values:
        name = value.strip().strip("[]\"'").casefold()
        name = f"m{name}" if name.isascii() and name.isdigit() else name
        if name in around.offered:
            ids.append(around.offered[name])
        elif name in around.found:
            places.append(around.found[name])
        else:
            notes.append(
                f"run {around.run.run_id}: superseding {value[:60]!r} was skipped, "
                "no memory was offered under that number"
            )
    return tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(places))
