"""What the sets of questions have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Corpus", "Document", "Question", "first_questions"]


@dataclass(frozen=True, slots=True)
class Document:
    """One text to be remembered.

    Attributes:
        text: The text.
        event_time: When it was said, aware.
        session: The conversation it stands in, `""` if its neighbors say nothing about it.
        position: Its place there, counted from 0.
    """

    text: str
    event_time: datetime
    session: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        text: The question.
        gold: Documents that answer it.
    """

    text: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts that are remembered together, and what is asked about them.

    Attributes:
        name: Its name, unique in its set.
        documents: The texts, in the order they are stored in.
        questions: The questions.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def first_questions(corpora: list[Corpus], limit: int | None) -> list[Corpus]:
    """Return the corpora with at most `limit` questions altogether, evenly from each."""
    if limit is None:
        return corpora
    share, kept = max(1, limit // max(1, len(corpora))), 0
    chosen: list[Corpus] = []
    for corpus in corpora:
        room = min(share, limit - kept)
        if room > 0:
            questions = corpus.questions[:room]
            kept += len(questions)
            chosen.append(Corpus(corpus.name, corpus.documents, questions))
    return chosen
