"""Runs that were written down as text: Thought/Action/Observation, and `> action` games.

Also the rows of Reflexion (`question`, `steps`, `outcome`) and of KnowAgent (`name`, `result`,
`traj`), which hold the same in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hindsight_core.content import as_text, read_arguments
from hindsight_core.failure_signs import looks_like_error
from hindsight_core.runs.readers.base import (
    PENDING_ID,
    Source,
    content_id,
    read_outcome,
    require,
    short,
)
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Outcome, Trajectory

__all__ = ["is_react_text", "read_react", "read_reflexion", "split_react"]

Part: TypeAlias = tuple[str, str]
"""A kind (`task`, `thought`, `action`, `input`, `observation`, `answer`) and its text."""

LABELS = {
    "question": "task",
    "task": "task",
    "thought": "thought",
    "action": "action",
    "action input": "input",
    "observation": "observation",
    "final answer": "answer",
    "问题": "task",
    "任务": "task",
    "思考": "thought",
    "行动": "action",
    "动作": "action",
    "行动输入": "input",
    "观察": "observation",
    "最终答案": "answer",
}
_LABELED = re.compile(
    rf"^[ \t]*({'|'.join(sorted(LABELS, key=len, reverse=True))})[ \t]*\d{{0,4}}[ \t]*[:：][ \t]?",
    re.IGNORECASE,
)
_SAYS_LABELED = re.compile(
    r"^[ \t]*(?:thought|action|observation|思考|行动|动作|观察)[ \t]*\d{0,4}[ \t]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
"""Tells a log with labels from a game of `> commands`."""

_COMMAND = re.compile(r"^>[ \t]?(think|actionpath)?(?![a-z])[ \t]*:?[ \t]*", re.IGNORECASE)
_YOUR_TASK = re.compile(r"^Your task is to:[ \t]*(.*)", re.MULTILINE)
_BRACKETS = re.compile(r"(\w+)[ \t]*\[(.*)\][ \t.]*", re.DOTALL)
_STARTS_RUN = re.compile(
    r"^(?:question[ \t]*[:：]|问题[:：]|you are in the middle of a room)", re.I
)
_FAILED = ("Nothing happens", "Could not find", "Invalid action", "Invalid Action", "No Results")
"""What an observation starts with when the action came to nothing."""

_OUTCOMES = {
    "correct": Outcome("success", "validator", "answer is correct"),
    "incorrect": Outcome("failure", "validator", "answer is incorrect"),
    "halted": Outcome("incomplete", "validator", "halted without an answer"),
}


def read_reflexion(value: Any, source: Source) -> Trajectory:
    """Read a row of Reflexion: `{trial, question, outcome, steps: [{kind, text}]}`.

    The right answer and reflections made elsewhere are not part of what happened, and stay out.
    """
    require(isinstance(value, Mapping), f"{short(value)} is no Reflexion row")
    listed = value.get("steps")
    require(isinstance(listed, list) and bool(listed), "the Reflexion row has no steps")
    question = as_text(value.get("question"))
    parts: list[Part] = [("task", question)] if question else []
    for index, step in enumerate(listed or []):
        require(isinstance(step, Mapping), f"step {index} is {short(step)}, not an object")
        parts.append((as_text(step.get("kind")).lower(), as_text(step.get("text"))))
    told = value.get("outcome")
    known = _OUTCOMES.get(told) if isinstance(told, str) else None
    trial = as_text(value.get("trial", 0))
    return Trajectory(
        run_id=f"{source.stem}-trial{trial}-{content_id(question)[4:16]}",
        steps=_steps(parts),
        outcome=known or read_outcome(value),
        metadata={"format": "reflexion", "trial": trial},
    )


def read_react(value: Any, source: Source) -> Trajectory:
    """Read a log as text, or a row `{name?, result?, traj}` that holds one.

    A true `result` is a success and a false one a failure; the validator says so.
    """
    row: Mapping[str, Any] = value if isinstance(value, Mapping) else {"traj": value}
    text = row.get("traj")
    require(isinstance(text, str), f"{short(value)} has no text under 'traj'")
    steps = _steps(_parts(as_text(text)))
    told = next((_YOUR_TASK.search(step.text) for step in steps if step.kind == "user"), None)
    return Trajectory(
        run_id=as_text(row.get("name")).strip() or PENDING_ID,
        steps=steps,
        outcome=_result_outcome(row),
        task=told.group(1).strip() if told else "",
        metadata={"format": "react"},
    )


def is_react_text(text: str) -> bool:
    """Whether `text` holds at least one action with something around it."""
    kinds = {kind for kind, _ in _parts(text)}
    return "action" in kinds and bool(kinds & {"thought", "observation"})


def split_react(text: str) -> Iterator[tuple[int, str]]:
    """Cut a log of several runs where a new task starts; gives line numbers and texts."""
    start = 1
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if _STARTS_RUN.match(line) and any(kept.strip() for kept in lines):
            yield start, "".join(lines)
            start, lines = number, []
        lines.append(line)
    yield start, "".join(lines)


def _result_outcome(row: Mapping[str, Any]) -> Outcome:
    result = row.get("result")
    if isinstance(result, bool) or result in (0, 1):
        label = "success" if result else "failure"
        return Outcome(label, "validator", f"result {result}")  # type: ignore[arg-type] # checked
    return read_outcome(row)


def _parts(text: str) -> Iterator[Part]:
    """Cut a log into its parts; unmarked lines belong to what stands before them."""
    kind, has_begun = "preamble", False
    lines: list[str] = []
    is_labeled = bool(_SAYS_LABELED.search(text))
    for line in text.splitlines():
        found = _label(line, has_begun) if is_labeled else _command(line)
        if found is None and kind == "command":
            found = ("observation", line)
        if found is None:
            lines.append(line)
            continue
        yield from _finished(kind, lines)
        kind, lines = found[0], [found[1]]
        has_begun = has_begun or kind in ("action", "command")
    yield from _finished(kind, lines)


def _label(line: str, has_begun: bool) -> Part | None:
    """Read the label that a line starts with; a task is only given before the first action."""
    found = _LABELED.match(line)
    if not found:
        return None
    kind = LABELS[found.group(1).lower()]
    return None if kind == "task" and has_begun else (kind, line[found.end() :])


def _command(line: str) -> Part | None:
    found = _COMMAND.match(line)
    if not found:
        return None
    return "thought" if found.group(1) else "command", line[found.end() :]


def _finished(kind: str, lines: list[str]) -> Iterator[Part]:
    text = "\n".join(lines).strip()
    if text:
        yield "action" if kind == "command" else kind, text


@dataclass(slots=True)
class _Log:
    """Steps made of parts: thoughts join the next action, an observation answers the last."""

    steps: list[Step] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    call: ToolCall | None = None

    def add(self, kind: str, text: str) -> None:
        """Take one part."""
        if kind == "thought":
            self.thoughts.append(text)
        elif kind == "action":
            self.act(text)
        elif kind == "input" and self.call is not None:
            self.call = _with_input(self.call, text)
            self.steps[-1] = replace(self.steps[-1], tool_calls=(self.call,))
        elif kind == "observation":
            self.observe(text)
        elif kind == "answer":
            self.say(text)
        else:
            self.steps.append(Step("user", text))

    def act(self, text: str) -> None:
        """Call a tool."""
        self.close()
        self.call = _call(len(self.steps), text)
        self.steps.append(Step("assistant", self._thought(), tool_calls=(self.call,)))

    def observe(self, text: str) -> None:
        """Answer the open call; what answers none is a note."""
        if self.call is None:
            self.steps.append(Step("note", text))
            return
        failed = looks_like_error(text) or text.startswith(_FAILED)
        self.steps.append(
            Step("tool_result", text, (), self.call.id, self.call.name, is_error=failed)
        )
        self.call = None

    def say(self, text: str) -> None:
        """Say something that calls no tool."""
        self.close()
        self.steps.append(Step("assistant", "\n".join(filter(None, [self._thought(), text]))))

    def close(self) -> None:
        """Note that the open call was never answered."""
        if self.call is not None:
            text = f"no result recorded for {self.call.name}"
            self.steps.append(
                Step("note", text, tool_call_id=self.call.id, tool_name=self.call.name)
            )
            self.call = None

    def _thought(self) -> str:
        text = "\n".join(self.thoughts)
        self.thoughts.clear()
        return text


def _steps(parts: Iterable[Part]) -> tuple[Step, ...]:
    log = _Log()
    for kind, text in parts:
        log.add(kind, text)
    if log.thoughts:
        log.say("")
    log.close()
    has_acted = any(step.kind == "assistant" for step in log.steps)
    require(has_acted, "the log has no thought, action or answer")
    return tuple(log.steps)


def _call(index: int, text: str) -> ToolCall:
    """Read an action: `Search[x]`, or a verb and what follows it."""
    call_id, bracketed = f"call_{index}", _BRACKETS.fullmatch(text)
    name, _, rest = text.partition(" ")
    if bracketed:
        name, rest = bracketed.group(1), bracketed.group(2)
    return ToolCall(call_id, name.strip(), {"input": rest.strip()} if rest.strip() else {})


def _with_input(call: ToolCall, text: str) -> ToolCall:
    """Return a call with the arguments that stand on a line of their own."""
    arguments = read_arguments(text)
    given = " ".join([call.name, *map(str, call.arguments.values())])
    return ToolCall(call.id, given, {"input": text} if "_raw" in arguments else arguments)
