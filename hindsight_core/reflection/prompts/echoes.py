"""Lessons that come from the prompt and not from the run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from hindsight_core.reflection.prompts.wording import Phrases
from hindsight_core.reflection.rewordings import wording_of

__all__ = ["Echoes", "own_echoes"]

_SENTENCE_END = re.compile(r"(?<=[.!?。！？；])\s*|\n+|^[-*\d.\s]+", re.MULTILINE)
_MARKUP = re.compile(r"[\W_]+")


class Echoes:
    """Tells whether a text repeats an instruction or an example of a prompt.

    Attributes:
        sentences: How many sentences it knows.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._known = [
            (_squeezed(sentence), frozenset(_words(sentence)))
            for text in texts
            for sentence in _SENTENCE_END.split(text)
            if sentence and len(_squeezed(sentence)) >= 6
        ]
        self.sentences = len(self._known)

    def repeats(self, text: str) -> bool:
        """Return whether `text` is one of the known sentences, or nearly.

        Equal letters count, one inside the other from 24 letters on, and texts of which 0.8
        of the words stand in one known sentence that is not twice as long.
        """
        squeezed, words = _squeezed(text), _words(text)
        return any(
            _same_letters(squeezed, known) or _same_words(words, known_words)
            for known, known_words in self._known
        )


@cache
def own_echoes(languages: tuple[Phrases, ...]) -> Echoes:
    """Return what the given prompts say themselves."""
    texts: list[str] = []
    for phrases in languages:
        texts.append(phrases.system)
        texts += [phrases.run_notice, phrases.run_end, phrases.found, phrases.empty_run]
        texts += [phrases.empty_goal, phrases.nothing_found]
        for sample in phrases.samples:
            texts += [sample.lesson, sample.condition, sample.goal, sample.failure, sample.fix]
            texts += [sample.decision, sample.reason, sample.expected, sample.run]
    return Echoes(texts)


def _same_letters(text: str, known: str) -> bool:
    if text == known:
        return True
    shorter, longer = sorted((text, known), key=len)
    return len(shorter) >= 24 and shorter in longer


def _same_words(words: frozenset[str], known: frozenset[str]) -> bool:
    if len(words) < 4:
        return False
    shared = len(words & known)
    return shared >= 0.8 * len(words) and shared >= 0.5 * len(words | known)


def _squeezed(text: str) -> str:
    return _MARKUP.sub("", text.casefold())


def _words(text: str) -> frozenset[str]:
    wording = wording_of(text)
    return frozenset((*wording.words, *wording.numbers))
