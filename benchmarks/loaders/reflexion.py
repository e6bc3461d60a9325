"""Reflexion on HotpotQA: the same questions tried again and again (`reflexion/*.jsonl`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loaders.folder import files_of, json_lines
from hindsight_core.runs.readers import read_run
from hindsight_core.trajectory import Trajectory

__all__ = ["Trial", "load_trials"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at a question.

    Attributes:
        question: The question.
        number: Which attempt, counted from 1.
        trajectory: What happened, with the validator's outcome.
        reflections: What the model wrote about it, as it stands with the next attempt.
        later: How the next attempt ended, `""` if there was none.
    """

    question: str
    number: int
    trajectory: Trajectory
    reflections: tuple[str, ...]
    later: str


def load_trials(data: Path) -> list[Trial]:
    """Read all attempts in the order they were made in.

    An attempt after a right answer that repeats it to the letter was not made: the log only
    carries the answer on. An attempt without a step can't be reflected on and is left out.

    Raises:
        DataMissingError: If there is no file.
    """
    trials: list[Trial] = []
    for path in files_of(data / "reflexion", "*.jsonl"):
        by_question: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in json_lines(path):
            by_question[row["question"]].append(row)
        for rows in by_question.values():
            trials += _trials(_made(rows), path.stem)
    return sorted(trials, key=lambda trial: trial.number)


def _made(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    made: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: int(row["trial"])):
        carried = bool(made) and made[-1]["outcome"] == "correct"
        if row["steps"] and not (carried and row["steps"] == made[-1]["steps"]):
            made.append(row)
    return made


def _trials(rows: Sequence[Mapping[str, Any]], stem: str) -> list[Trial]:
    trials: list[Trial] = []
    for place, row in enumerate(rows):
        following = rows[place + 1] if place + 1 < len(rows) else None
        known = len(row["reflections"])
        written = tuple(following["reflections"][known:]) if following else ()
        trials.append(
            Trial(
                question=row["question"],
                number=int(row["trial"]),
                trajectory=read_run(row, format="reflexion", stem=stem),
                reflections=written,
                later=following["outcome"] if following else "",
            )
        )
    return trials
