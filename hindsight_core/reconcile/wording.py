"""What two statements have in common and what differs, by their words alone.

English is taken word by word, Chinese character by character. Small word lists say which
words flip a statement, which announce a change, and which verbs take many values at once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["TOKEN", "Wording", "is_cjk", "opposed", "read_wording"]

TOKEN = re.compile(r"[㐀-䶿一-鿿]|[^\W_㐀-䶿一-鿿]+(?:[-_.'’/:][^\W_㐀-䶿一-鿿]+)*")
"""A Chinese character, or a word with what joins its parts; a number ends where Chinese begins."""
_CJK = re.compile(r"[㐀-䶿一-鿿]")

STOPWORDS = frozenset(
    "a an the of to in on at for with by from as that this these those it its his her their "
    "our my your is are was were be been being am do does did has have had will would can "
    "could should may might just also very really so and or but then than there here about "
    "into per please that's it's".split()
)
NEGATIONS = frozenset(
    "not no never none neither nor without cannot can't don't doesn't didn't isn't aren't "
    "wasn't weren't won't wouldn't shouldn't couldn't haven't hasn't hadn't "
    "不 没 無 无 别 未 勿".split()
)
ANTONYMS = (
    ("love", "hate"), ("like", "hate"), ("like", "dislike"), ("love", "dislike"),
    ("enjoy", "hate"), ("enjoy", "dislike"), ("always", "never"), ("enable", "disable"),
    ("allow", "forbid"), ("allow", "deny"), ("allowed", "forbidden"), ("on", "off"),
    ("true", "false"), ("works", "fails"), ("work", "fail"), ("available", "unavailable"),
    ("required", "optional"), ("safe", "unsafe"), ("start", "stop"), ("increase", "decrease"),
    ("before", "after"), ("open", "closed"), ("with", "without"),
)  # fmt: skip
"""Pairs that turn a statement into its opposite when nothing else differs."""
CJK_ANTONYMS = (
    ("喜欢", "讨厌"),
    ("爱", "恨"),
    ("允许", "禁止"),
    ("可以", "不可以"),
    ("启用", "禁用"),
)
CHANGE_MARKERS = frozenset(
    "now currently anymore instead moved changed switched migrated upgraded renamed replaced "
    "updated became longer nowadays lately recently today actually".split()
)
CJK_CHANGE_MARKERS = ("现在", "改为", "改成", "换成", "不再", "目前", "已经", "搬到", "升级")
MANY_VALUED = frozenset(
    "like love enjoy use know has have own visit read watch speak play want need include "
    "contain support hate dislike met meet tried try".split()
)
"""Verbs of which several objects can be true at once, so that a second is no contradiction."""
CJK_MANY_VALUED = ("喜欢", "讨厌", "会", "有", "使用", "爱", "去过", "看过")
CJK_NOW = ("现在", "目前", "如今")
"""Words that only say that a statement holds now."""
COPULAS = frozenset("is are was were be equals = : 是 为 叫".split())
_NO_CONTENT = STOPWORDS | NEGATIONS | CHANGE_MARKERS
_EVENT_EXCEPTIONS = CHANGE_MARKERS | {"need", "speed", "feed", "based", "named", "called"}


@dataclass(frozen=True, slots=True)
class Wording:
    """A statement taken apart.

    Attributes:
        tokens: All tokens, lower-cased, lightly stemmed, in order.
        words: Content tokens that are no values, markers or negations.
        values: Tokens with a digit, and names written with a capital inside a sentence.
        negations: How many negations it holds.
        marks_change: Whether it says of itself that something changed.
        cjk: Whether it is mostly Chinese.
    """

    tokens: tuple[str, ...]
    words: frozenset[str]
    values: frozenset[str]
    negations: int
    marks_change: bool
    cjk: bool

    @property
    def many_valued(self) -> bool:
        """Whether its verb takes several objects at once."""
        if self.cjk:
            text = "".join(self.tokens)
            return any(verb in text for verb in CJK_MANY_VALUED)
        return any(token in MANY_VALUED for token in self.tokens[:5])

    @property
    def tells_event(self) -> bool:
        """Whether it tells what happened once rather than what holds."""
        return any(
            (token.endswith("ed") and token not in _EVENT_EXCEPTIONS) or token in {"went", "bought"}
            for token in self.tokens[:6]
        )


@lru_cache(4_096)
def is_cjk(text: str) -> bool:
    """Whether at least a third of the letters of `text` are Chinese characters."""
    if text.isascii():
        return False
    letters = sum(char.isalpha() for char in text)
    return letters > 0 and len(_CJK.findall(text)) * 3 >= letters


@lru_cache(4_096)
def read_wording(text: str) -> Wording:
    """Take `text` apart."""
    plain = unicodedata.normalize("NFKC", text)
    found = list(TOKEN.finditer(plain))
    tokens = tuple(_stem(match.group().lower()) for match in found)
    cjk = is_cjk(plain)
    values = frozenset(
        token
        for position, (token, match) in enumerate(zip(tokens, found, strict=True))
        if (not token.isalpha() and any(map(str.isdigit, token)))
        or (position > 0 and match.group()[0].isupper() and not _starts_sentence(plain, match))
    )
    marks = not CHANGE_MARKERS.isdisjoint(tokens)
    if cjk and not marks:
        joined = "".join(tokens)
        marks = any(marker in joined for marker in CJK_CHANGE_MARKERS)
    words = frozenset(tokens) - _NO_CONTENT - values
    # "no longer" announces the end of something; it negates once, by its "no". That of "no 12"
    # is short for "number".
    negations = sum(
        token in NEGATIONS and not (token == "no" and following.isdecimal())
        for token, following in zip(tokens, (*tokens[1:], ""), strict=False)
    )
    return Wording(tokens, words, values, negations, marks, cjk)


def opposed(first: Sequence[str], second: Sequence[str], *, cjk: bool) -> bool:
    """Whether the tokens that differ hold a pair of opposites, one on each side."""
    if cjk:
        one, two = "".join(first), "".join(second)
        return any((a in one and b in two) or (b in one and a in two) for a, b in CJK_ANTONYMS)
    left, right = set(first), set(second)
    return any((a in left and b in right) or (b in left and a in right) for a, b in ANTONYMS)


def _starts_sentence(text: str, match: re.Match[str]) -> bool:
    before = text[: match.start()].rstrip()
    return not before or before[-1] in ".!?。！？:\n"


def _stem(token: str) -> str:
    """Take off a plural or third-person s, so that `drinks` and `drink` are one word."""
    if token in CHANGE_MARKERS:
        return token
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us", "is")):
        return token[:-1]
    return token
