"""WebArena: what people want of web sites (`webarena-tasks/*.json`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.loaders.folder import files_of, json_of

__all__ = ["Intent", "load_intents"]


@dataclass(frozen=True, slots=True)
class Intent:
    """One task.

    Attributes:
        text: What is wanted.
        template: Which template it was made of.
    """

    text: str
    template: int


def load_intents(data: Path) -> list[Intent]:
    """Read all tasks.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Intent(task["intent"], task["intent_template_id"])
        for path in files_of(data / "webarena-tasks", "*.json")
        for task in json_of(path)
    ]
