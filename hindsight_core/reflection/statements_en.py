"""What an English sentence says about its speaker: preferences, facts, plans, corrections."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hindsight_core.reflection import statements_en_patterns as patterns
from hindsight_core.reflection.statements_framing import Sentence
from hindsight_core.reflection.statements_kinds import Found, Repair
from hindsight_core.reflection.statements_person import third_person
from hindsight_core.reflection.statements_time import event_time_of, span_of

__all__ = ["read_english", "read_english_repair"]

SHORTEST = 6
"""Characters of a clause below which it says nothing."""

_NAME = re.compile(r"(?<=[\s\"(])(?!I\b)[A-Z\u00c0-\u00de][\w'-]+")
_BOUNDED = re.compile(r"\b(?:until|till|this|today|tomorrow|for the next|next week)\b", re.I)


def read_english(sentence: Sentence, moment: datetime) -> tuple[Found, ...]:
    """Return the lasting preferences and the facts that a sentence states, one a clause.

    Args:
        sentence: What a person said.
        moment: When, aware; relative times are read against it.
    """
    found: list[Found] = []
    speaks = False
    for clause in _clauses(sentence):
        if patterns.UNSURE.match(clause):
            if not found:
                return ()
            continue
        if speaks and patterns.ELIDED.match(clause):
            clause = f"I {clause}"
        speaks = speaks or clause[:2].lower() in {"i ", "i'"}
        statement = _statement(clause, moment)
        if statement is not None:
            found.append(statement)
    return tuple(found)


def read_english_repair(sentence: Sentence) -> Repair:
    """Return what a sentence says about the agent's last answer."""
    clauses = _split(sentence.text)
    if sentence.question:
        clauses = clauses[:-1]
    return Repair(
        wrong=any(patterns.WRONG.match(clause) for clause in clauses),
        right=any(patterns.RIGHT.match(clause) for clause in clauses),
        hints=any(patterns.SHOULD.match(clause) for clause in clauses),
    )


def _clauses(sentence: Sentence) -> list[str]:
    """Return the clauses that state something, without what leads up to them."""
    clauses = [patterns.FILLER.sub("", clause).strip() for clause in _split(sentence.text)]
    if len(clauses) > 1 and patterns.WHILE.match(clauses[0]):
        clauses[:2] = [f"{clauses[0]}, {clauses[1]}"]
    if sentence.question:
        standing = patterns.ASKS_STANDING.match(clauses[-1])
        clauses = [clauses[-1][standing.end() :]] if standing else clauses[:-1]
    return [clause for clause in clauses if len(clause) >= SHORTEST]


def _split(text: str) -> list[str]:
    return [part.strip() for part in patterns.BOUNDARY.split(text)]


def _statement(clause: str, moment: datetime) -> Found | None:
    habit = patterns.HABIT.match(clause) and not patterns.ONCE.search(clause)
    if habit or _is_taste(clause):
        return Found("preference", _told(clause), names=_names(clause))
    standing = (patterns.STANDING, patterns.NO_MORE, patterns.REMEMBER_TO)
    if any(pattern.match(clause) for pattern in standing):
        until = span_of(clause, moment) if _BOUNDED.search(clause) else None
        words = clause[0].upper() + clause[1:]
        return Found("preference", f'The user asks: "{words}."', until.end if until else None)
    if any(pattern.match(clause) for pattern in patterns.FACTS):
        return _fact(clause, moment)
    if patterns.PLAN.match(clause) and span_of(clause, moment) is not None:
        return _fact(clause, moment)
    return None


def _is_taste(clause: str) -> bool:
    if patterns.LIKES_WHEN.match(clause):
        return True
    taste = patterns.TASTE.match(clause) or patterns.FAN.match(clause)
    return taste is not None and not patterns.ONCE.search(taste.group("object"))


def _fact(clause: str, moment: datetime) -> Found:
    span = span_of(clause, moment)
    content = _told(clause)
    if span is not None:
        last_day = (span.end - timedelta(days=1)).date().isoformat()
        content = f"{content[:-1]} (until {last_day})."
    return Found(
        "fact",
        content,
        span.end if span else None,
        event_time_of(clause, moment),
        _names(clause),
    )


def _told(clause: str) -> str:
    """Return a clause as a sentence about the user, in their own words where that is safer."""
    if clause[:8].lower() == "call me ":
        return f"The user wants to be called {clause[8:]}."
    told = third_person(clause)
    return f"{told}." if told is not None else f'The user said: "{clause}".'


def _names(clause: str) -> bool:
    return bool(_NAME.search(clause))
