"""Words of a text for the keyword filter, cut the same way for every back end.

A word is a run of letters and digits, folded for case and width. Scripts that are written
without spaces have no such runs, so text in Han, Kana or Hangul gives its single characters
and its pairs of neighbours instead, and a keyword matches where all of its pairs occur.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["keyword_words", "words_of"]

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_RUNS = re.compile(rf"([{_UNSPACED}]+)|([^\W_{_UNSPACED}]+)")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text that is stored."""
    words: set[str] = set()
    for unspaced, word in _runs(text):
        if word:
            words.add(word)
        else:
            words.update(unspaced)
            words.update(_pairs(unspaced))
    return frozenset(words)


def keyword_words(keyword: str) -> frozenset[str]:
    """Return the words that must all occur for `keyword` to match; empty if it has none."""
    words: set[str] = set()
    for unspaced, word in _runs(keyword):
        if word or len(unspaced) == 1:
            words.add(word or unspaced)
        else:
            words.update(_pairs(unspaced))
    return frozenset(words)


def _runs(text: str) -> list[tuple[str, str]]:
    return _RUNS.findall(unicodedata.normalize("NFKC", text).casefold())


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]
