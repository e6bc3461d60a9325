"""A small agent that fails, looks back, and does better: real tools, real errors, real memory.

The agent's model is scripted, and says so: `ScriptedPolicy` follows a fixed list of encodings
and knows nothing else, but it reads the brief it is handed. Everything around it is real: the
file is not UTF-8, the tool raises what Python raises, and the lesson goes through reflection,
the store and retrieval like any other.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from hindsight_core.models import Brief
from hindsight_core.trajectory import OutcomeLabel, Trajectory

__all__ = [
    "Action",
    "Cost",
    "DemoRun",
    "ScriptedPolicy",
    "Task",
    "call_tool",
    "demo_tasks",
    "encoding_from_brief",
    "run_agent",
    "write_sales_files",
]

Message: TypeAlias = dict[str, Any]
COLUMN = "金额"
ENCODINGS = ("utf-8", "utf-16", "gb18030")
"""What the scripted policy tries, in this order, when nothing tells it better."""

_NORTH = (("华北", "一月", 1280), ("华北", "二月", 1745), ("东北", "一月", 960))
_SOUTH = (("华南", "一月", 2100), ("华南", "二月", 1650), ("西南", "一月", 875))


@dataclass(frozen=True, slots=True)
class Task:
    """Something the agent is asked.

    Attributes:
        request: What the user says.
        file: Name of the file it is about, `""` if none.
        expected: What a right answer holds; the demo's validator looks for it.
    """

    request: str
    file: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What the policy decides: a call of a tool, or an answer where `tool` is `""`."""

    text: str
    tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost.

    Attributes:
        steps: Turns of the model.
        tool_calls: Calls of tools.
        failed_calls: Calls among them that raised.
        tokens: Tokens of everything sent to the model and answered by it, the brief included.
    """

    steps: int
    tool_calls: int
    failed_calls: int
    tokens: int


@dataclass(frozen=True, slots=True)
class DemoRun:
    """One run of the demo's agent, with the brief it was handed."""

    task: Task
    brief: Brief
    trajectory: Trajectory
    cost: Cost


def write_sales_files(folder: Path) -> None:
    """Write two tables into `folder`, encoded in GB18030 as many office programs in China do."""
    for name, rows in (("sales_north.csv", _NORTH), ("sales_south.csv", _SOUTH)):
        lines = [("地区", "月份", COLUMN), *rows]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        (folder / name).write_bytes(text.encode("gb18030"))


def demo_tasks() -> tuple[Task, Task, Task]:
    """Return the task that teaches, the similar one, and an unrelated one."""
    return (
        Task(
            "Load sales_north.csv and tell me the total",
            "sales_north.csv",
            str(sum(row[2] for row in _NORTH)),
        ),
        Task(
            "Load sales_south.csv and tell me the total",
            "sales_south.csv",
            str(sum(row[2] for row in _SOUTH)),
        ),
        Task("Suggest a birthday present for my grandmother"),
    )


def call_tool(folder: Path, name: str, arguments: Mapping[str, str]) -> str:
    """Run a tool of the demo for real.

    Raises:
        UnicodeDecodeError: If the file is not in the encoding that was asked for.
    """
    text = (folder / arguments["path"]).read_bytes().decode(arguments["encoding"])
    rows = list(csv.DictReader(io.StringIO(text)))
    if name == "read_csv":
        return f"{len(rows)} rows; columns: {', '.join(rows[0])}"
    return str(sum(int(row[arguments["column"]]) for row in rows))


def encoding_from_brief(text: str) -> str:
    """Return the encoding that a brief recommends, `""` if it recommends none.

    Of all encodings that a line about `read_csv` names, the recommended one is the last that
    the line does not call a failure.
    """
    for line in text.splitlines():
        if "read_csv" not in line:
            continue
        advice: list[str] = [name for name in _RECOMMENDED.findall(line) if _is_encoding(name)]
        if advice:
            return advice[-1]
    return ""


_RECOMMENDED = re.compile(r"""encoding["']?\s*[:=]\s*["']?([A-Za-z][\w.-]*\w)""")


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True


class ScriptedPolicy:
    """A stand-in for a model: fixed rules, no knowledge but the brief."""

    def next_action(self, task: Task, brief: str, errors: int, results: Sequence[str]) -> Action:
        """Decide what to do next.

        Args:
            task: What was asked.
            brief: The text that was put into the prompt, `""` if none.
            errors: How many calls of `read_csv` have failed in this run.
            results: What the tools returned so far.
        """
        if not task.file:
            return Action("A large-print puzzle book, or an afternoon together in a garden.")
        advised = encoding_from_brief(brief)
        order = (advised, *(e for e in ENCODINGS if e != advised)) if advised else ENCODINGS
        encoding = order[min(errors, len(order) - 1)]
        arguments = {"path": task.file, "encoding": encoding}
        if not results:
            return Action(f"Reading {task.file} as {encoding}.", "read_csv", arguments)
        if len(results) == 1:
            return Action(f"Adding up {COLUMN}.", "column_total", {**arguments, "column": COLUMN})
        return Action(f"The total is {results[-1]}.")


def run_agent(
    task: Task,
    brief: Brief,
    *,
    folder: Path,
    run_id: str,
    count_tokens: Callable[[str], int],
    watch: Callable[[Action, str, bool], None] = lambda action, result, failed: None,
) -> DemoRun:
    """Let the scripted agent do `task`, and record the run.

    Args:
        task: What is asked.
        brief: What memory has to say; it is handed to the policy and not recorded.
        folder: Where the files are.
        run_id: Id of the run.
        count_tokens: Counts the tokens of a text.
        watch: Called after each step with the action, the result and whether it failed.
    """
    policy = ScriptedPolicy()
    messages: list[Message] = [{"role": "user", "content": task.request}]
    results: list[str] = []
    errors = calls = steps = tokens = 0
    while True:
        action = policy.next_action(task, brief.text, errors, results)
        steps += 1
        tokens += count_tokens(brief.text + json.dumps([*messages, action.text], default=str))
        if not action.tool:
            break
        calls += 1
        messages.append(_asked(action, calls))
        try:
            result, failed = call_tool(folder, action.tool, action.arguments), False
            results.append(result)
        except UnicodeDecodeError as error:
            result, failed = f"{type(error).__name__}: {error}", True
            errors += 1
        messages.append(_answered(action, calls, result, failed=failed))
        watch(action, result, failed)
    messages.append({"role": "assistant", "content": action.text})
    watch(action, "", False)
    return DemoRun(
        task, brief, _recorded(task, messages, run_id), Cost(steps, calls, errors, tokens)
    )


def _asked(action: Action, number: int) -> Message:
    function = {
        "name": action.tool,
        "arguments": json.dumps(dict(action.arguments), ensure_ascii=False),
    }
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": action.text, "tool_calls": [call]}


def _answered(action: Action, number: int, result: str, *, failed: bool) -> Message:
    message = {
        "role": "tool",
        "tool_call_id": f"call_{number}",
        "name": action.tool,
        "content": result,
    }
    return {**message, "status": "error"} if failed else message


def _recorded(task: Task, messages: list[Message], run_id: str) -> Trajectory:
    if not task.expected:
        return Trajectory.from_messages(messages, run_id=run_id)
    right = task.expected in str(messages[-1]["content"])
    outcome: OutcomeLabel = "success" if right else "failure"
    return Trajectory.from_messages(
        messages,
        run_id=run_id,
        outcome=outcome,
        outcome_source="validator",
        outcome_reason=f"the expected total is {task.expected}",
    )
