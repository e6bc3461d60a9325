"""Which part of a long memory stands in a brief: its beginning, and what the query asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hindsight_core.cutting import up_to_word

__all__ = ["MAX_LINE_LENGTH", "Excerpts"]

MAX_LINE_LENGTH = 900
"""Characters of one memory's text in a brief."""
HEAD_LENGTH = 300
"""Characters of the beginning that stay where another part is shown as well: it says what the
memory is about."""
LONGEST_READ = 20_000
"""Characters of a memory that are looked through."""
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s)|[。！？；]|$)\s*", re.DOTALL)
_GAP = " … "


class Excerpts:
    """Cuts long texts for one query, each of them once.

    A short text stays whole. Of a long one the beginning stays, and, where a later part says
    more of what the query asks for, that part, with an ellipsis for what is left out.

    ```python
    excerpt = Excerpts("Which port?", Bm25Embedder().content_terms)
    excerpt(long_text)
    ```

    Args:
        query: What is asked.
        content_terms: Gives the terms of a text that say what it is about.
    """

    def __init__(self, query: str, content_terms: Callable[[str], frozenset[int]]) -> None:
        self._query = query
        self._content_terms = content_terms
        self._cut: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return `text` on one line, at most about `MAX_LINE_LENGTH` characters of it."""
        text = " ".join(text.split())
        if len(text) <= MAX_LINE_LENGTH:
            return text
        if text not in self._cut:
            self._cut[text] = self._shortened(text)
        return self._cut[text]

    def _shortened(self, text: str) -> str:
        asked = self._content_terms(self._query) if self._query.strip() else frozenset()
        best = self._best_sentence(text[:LONGEST_READ], asked) if asked else None
        if best is None or best[1] <= MAX_LINE_LENGTH:
            return _head(text, MAX_LINE_LENGTH) + " …"
        start, end = best
        room = MAX_LINE_LENGTH - HEAD_LENGTH - len(_GAP)
        found = text[start:end].strip()
        if len(found) > room:
            found = _head(found, room)
        closing = "" if end >= len(text) and len(text[start:end].strip()) <= room else " …"
        return f"{_head(text, HEAD_LENGTH)}{_GAP}{found}{closing}"

    def _best_sentence(self, text: str, asked: frozenset[int]) -> tuple[int, int] | None:
        """Return where the sentence with most of the terms asked for stands, the first of equals.

        Terms that the beginning says already do not count: it is shown anyway.
        """
        wanted = asked - self._content_terms(_head(text, HEAD_LENGTH))
        best: tuple[int, int] | None = None
        most = 0
        for start, end in _sentences(text):
            count = len(wanted & self._content_terms(text[start:end]))
            if count > most:
                best, most = (start, end), count
        return best


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for match in _SENTENCE.finditer(text):
        yield match.span()


def _head(text: str, length: int) -> str:
    return up_to_word(text, length, length // 2)
