"""`hindsight demo`: the demo's three runs, shown as they happen."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from rich.padding import Padding
from rich.table import Table

from hindsight_core.cli.output import Output, make_table, plain
from hindsight_core.cli.session import Target, open_memory
from hindsight_core.clock import new_run_id
from hindsight_core.demo import Action, Cost, DemoRun, demo_tasks, run_agent, write_sales_files
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Reflection

__all__ = ["Speaker", "demo"]

HEADINGS = (
    "1. A task, with an empty memory",
    "2. A similar task, with what the first one taught",
    "3. A task that has nothing to do with it",
)


def demo(options: argparse.Namespace, out: Output) -> int:
    """`hindsight demo`: an agent fails, looks back, and does better."""
    target = Target.of(options)
    with tempfile.TemporaryDirectory(prefix="hindsight-demo-") as scratch:
        files = Path(scratch, "files")
        files.mkdir()
        write_sales_files(files)
        if not hasattr(options, "path"):
            target = replace(target, path=Path(scratch, "memory"), url=None)
        with open_memory(target) as hindsight:
            runs, reflections = _play(hindsight, files, out)
    better = _is_better(runs)
    payload = {"runs": [_payload(*pair) for pair in zip(runs, reflections, strict=True)]}
    out.show({**payload, "learned": better}, lambda: [plain(""), _savings(runs), *_closing(better)])
    return 0 if better else 1


def _play(hindsight: Hindsight, files: Path, out: Output) -> tuple[list[DemoRun], list[Reflection]]:
    say = _speaker(out)
    say("The agent's model is scripted. Its tools, errors, lessons and memory are real.", "dim", 0)
    runs: list[DemoRun] = []
    reflections: list[Reflection] = []
    for heading, task in zip(HEADINGS, demo_tasks(), strict=True):
        say(f"\n{heading}", "bold", 0)
        say(f"user: {task.request}", "")
        run_id = new_run_id()
        brief = hindsight.brief(task.request, run_id=run_id)
        say(f"brief: {brief.text or 'empty'}", "cyan" if brief else "dim")
        run = run_agent(
            task,
            brief,
            folder=files,
            run_id=run_id,
            count_tokens=hindsight.count_tokens,
            watch=lambda action, result, failed: _watch(say, action, result, failed),
        )
        reflection = hindsight.reflect(run.trajectory)
        for memory in reflection.memories:
            say(f"learned: {memory.content}", "green")
        if not reflection.memories:
            say(f"{reflection.status.replace('_', ' ')}: {reflection.reason}", "dim")
        runs.append(run)
        reflections.append(reflection)
    return runs, reflections


class Speaker(Protocol):
    """Prints one thing that happened, indented, unless JSON is wanted."""

    def __call__(self, text: str, style: str, indent: int = 3) -> None:
        """Print `text` in `style`, all its lines `indent` columns to the right."""


def _speaker(out: Output) -> Speaker:
    def say(text: str, style: str, indent: int = 3) -> None:
        if not out.wants_json:
            out.say(Padding(plain(text, style), (0, 0, 0, indent), expand=False))

    return say


def _watch(say: Speaker, action: Action, result: str, failed: bool) -> None:
    if not action.tool:
        say(f"agent: {action.text}", "")
        return
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    say(f"{action.tool}({arguments})", "")
    say(f"{'✗' if failed else '✓'} {result}", "red" if failed else "", 5)


def _payload(run: DemoRun, reflection: Reflection) -> dict[str, Any]:
    return {
        "task": run.task.request,
        "answer": run.trajectory.steps[-1].text,
        "outcome": run.trajectory.outcome,
        "brief": run.brief.text,
        "cost": run.cost,
        "reflection": reflection,
    }


def _is_better(runs: list[DemoRun]) -> bool:
    first, second, unrelated = runs
    right = all(run.trajectory.outcome.label == "success" for run in (first, second))
    return right and second.cost.failed_calls < first.cost.failed_calls and not unrelated.brief


def _savings(runs: list[DemoRun]) -> Table:
    table = make_table(columns=("", "first time", "with the brief", "saved"))
    before, after = runs[0].cost, runs[1].cost
    for name, value in _ROWS:
        table.add_row(
            name, str(value(before)), str(value(after)), str(value(before) - value(after))
        )
    return table


_ROWS: tuple[tuple[str, Callable[[Cost], int]], ...] = (
    ("steps of the model", lambda cost: cost.steps),
    ("tool calls", lambda cost: cost.tool_calls),
    ("failed tool calls", lambda cost: cost.failed_calls),
    ("tokens, brief included", lambda cost: cost.tokens),
)


def _closing(better: bool) -> list[Any]:
    told = (
        "The second run read the lesson in its brief and asked for the right encoding at once."
        if better
        else "The second run did no better than the first; `hindsight doctor` may say why."
    )
    return [plain(""), plain(told)]
