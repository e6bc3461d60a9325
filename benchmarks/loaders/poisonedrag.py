"""PoisonedRAG: questions with false answers somebody planted (`poisonedrag/*.json`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from benchmarks.loaders.beam import START
from benchmarks.loaders.folder import files_of, json_of
from benchmarks.loaders.questions import Document

__all__ = ["VARIANTS", "Poisoned", "PoisonedSet", "load_poisonedrag", "poisoned_set"]


VARIANTS: tuple[str, ...] = ("plain", "prefixed")
"""False texts as they are, and with the question in front, which is how they are made to be
found."""


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A question, its answer, and false texts that give another one.

    Attributes:
        question: The question.
        answer: The right answer.
        false: The false texts.
    """

    question: str
    answer: str
    false: tuple[str, ...]

    @property
    def validated(self) -> str:
        """What a validated memory says."""
        return f'The answer to "{self.question}" is {self.answer}.'

    def planted(self, variant: str) -> tuple[str, ...]:
        """Return the false texts of a variant."""
        if variant == "plain":
            return self.false
        asked = self.question if self.question.endswith(("?", ".", "!")) else f"{self.question}."
        return tuple(f"{asked} {text}" for text in self.false)


@dataclass(frozen=True, slots=True)
class PoisonedSet:
    """What stands in one store.

    Attributes:
        documents: The validated memories, and after them, so newer, the false ones.
        validated: How many of them are validated: the first ones, in the order of the questions.
        owners: The question that each document is about.
    """

    documents: tuple[Document, ...]
    validated: int
    owners: tuple[int, ...]


def load_poisonedrag(data: Path) -> list[Poisoned]:
    """Read the questions of all files; one without false texts is left out.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Poisoned(row["question"], str(row["correct answer"]), tuple(row["adv_texts"]))
        for path in files_of(data / "poisonedrag", "*.json")
        for row in json_of(path).values()
        if row.get("adv_texts")
    ]


def poisoned_set(cases: Sequence[Poisoned], variant: str) -> PoisonedSet:
    """Return the memories of `cases`, a minute apart, the false ones last."""
    texts = [(place, case.validated) for place, case in enumerate(cases)]
    texts += [(place, text) for place, case in enumerate(cases) for text in case.planted(variant)]
    documents = tuple(
        Document(text, START + timedelta(minutes=number)) for number, (_, text) in enumerate(texts)
    )
    return PoisonedSet(documents, len(cases), tuple(place for place, _ in texts))
