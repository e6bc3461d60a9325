"""XQuAD: paragraphs and questions in several languages (`xquad/xquad.LANGUAGE.json`)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from benchmarks.errors import DataMissingError
from benchmarks.loaders.folder import json_of
from benchmarks.loaders.questions import Corpus, Document, Question

__all__ = ["load_xquad"]

IMPORTED = datetime(2024, 1, 1, tzinfo=UTC)
"""All paragraphs were imported together, so none is newer than another."""


def load_xquad(data: Path, language: str) -> Corpus | None:
    """Read the paragraphs and questions of one language, `None` if its file is absent.

    Paragraphs and questions are in the same order in every language.

    Raises:
        DataMissingError: If the folder holds no language at all.
    """
    folder = data / "xquad"
    if not any(folder.glob("xquad.*.json")):
        raise DataMissingError(folder, "xquad.*.json")
    path = folder / f"xquad.{language}.json"
    if not path.is_file():
        return None
    documents: list[Document] = []
    questions: list[Question] = []
    for article in json_of(path)["data"]:
        for paragraph in article["paragraphs"]:
            gold = frozenset({len(documents)})
            questions += [Question(asked["question"], gold) for asked in paragraph["qas"]]
            documents.append(Document(paragraph["context"], IMPORTED))
    return Corpus(language, tuple(documents), tuple(questions))
