"""BEAM: long chats with an assistant (`beam-100k/*/chat.json` and `probing_questions.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.loaders.folder import files_of, json_of
from benchmarks.loaders.questions import Corpus, Document, Question

__all__ = ["LONGEST", "START", "load_beam", "plain_message"]

START = datetime(2024, 1, 1, tzinfo=UTC)
"""When the first message was said; the set gives few dates, so the order tells the time."""
LONGEST = 20_000
"""Characters of a message that are kept, for all systems: a memory holds no more."""
_MARK = re.compile(r"\s*->->\s*[\d,\s]+$")


def load_beam(data: Path) -> list[Corpus]:
    """Read every chat, one memory per message of either side, a minute apart.

    Raises:
        DataMissingError: If there is no chat.
    """
    return [_corpus(path) for path in files_of(data / "beam-100k", "*/chat.json")]


def plain_message(content: str) -> str:
    """Return a message without the number that the set appends to some, cut if it is long."""
    return _MARK.sub("", content)[:LONGEST]


def _corpus(path: Path) -> Corpus:
    documents: list[Document] = []
    places: dict[int, int] = {}
    for message in _messages(json_of(path)):
        places[message["id"]] = len(documents)
        moment = START + timedelta(minutes=len(documents))
        documents.append(Document(plain_message(message["content"]), moment))
    asked = json_of(path.parent / "probing_questions.json")
    questions = [
        Question(question["question"], gold)
        for group in asked.values()
        for question in group
        if (gold := _gold(question, places))
    ]
    return Corpus(path.parent.name, tuple(documents), tuple(questions))


def _messages(batches: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        for turn in batch["turns"]:
            yield from turn


def _gold(question: Mapping[str, Any], places: Mapping[int, int]) -> frozenset[int]:
    return frozenset(places[i] for i in _ids(question.get("source_chat_ids")) if i in places)


def _ids(value: Any) -> Iterator[int]:
    """Yield the ids in a list, or in a dict of lists."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _ids(inner)
    elif isinstance(value, int):
        yield value
