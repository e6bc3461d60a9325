"""An English clause in the first person told of the user, where that can be done safely."""

from __future__ import annotations

import re

__all__ = ["third_person"]

_OPENING = re.compile(
    r"^i(?P<be>'m| am)\b|^i(?P<have>'ve| have)\b|^i(?P<will>'ll| will)\b|^(?P<my>my)\b|^i\b",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:(?:really|strongly|much|generally|usually|always|never|typically|normally|personally|also"
    r"|still|absolutely|rarely|mostly|almost|nearly|currently|now|only|just|recently|ever"
    r"|no longer) )*"
)
_VERB = re.compile(rf"^(?P<adverbs>{_ADVERBS})(?P<verb>don't|can't|cannot|[a-z]+)\b", re.IGNORECASE)
_MINE = (
    (re.compile(r"\bmy\b", re.IGNORECASE), "their"),
    (re.compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    (re.compile(r"\bmine\b", re.IGNORECASE), "theirs"),
    (re.compile(r"\bme\b", re.IGNORECASE), "them"),
)
_STILL_FIRST = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|we|us|our|ours)\b", re.IGNORECASE)
_PAST_OR_MODAL = frozenset({"can't", "cannot", "can", "moved", "must", "should", "could", "would"})
_IRREGULAR = {"have": "has", "do": "does", "go": "goes", "don't": "does not", "am": "is"}


def third_person(clause: str) -> str | None:
    """Return `I prefer tea` as `The user prefers tea`, `None` where it can't be done safely.

    Unsafe is a clause that does not begin with the speaker, or that speaks of them again in a
    way that would need another form of a verb.
    """
    opening = _OPENING.match(clause)
    if opening is None:
        return None
    rest = clause[opening.end() :].strip()
    if opening.group("my"):
        said = f"The user's {rest}"
    elif opening.group("be"):
        said = f"The user is {rest}"
    elif opening.group("have"):
        said = f"The user has {rest}"
    elif opening.group("will"):
        said = f"The user will {rest}"
    else:
        turned = _turned(rest)
        if turned is None:
            return None
        said = f"The user {turned}"
    for mine, theirs in _MINE:
        said = mine.sub(theirs, said)
    return None if _STILL_FIRST.search(said) else said


def _turned(rest: str) -> str | None:
    rest = re.sub(r"^(do not|tend to)\b", _two_words, rest, flags=re.IGNORECASE)
    verb = _VERB.match(rest)
    if verb is None:
        return None
    word = verb.group("verb")
    return f"{verb.group('adverbs')}{_inflected(word)}{rest[verb.end() :]}"


def _two_words(match: re.Match[str]) -> str:
    return "don't" if match.group(1).lower() == "do not" else "tend to"


def _inflected(verb: str) -> str:
    low = verb.lower()
    if low in _PAST_OR_MODAL:
        return low
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return low + "es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return low[:-1] + "ies"
    return low + "s"
