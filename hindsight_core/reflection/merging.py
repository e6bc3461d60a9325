"""What the rules found and what a model proposes, as one list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hindsight_core.models import Lesson
from hindsight_core.reflection.proposals import Proposals
from hindsight_core.reflection.rewordings import fold_rewordings, same_fact, wording_of

__all__ = ["MAX_RULES", "merge"]

MAX_RULES = 3
"""Rules of one run that are kept from a model, the most important ones."""

_COMMON_SHARE = 0.3
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」")
_PART_SHARE = 0.8
_FEWEST_WORDS = 3


def merge(
    found: Sequence[Lesson], proposals: Proposals, *, max_lessons: int
) -> tuple[tuple[Lesson, ...], tuple[str, ...]]:
    """Return all lessons of a run by falling importance, and notes on what was dropped.

    A finding of the rules stays unless the model says the same: then it takes the model's
    words and keeps its own source, times and circumstances. Rewordings within the reply are
    folded, and at most `max_lessons` of the model's lessons are kept, `MAX_RULES` of them
    rules.
    """
    merged = list(found)
    taken: set[int] = set()
    for position, lesson in enumerate(proposals.lessons):
        place = _place(lesson, proposals.better[position], merged)
        if place is not None:
            merged[place] = _reworded(merged[place], lesson)
            taken.add(position)
    rest = [one for position, one in enumerate(proposals.lessons) if position not in taken]
    folded, count = fold_rewordings(rest)
    kept, notes = _capped(folded, max_lessons)
    if count:
        notes = (f"{count} rewordings of other lessons were folded", *notes)
    everything = sorted([*merged, *kept], key=lambda lesson: -lesson.importance)
    return tuple(everything), notes


def _place(lesson: Lesson, named: Sequence[int], found: Sequence[Lesson]) -> int | None:
    """Return which finding a lesson says again, `None` if none."""
    for place in named:
        if _share_words(lesson.content, found[place].content):
            return place
    stories = [i for i, other in enumerate(found) if other.category == "experience"]
    if lesson.category == "experience" and len(stories) == 1:
        return stories[0]
    return next((i for i, other in enumerate(found) if _says_again(lesson, other)), None)


def _says_again(lesson: Lesson, finding: Lesson) -> bool:
    """Whether a lesson is a finding in other words, or a rule in fewer.

    A rule in fewer words names no number that the finding does not, and has nearly all of its
    words from it.
    """
    if same_fact(lesson.content, finding.content):
        return True
    if not lesson.category == finding.category == "rule":
        return False
    one, two = wording_of(lesson.content), wording_of(finding.content)
    words = set(one.words)
    return (
        _negates(lesson.content) == _negates(finding.content)
        and set(one.numbers) <= set(two.numbers)
        and len(words) >= _FEWEST_WORDS
        and len(words & set(two.words)) >= _PART_SHARE * len(words)
    )


def _negates(text: str) -> bool:
    """Whether a text negates outside what it quotes, such as the words of an error."""
    return wording_of(_QUOTED.sub(" ", text)).negated


def _share_words(first: str, second: str) -> bool:
    one, two = wording_of(first), wording_of(second)
    mine, theirs = {*one.words, *one.numbers}, {*two.words, *two.numbers}
    return len(mine & theirs) >= _COMMON_SHARE * min(len(mine), len(theirs)) > 0


def _reworded(finding: Lesson, lesson: Lesson) -> Lesson:
    return replace(
        finding,
        content=lesson.content,
        applies_when=lesson.applies_when or finding.applies_when,
        not_when=lesson.not_when or finding.not_when,
        task_description=lesson.task_description or finding.task_description,
        importance=max(finding.importance, lesson.importance),
        tags=tuple(dict.fromkeys((*finding.tags, *lesson.tags))),
        steps=tuple(sorted({*finding.steps, *lesson.steps})),
        valid_until=finding.valid_until or lesson.valid_until,
        supersedes=tuple(dict.fromkeys((*finding.supersedes, *lesson.supersedes))),
    )


def _capped(
    lessons: Sequence[Lesson], max_lessons: int
) -> tuple[tuple[Lesson, ...], tuple[str, ...]]:
    ranked = sorted(lessons, key=lambda lesson: -lesson.importance)
    rules = [lesson for lesson in ranked if lesson.category == "rule"]
    surplus = rules[MAX_RULES:]
    within = [lesson for lesson in ranked if not any(lesson is other for other in surplus)]
    kept = tuple(within[:max_lessons])
    notes = []
    if surplus:
        notes.append(f"{len(surplus)} rules past the {MAX_RULES} most important were dropped")
    if len(within) > max_lessons:
        dropped = len(within) - max_lessons
        notes.append(f"{dropped} lessons past the {max_lessons} most important were dropped")
    return kept, tuple(notes)
