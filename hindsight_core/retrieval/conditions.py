"""When a statement holds: whether its words say so already, and whether two hold side by side."""

from __future__ import annotations

import re

from hindsight_core.cutting import up_to_word
from hindsight_core.models import Memory

__all__ = ["MAX_CONDITION_LENGTH", "exclude_each_other", "shown_condition", "word_stems"]

MAX_CONDITION_LENGTH = 160
"""Characters of a condition on a line of a brief."""
_TOKEN = re.compile(r"[㐀-䶿一-鿿]|[^\W㐀-䶿一-鿿]+|[^\w\s]")
_ENDING = re.compile(r"(?:ing|ed|s)\Z")
_LEAST_STEM = 4
"""Letters that have to be left where an ending is taken off."""


def shown_condition(condition: str, text: str) -> str:
    """Return `condition` on one line, `""` where `text` says it already.

    "read_csv fails" stands in "read_csv failed again": endings do not matter, but the order and
    each sign do, so that "x < 1" does not stand in "x > 1".

    Args:
        condition: When a statement holds, or does not.
        text: The statement as it is shown.
    """
    line = " ".join(condition.split())
    wanted, said = word_stems(line), word_stems(text)
    places = range(len(said) - len(wanted) + 1)
    if any(said[place : place + len(wanted)] == wanted for place in places):
        return ""
    if not line.isascii() and line.casefold() in text.casefold():
        return ""  # scripts without spaces whose words are not told apart here
    if len(line) <= MAX_CONDITION_LENGTH:
        return line
    return up_to_word(line, MAX_CONDITION_LENGTH, MAX_CONDITION_LENGTH // 2) + " …"


def exclude_each_other(one: Memory, other: Memory) -> bool:
    """Whether two statements hold under different conditions, so that both may be true.

    Both say when they hold and say it differently, or one does not hold where the other does.
    A condition that only one of them has settles nothing.
    """
    first, second = word_stems(one.applies_when), word_stems(other.applies_when)
    if first and second:
        return first != second
    return bool(
        (first and first == word_stems(other.not_when))
        or (second and second == word_stems(one.not_when))
    )


def word_stems(text: str) -> list[str]:
    """Return words and signs in lower case without their endings, Chinese by characters."""
    found = _TOKEN.findall(text.strip().rstrip(".。!！;；,，").casefold())
    return [_stem(token) for token in found]


def _stem(token: str) -> str:
    if not token.isascii() or not token.isalpha():
        return token
    stem = _ENDING.sub("", token)
    return stem if len(stem) >= _LEAST_STEM else token
