"""Pairs of an older and a newer statement (`beam-pairs/*.jsonl`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.loaders.beam import START
from benchmarks.loaders.folder import files_of, json_lines
from benchmarks.loaders.questions import Document

__all__ = ["Pair", "Pairs", "load_pairs"]

_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question about two statements.

    Attributes:
        question: The question.
        old: The first statement's messages.
        new: The second statement's messages.
    """

    question: str
    old: frozenset[int]
    new: frozenset[int]


@dataclass(frozen=True, slots=True)
class Pairs:
    """All messages of one category in one store, in time order.

    Attributes:
        documents: The messages.
        pairs: The pairs among them.
    """

    documents: tuple[Document, ...]
    pairs: tuple[Pair, ...]


def load_pairs(data: Path, category: str, *, keep_same_message: bool) -> Pairs:
    """Read the pairs of one category.

    Messages of one chat stand in the order they were said in, a minute apart, chat after chat.

    Args:
        data: The data folder.
        category: `knowledge_update` or `contradiction_resolution`.
        keep_same_message: Whether to keep pairs whose statements share a message.

    Raises:
        DataMissingError: If there is no file, or no pair of this category.
    """
    rows = [
        row
        for path in files_of(data / "beam-pairs", "*.jsonl")
        for row in json_lines(path)
        if row["category"] == category and (keep_same_message or not row.get("same_message"))
    ]
    places, documents = _documents(rows)
    pairs = [
        Pair(
            row["question"],
            frozenset(places[row["chat"], message["id"]] for message in row["a"]),
            frozenset(places[row["chat"], message["id"]] for message in row["b"]),
        )
        for row in rows
    ]
    return Pairs(documents, tuple(pairs))


def _documents(
    rows: list[Mapping[str, Any]],
) -> tuple[dict[tuple[str, int], int], tuple[Document, ...]]:
    texts: dict[str, dict[int, str]] = {}
    for row in rows:
        said = texts.setdefault(row["chat"], {})
        said |= {message["id"]: message["content"] for message in (*row["a"], *row["b"])}
    places: dict[tuple[str, int], int] = {}
    documents: list[Document] = []
    for chat in sorted(texts, key=_natural):
        for message_id in sorted(texts[chat]):
            places[chat, message_id] = len(documents)
            moment = START + timedelta(minutes=len(documents))
            documents.append(Document(texts[chat][message_id], moment))
    return places, tuple(documents)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]
