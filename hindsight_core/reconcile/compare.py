"""How a new statement relates to one that is already known.

Looks at similarity, at what the statements share, and at what differs: numbers, negation,
named values. Errs on the side of "unrelated": a wrong merge or a wrong retirement loses
knowledge, a missed one only keeps two lines where one would do.
"""

from __future__ import annotations

import itertools
import re
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from hindsight_core.reconcile.subjects import names_another
from hindsight_core.reconcile.wording import (
    CJK_NOW,
    COPULAS,
    STOPWORDS,
    Wording,
    opposed,
    read_wording,
)

__all__ = ["RENEWED_COSINE", "Relation", "overlap_of", "relation"]

Relation: TypeAlias = Literal["same", "replaces", "unrelated"]

MAX_TOKENS = 60
"""Statements with more tokens are passages, not single facts: only a repetition counts."""
_FILLERS = frozenset("the a an now currently today lately recently nowadays actually".split())
_TALK = re.compile(r"[!?！？]")
_NEXT_SENTENCE = re.compile(r"[.…]\s+\S|[。；;]\s*\S|\n\s*\S")
SAME_OVERLAP = 0.6
"""Least share of words in common for two statements to be the same."""
REPLACE_OVERLAP = 0.4
"""Least share of words in common for two statements to be about the same thing."""
REPLACE_COSINE = 0.7
"""Least cosine likewise; below a profile's own threshold, since the words are checked too."""
CHANGE_COSINE = 0.55
"""Least cosine when the newer says that something changed, or only values differ."""
RENEWED_COSINE = 0.35
"""Least cosine when the newer says that something holds now, and is else the older one word for
word, but for a value at its end."""
FULL_OVERLAP = 0.9
"""Share of words in common from which on only the values differ."""
REWORDED_COSINE = 0.92
"""Least cosine at which exchanged words that are no values count as synonyms."""


def relation(new: str, old: str, cosine: float, *, same_cosine: float = 0.95) -> Relation:
    """Return how the statement `new` relates to `old`.

    Args:
        new: The newer statement.
        old: The older one.
        cosine: Similarity of their embeddings; for Chinese the words decide.
        same_cosine: Least cosine for two statements to be the same.
    """
    first, second = read_wording(new), read_wording(old)
    if first.tokens == second.tokens:
        return "same"
    overlap = overlap_of(first, second)
    if overlap < REPLACE_OVERLAP and not (first.cjk and second.cjk):
        return "unrelated"
    gone, come = _difference(second.tokens, first.tokens)
    flipped = (first.negations - second.negations) % 2 == 1 or opposed(
        come, gone, cjk=first.cjk and second.cjk
    )
    if not flipped and first.values == second.values and overlap >= SAME_OVERLAP:
        close = cosine >= same_cosine or (cosine >= REWORDED_COSINE and not (gone and come))
        if first.cjk or second.cjk:
            close = overlap >= 0.85 and not (gone and come)
        if close and not _swaps_value(gone, come, cosine):
            return "same"
    if not (_states_one_thing(new, first) and _states_one_thing(old, second)):
        return "unrelated"
    if not _about_the_same(first, second, overlap, cosine):
        return "unrelated"
    contradicts = flipped and (overlap >= SAME_OVERLAP or len(gone) + len(come) <= 2)
    if not contradicts and not _changes_value(first, second, gone, come):
        return "unrelated"
    return "unrelated" if names_another(new, old, flipped=flipped) else "replaces"


def _states_one_thing(text: str, wording: Wording) -> bool:
    """Whether `text` is one plain sentence: questions, greetings and talk replace nothing."""
    if len(wording.tokens) > MAX_TOKENS or _TALK.search(text):
        return False
    return not _NEXT_SENTENCE.search(text.strip())


