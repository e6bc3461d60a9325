"""LoCoMo: conversations over many sessions (`locomo/*.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.loaders.folder import files_of, json_of
from benchmarks.loaders.questions import Corpus, Document, Question

__all__ = ["load_locomo"]

CATEGORIES = (1, 2, 3, 4)
"""Categories with an answer in the conversation; 5 asks for what was never said."""
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D\d+:\d+")


def load_locomo(data: Path) -> list[Corpus]:
    """Read every conversation, one memory per turn.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        _corpus(sample, f"{path.stem}-{sample.get('sample_id', position)}")
        for path in files_of(data / "locomo", "*.json")
        for position, sample in enumerate(json_of(path))
    ]


def _corpus(sample: Mapping[str, Any], name: str) -> Corpus:
    documents: list[Document] = []
    places: dict[str, int] = {}
    for number, date, turns in _sessions(sample["conversation"]):
        for position, turn in enumerate(turns):
            places[turn["dia_id"]] = len(documents)
            documents.append(Document(_text(turn), date, f"{name}-{number}", position))
    questions = [
        Question(asked["question"], gold)
        for asked in sample["qa"]
        if asked["category"] in CATEGORIES and (gold := _gold(asked, places))
    ]
    return Corpus(name, tuple(documents), tuple(questions))


def _sessions(conversation: Mapping[str, Any]) -> Iterator[tuple[int, datetime, list[Any]]]:
    numbers = sorted(int(m.group(1)) for key in conversation if (m := _SESSION.fullmatch(key)))
    for number in numbers:
        told = conversation[f"session_{number}_date_time"]
        date = datetime.strptime(told, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        yield number, date, conversation[f"session_{number}"]


def _text(turn: Mapping[str, Any]) -> str:
    shown = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [shares {shown}]" if shown else "")


def _gold(asked: Mapping[str, Any], places: Mapping[str, int]) -> frozenset[int]:
    named = [place for text in asked.get("evidence", []) for place in _EVIDENCE.findall(text)]
    return frozenset(places[place] for place in named if place in places)
