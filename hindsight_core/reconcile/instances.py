"""Whether two rules are one, said of different instances.

"certificate_7504069 not found" and "certificate_4856383 not found" teach one thing, and so do
"calling it 47 times" and "4 times". A number that is the remedy teaches another thing:
a timeout of 20 is not one of 200. So only ids and counts are set aside, never plain numbers,
amounts with a unit, or what is assigned and recommended.
"""

from __future__ import annotations

import re

__all__ = ["same_but_for_instances"]

LEAST_DIGITS = 3
"""Digits from which on a token that mixes letters and digits is an id, not a version or size."""

_TOKEN = re.compile(r"#\d+|(?<![\w.-])(?:[A-Za-z][\w-]*|\d[\w-]*)(?![\w-])", re.ASCII)
_AMOUNT = re.compile(r"\d+(?:[A-Za-z]{1,4}|-\d+)*", re.ASCII)
"""A plain number, one with a unit such as `200ms`, a date or a range: none is an id."""

_COUNT = re.compile(r"\b\d+ times\b|\d+ ?次", re.ASCII)
_ADVICE = re.compile(
    r"(?:=|\":|\b(?:instead of|use|using|to|set|choose|give|add)|(?<!fails )(?<!failed )\bwith"
    r"|设为|设成|改为|改成|不要用|改用|用|加上)\s*[\"'“”「(]?$",
    re.IGNORECASE,
)
"""Ends what stands before a value that is assigned or recommended."""

_ASKED_FOR = re.compile(
    r"(?:\b(?:re-?try|try|repeat|poll|wait|run it|call it|up to|at most|at least|only)\b"
    r"[^.;,]{0,40}"
    r"|(?:重试|再试|尝试|重复|最多|至少|等待)[^。；，]{0,10})$",
    re.IGNORECASE,
)
"""Ends what stands before a count that is the remedy."""

_ARGUMENTS = re.compile(r"\bsame arguments \([^()]*$|相同(?:的)?参数（[^（）]*$")
"""Ends inside the arguments of a call that was repeated: they are quoted, not recommended."""

_LOOKED_BACK = 300
"""Characters before a token that are looked at."""


def same_but_for_instances(new: str, old: str) -> bool:
    """Return whether two rules differ at most in the ids and counts that they mention."""
    return _pattern(new) == _pattern(old)


def _pattern(text: str) -> str:
    """Return `text` with ids and counts replaced by a placeholder, in one case and spacing."""
    counted = _COUNT.sub(lambda found: _unless(_ASKED_FOR, found, "# times"), text)
    marked = _TOKEN.sub(_without_id, counted)
    return " ".join(marked.lower().split()).rstrip(" .。")


def _without_id(found: re.Match[str]) -> str:
    token = found[0]
    digits = sum(char.isdigit() for char in token)
    is_numbered = token.startswith("#")
    if (digits < LEAST_DIGITS and not is_numbered) or _AMOUNT.fullmatch(token):
        return token
    # The word before a number says what sort of id it is, and stays; a hash has no such word.
    word = re.match(r"[A-Za-z_-]+(?=\d+$)", token)
    return _unless(_ADVICE, found, (word[0] if word else "") + "#")


def _unless(before: re.Pattern[str], found: re.Match[str], placeholder: str) -> str:
    """Return `placeholder`, or what was found where `before` ends right ahead of it."""
    ahead = found.string[max(0, found.start() - _LOOKED_BACK) : found.start()]
    if before.search(ahead) and not _ARGUMENTS.search(ahead):
        return found[0]
    return placeholder
