"""Sets of finished runs: tau-bench (`tau-bench/*.json`), ALFWorld (`knowagent/*.jsonl`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.loaders.folder import files_of
from hindsight_core.runs.readers import read_runs
from hindsight_core.trajectory import Trajectory

__all__ = ["Run", "load_alfworld", "load_tau_bench"]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Attributes:
        trajectory: What happened; its outcome is what the set's validator said.
        group: What counts as the same: a task, or a type of task.
    """

    trajectory: Trajectory
    group: str

    @property
    def succeeded(self) -> bool:
        """Whether the validator was content."""
        return self.trajectory.outcome.label == "success"


def load_tau_bench(data: Path) -> list[Run]:
    """Read all trials; the same task of one file is one group.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Run(trajectory, f"{path.stem}/{trajectory.metadata['task_id']}")
        for path in files_of(data / "tau-bench", "*.json")
        for trajectory in read_runs(path, format="tau-bench")
    ]


def load_alfworld(data: Path) -> list[Run]:
    """Read all games; the type of task, with which a game's name begins, is the group.

    Raises:
        DataMissingError: If there is no file.
    """
    return [
        Run(trajectory, trajectory.run_id.partition("-")[0])
        for path in files_of(data / "knowagent", "*.jsonl")
        for trajectory in read_runs(path, format="react", on_problem=lambda problem: None)
    ]
