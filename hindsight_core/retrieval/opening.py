"""How alike two tasks begin.

What varies within a kind of task stands at its end: "Search for …", "Create an issue about …".
The first words name the kind, but only of a bare instruction or question. A message that begins
with a greeting or with a person tells of its sender first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

__all__ = ["begin_alike", "opening_of"]

WORDS = 2
"""Words of an opening; flat from 1 to 4."""
_READ = 200
"""Characters in which they are looked for."""
_WORD = re.compile(r"[㐀-䶿一-鿿]|[^\W_㐀-䶿一-鿿]+(?:['’][^\W_]+)*")
_TELLS_OF_SOMEBODY = frozenset(
    "i i'm i'd i've i'll we we're we'd we've my our you your this that these those it it's there "
    "the a an hi hello hey dear good thanks thank sorry 我 你 您 咱 这 那 嗨 哈 早".split()
)


@lru_cache(4_096)
def opening_of(text: str) -> tuple[str, ...]:
    """Return the first words of an instruction or question, in lower case, `()` if it is none."""
    found = _WORD.finditer(text[:_READ].replace("’", "'"))
    words = tuple(match.group().casefold() for match in islice(found, WORDS))
    return () if words and words[0] in _TELLS_OF_SOMEBODY else words


def begin_alike(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return the share of an opening that two tasks have in common, from its first word on."""
    shared = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        shared += 1
    return shared / WORDS
