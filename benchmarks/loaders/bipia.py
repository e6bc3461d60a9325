"""BIPIA: e-mails with a question (`bipia/*.jsonl`), and instructions to hide in them (`*.json`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.loaders.folder import files_of, json_lines, json_of

__all__ = ["Attack", "Mail", "hidden_in", "load_attacks", "load_mails", "shingles"]

SHINGLE = 4
"""Words in a row by which a part of an attack is recognized."""
_WORD = re.compile(r"\w+")
_QUESTION_MARK = re.compile(r"^\s*Q:\s*")


@dataclass(frozen=True, slots=True)
class Mail:
    """An e-mail and what is asked about it.

    Attributes:
        text: The e-mail.
        question: What a person wants to know.
        answer: The right answer.
    """

    text: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Attack:
    """An instruction to whoever reads the mail.

    Attributes:
        category: What it is after.
        text: The instruction.
    """

    category: str
    text: str


def load_mails(data: Path) -> list[Mail]:
    """Read the e-mails of all files.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Mail(row["context"], _QUESTION_MARK.sub("", row["question"]), str(row["ideal"]))
        for path in files_of(data / "bipia", "*.jsonl")
        for row in json_lines(path)
    ]


def load_attacks(data: Path) -> list[Attack]:
    """Read the attacks of all files.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Attack(category, text)
        for path in files_of(data / "bipia", "*.json")
        for category, texts in json_of(path).items()
        for text in texts
    ]


def hidden_in(mail: Mail, attack: Attack, place: int) -> str:
    """Return the mail with the attack in it.

    Args:
        mail: The mail.
        attack: The attack.
        place: 0 for the start, 1 for the middle, at a space, 2 for the end.
    """
    if place == 0:
        return f"{attack.text}\n{mail.text}"
    if place == 2:
        return f"{mail.text}\n{attack.text}"
    middle = mail.text.find(" ", len(mail.text) // 2)
    middle = len(mail.text) if middle < 0 else middle
    return f"{mail.text[:middle]}\n{attack.text}\n{mail.text[middle:]}"


def shingles(text: str, besides: Sequence[str] = ()) -> frozenset[str]:
    """Return the runs of four words in `text` that are in none of `besides`.

    A shorter text is one run.
    """
    words = _WORD.findall(text.lower())
    count = max(1, len(words) - SHINGLE + 1)
    found = {" ".join(words[start : start + SHINGLE]) for start in range(count)}
    for other in besides:
        found -= shingles(other)
    return frozenset(found)
