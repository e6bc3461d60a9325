"""What an English sentence says about its speaker: preferences, facts, plans, corrections."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from hindsight_core.reflection import statements_en_patterns as patterns
from hindsight_core.reflection.statements_changes import english_change
from hindsight_core.reflection.statements_framing import Sentence
from hindsight_core.reflection.statements_kinds import Found, Repair
from hindsight_core.reflection.statements_person import third_person
from hindsight_core.reflection.statements_time import event_time_of, span_of
from hindsight_core.reflection.statements_wishes import english_wish, reports, told_wish

__all__ = ["read_english", "read_english_repair"]

SHORTEST = 6
"""Characters of a clause below which it says nothing."""

_Wished: TypeAlias = Literal["", "order", "fact"]
"""Whether a clause is to be remembered: not said, as an order, or as a fact."""

_NAME = re.compile(r"(?<=[\s\"(])(?!I\b)[A-Z\u00c0-\u00de][\w'-]+")
_BOUNDED = re.compile(
    r"\b(?:until|till|this|today|tomorrow|for the next|next (?:week|month|year|\w+day))\b", re.I
)


def read_english(sentence: Sentence, moment: datetime) -> tuple[Found, ...]:
    """Return the lasting preferences and the facts that a sentence states, one a clause.

    Args:
        sentence: What a person said.
        moment: When, aware; relative times are read against it.
    """
    found: list[Found] = []
    speaks = False
    for clause, wished in _clauses(sentence):
        if patterns.UNSURE.match(clause) and not (wished and patterns.FORBIDS.match(clause)):
            if not found:
                return ()
            continue
        if speaks and (patterns.ELIDED.match(clause) or patterns.ELIDED_NOW.match(clause)):
            clause = f"I {clause}"
        speaks = speaks or clause[:2].lower() in {"i ", "i'"}
        statement = _statement(clause, moment)
        if statement is None and wished:
            statement = _wished(clause, moment, order=wished == "order")
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


def _clauses(sentence: Sentence) -> list[tuple[str, _Wished]]:
    """Return the clauses that state something, without what leads up to them."""
    read = _wishes(sentence)
    clauses = [clause if wish else patterns.FILLER.sub("", clause).strip() for clause, wish in read]
    wished = [wish for _, wish in read]
    if len(clauses) > 1 and (
        patterns.WHILE.match(clauses[0]) or patterns.NOWADAYS.match(clauses[0])
    ):
        clauses[:2] = [f"{clauses[0]}, {clauses[1]}"]
        wished[:2] = wished[:1]
    if sentence.question:
        standing = patterns.ASKS_STANDING.match(clauses[-1])
        clauses = [clauses[-1][standing.end() :]] if standing else clauses[:-1]
    pairs = zip(clauses, wished, strict=False)
    return [(clause, wish) for clause, wish in pairs if len(clause) >= SHORTEST]


def _wishes(sentence: Sentence) -> list[tuple[str, _Wished]]:
    """Return the clauses of a sentence, and whether each is something to be remembered.

    What somebody else is told to have said is no wish of the speaker.
    """
    whole = None if sentence.question else english_wish(sentence.text)
    if whole is not None:
        first, *others = _split(whole.rest)
        again = english_wish(f"remember that {first}")
        sure = whole.sure and (whole.order or (again is not None and again.sure))
        return [(first, _kind(whole.order) if sure else ""), *((other, "") for other in others)]
    read: list[tuple[str, _Wished]] = []
    quoted = False
    for clause in _split(sentence.text):
        wish = None if sentence.question or quoted else english_wish(clause)
        quoted = quoted or reports(clause)
        if wish is not None and wish.sure:
            read.append((wish.rest, _kind(wish.order)))
        else:
            read.append((clause, ""))
    return read


def _kind(order: bool) -> _Wished:
    return "order" if order else "fact"


def _split(text: str) -> list[str]:
    return [part.strip() for part in patterns.BOUNDARY.split(text)]


def _statement(clause: str, moment: datetime) -> Found | None:
    bare, changed = english_change(clause)
    if (_is_habit(bare, changed) or _is_taste(bare)) and not (
        changed and patterns.APPROVES.match(bare)
    ):
        return Found("preference", _told(bare, changed), names=_names(bare))
    standing = (patterns.STANDING, patterns.NO_MORE, patterns.REMEMBER_TO)
    if any(pattern.match(clause) for pattern in standing):
        return Found("preference", _asked(clause), _end(clause, moment))
    if any(pattern.match(bare) for pattern in patterns.FACTS):
        return _fact(clause, _told(bare, changed), moment)
    if patterns.PLAN.match(clause) and span_of(clause, moment) is not None:
        return _fact(clause, _told(clause), moment)
    return None


def _wished(clause: str, moment: datetime, *, order: bool) -> Found:
    """Return what a person wants to be remembered, though no pattern knows it."""
    if order:
        return Found("preference", _asked(clause), _end(clause, moment))
    bare, changed = english_change(clause)
    told = told_wish(bare)
    if changed:
        told = f"{told[:-1]} now." if not told.endswith('".') else told_wish(clause)
    if not _BOUNDED.search(clause):  # "our meeting is on Wednesday" holds every week
        return Found("fact", told, None, event_time_of(clause, moment), _names(clause))
    return _fact(clause, told, moment)


def _end(order: str, moment: datetime) -> datetime | None:
    """Return when an order ends: "on Fridays" bounds none, "until Friday" does."""
    until = span_of(order, moment) if _BOUNDED.search(order) else None
    return until.end if until else None


def _is_habit(bare: str, changed: bool) -> bool:
    if patterns.ONCE.search(bare):
        return False
    if patterns.HABIT.match(bare):
        return True
    return bool(patterns.NEW_HABIT.match(bare) if changed else patterns.HABIT_AGAIN.match(bare))


def _is_taste(clause: str) -> bool:
    if patterns.LIKES_WHEN.match(clause):
        return True
    taste = patterns.TASTE.match(clause) or patterns.FAN.match(clause)
    return taste is not None and not patterns.ONCE.search(taste.group("object"))


def _fact(clause: str, content: str, moment: datetime) -> Found:
    span = span_of(clause, moment)
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


def _asked(clause: str) -> str:
    return f'The user asks: "{clause[0].upper()}{clause[1:]}."'


def _told(clause: str, changed: bool = False) -> str:
    """Return a clause as a sentence about the user, in their own words where that is safer.

    Args:
        clause: The clause, without what announces a change.
        changed: Whether something announced one.
    """
    now = " now" if changed else ""
    if clause[:8].lower() == "call me ":
        return f"The user wants to be called {clause[8:]}."
    told = third_person(clause)
    return f"{told}{now}." if told is not None else f'The user said: "{clause}{now}".'


def _names(clause: str) -> bool:
    return bool(_NAME.search(clause))