def _difference(
    old: tuple[str, ...], new: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens that only `old` and only `new` has, by alignment."""
    gone: list[str] = []
    come: list[str] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += [token for token in old[i:j] if token not in STOPWORDS]
            come += [token for token in new[k:m] if token not in STOPWORDS]
    return tuple(gone), tuple(come)


def overlap_of(first: Wording, second: Wording) -> float:
    """Return the Jaccard overlap of the words, of character pairs for Chinese."""
    one, two = first.words, second.words
    if first.cjk and second.cjk:
        one, two = _pairs(first.tokens), _pairs(second.tokens)
    shared = len(one & two)
    union = len(one) + len(two) - shared
    return shared / union if union else 1.0


def _pairs(tokens: tuple[str, ...]) -> frozenset[str]:
    return frozenset(a + b for a, b in itertools.pairwise(tokens))


def _swaps_value(gone: tuple[str, ...], come: tuple[str, ...], cosine: float) -> bool:
    """Whether words were exchanged that the embedding does not take for synonyms."""
    return bool(gone and come) and cosine < REWORDED_COSINE


def _about_the_same(first: Wording, second: Wording, overlap: float, cosine: float) -> bool:
    if first.tells_event and not first.marks_change:
        return False
    if first.cjk and second.cjk:
        return _frame(_plain(first), _plain(second)) >= 0.5
    eased = first.marks_change or overlap >= FULL_OVERLAP
    needed = CHANGE_COSINE if eased else REPLACE_COSINE
    if first.marks_change and _renews(first, second):
        needed = RENEWED_COSINE
    return cosine >= needed and overlap >= REPLACE_OVERLAP


def _renews(first: Wording, second: Wording) -> bool:
    """Whether the statements are the same but for a value at their ends."""
    new, old = _plain(first), _plain(second)
    start = _shared_start(new, old)
    come, gone = new[start:], old[start:]
    if not (come and gone and start) or new[start - 1] not in STOPWORDS:
        return False
    return frozenset(come) <= first.values and frozenset(gone) <= second.values


def _shared_start(new: tuple[str, ...], old: tuple[str, ...]) -> int:
    """Return with how many tokens both begin."""
    pairs = zip(new, old, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(new), len(old)))


def _frame(new: tuple[str, ...], old: tuple[str, ...]) -> float:
    """Return the share of the shorter statement that both begin or end with."""
    start = _shared_start(new, old)
    rest = min(len(new), len(old)) - start
    pairs = zip(reversed(new), reversed(old), strict=False)
    end = next((i for i, (a, b) in enumerate(pairs) if a != b), rest)
    return (start + min(end, rest)) / max(1, min(len(new), len(old)))


def _changes_value(
    first: Wording, second: Wording, gone: tuple[str, ...], come: tuple[str, ...]
) -> bool:
    """Whether the subject and the verb are the same and only what is said of it differs."""
    if not (gone and come):
        return False
    if _has_digit(gone) != _has_digit(come):
        return False
    numbers_only = len(gone) == len(come) == 1 and _has_digit(gone)
    free = first.many_valued and not (first.marks_change or numbers_only)
    if free and not _shares_end(first, second):
        return False
    new, old = _plain(first), _plain(second)
    same = _shared_start(new, old)
    if same == min(len(new), len(old)):
        same = 0
    if first.cjk and _has_digit(new[:same][-1:]):
        return False  # Right behind a number: other things are said of what it numbers.
    content = [token for token in new[:same] if token not in STOPWORDS and token not in COPULAS]
    said_of_it = any(token in COPULAS for token in new[:same])
    if len(content) < (1 if said_of_it or first.marks_change else 2):
        return False
    # A verb that follows the difference means that the subjects differ.
    return said_of_it or not any(token in COPULAS for token in new[same:])


def _plain(wording: Wording) -> tuple[str, ...]:
    """Return the tokens without those that only say that something holds now."""
    tokens = tuple(token for token in wording.tokens if token not in _FILLERS)
    # What is liked or used now may be so besides the rest: there, the word stays.
    if not wording.cjk or wording.many_valued:
        return tokens
    text = "".join(tokens)
    now = next((word for word in CJK_NOW if word in text), "")
    at = next((i for i in range(len(tokens)) if tokens[i : i + 2] == tuple(now)), -1)
    return tokens if at < 0 else tokens[:at] + tokens[at + 2 :]


def _shares_end(first: Wording, second: Wording) -> bool:
    return first.tokens[-1:] == second.tokens[-1:]


def _has_digit(tokens: tuple[str, ...]) -> bool:
    return any(char.isdigit() for token in tokens for char in token)
