"""Runs of agent benchmarks: tau-bench results and SWE-agent trajectories.

What the benchmark knows and the agent did not (instructions for the simulated user, expected
actions) stays out of the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hindsight_core.content import as_text
from hindsight_core.failure_signs import looks_like_error
from hindsight_core.messages import steps_from_messages
from hindsight_core.runs.readers.base import Source, require, short
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Outcome, Trajectory

__all__ = ["read_swe_agent", "read_tau_bench"]

STOP = "###STOP###"
"""What the simulated user of tau-bench says to end the talk; nobody said it."""

SWE_COMMANDS = frozenset(
    [
        *("open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "set_cursors"),
        *("submit", "search_dir", "search_file", "find_file", "disassemble", "decompile"),
        *("connect_start", "connect_sendline", "connect_exec", "debug_start"),
        "str_replace_editor",
    ]
)
"""Commands of SWE-agent's own; every other action is a shell command."""

SWE_FAILURES = (
    "Your proposed edit has introduced new syntax error",
    "Your edit was not applied",
    "Wrong flag",
    "EXECUTION TIMED OUT",
    "COMMAND TIMED OUT",
)
"""What an observation of SWE-agent starts with when the action failed."""


def read_tau_bench(value: Any, source: Source) -> Trajectory:
    """Read one result of tau-bench: `{task_id, reward, info, traj, trial}`.

    Reward 1 is a success, 0 a failure, anything between partial; the validator says so.
    """
    require(isinstance(value, Mapping), f"{short(value)} is no tau-bench result")
    messages = value.get("traj")
    require(isinstance(messages, list), "the tau-bench result has no list under 'traj'")
    said = [m for m in messages or [] if not _is_stop(m)]
    info = value.get("info")
    error = as_text(info.get("error")) if isinstance(info, Mapping) else ""
    steps = steps_from_messages(said)
    if error:
        steps = (*steps, Step("error", error))
    require(bool(steps), "the tau-bench result has no steps")
    task, trial = value.get("task_id"), value.get("trial", 0)
    return Trajectory(
        run_id=f"tau-{source.stem}-task{as_text(task)}-trial{as_text(trial)}",
        steps=steps,
        outcome=_reward_outcome(value.get("reward"), error),
        metadata={"format": "tau-bench", "task_id": as_text(task), "trial": as_text(trial)},
    )


def _is_stop(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("content") == STOP


def _reward_outcome(reward: Any, error: str) -> Outcome:
    if error:
        return Outcome("failure", "exception", error[:300])
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
        return Outcome("unknown", "rule", "no reward recorded")
    reason = f"reward {reward:g}"
    if reward >= 1 - 1e-6:
        return Outcome("success", "validator", reason)
    return Outcome("failure" if reward <= 0 else "partial", "validator", reason)


def read_swe_agent(value: Any, source: Source) -> Trajectory:
    """Read a SWE-agent `.traj`: `{trajectory: [{action, observation, thought}], info, history}`.

    That a patch was submitted says nothing of its worth, so `submitted` is `unknown`; an exit
    on a limit is `incomplete`.
    """
    require(isinstance(value, Mapping), f"{short(value)} is no SWE-agent trajectory")
    turns = value.get("trajectory")
    require(isinstance(turns, list), "the SWE-agent trajectory has no list under 'trajectory'")
    opening = _opening(value.get("history"))
    steps = list(opening)
    for index, turn in enumerate(turns or []):
        require(isinstance(turn, Mapping), f"turn {index} is {short(turn)}, not an object")
        steps += _turn_steps(index, turn)
    require(bool(steps), "the SWE-agent trajectory has no steps")
    asked = next((step.text for step in opening if step.kind == "user"), "")
    info = value.get("info")
    return Trajectory(
        run_id=f"swe-{source.stem}",
        steps=tuple(steps),
        outcome=_exit_outcome(info.get("exit_status") if isinstance(info, Mapping) else None),
        task=_issue(asked),
        task_type="coding",
        metadata={"format": "swe-agent", "environment": as_text(value.get("environment"))},
    )


def _opening(history: Any) -> list[Step]:
    """Return what the agent was told at the start, without demonstrations."""
    found: list[Step] = []
    for message in history if isinstance(history, list) else []:
        if not isinstance(message, Mapping) or message.get("role") not in ("system", "user"):
            break
        if not message.get("is_demo"):
            plain = {"role": message["role"], "content": message.get("content")}
            found += steps_from_messages([plain])
    return found


def _turn_steps(index: int, turn: Mapping[str, Any]) -> list[Step]:
    thought = as_text(turn.get("thought")).strip()
    action = as_text(turn.get("action")).strip()
    if not action:
        text = thought or as_text(turn.get("response")).strip()
        said = as_text(turn.get("observation"))
        return [Step("assistant", text), *([Step("note", said)] if said else [])]
    call = _swe_call(f"call_{index}", action)
    text = as_text(turn.get("observation"))
    failed = looks_like_error(text) or text.lstrip().startswith(SWE_FAILURES)
    return [
        Step("assistant", thought, tool_calls=(call,)),
        Step("tool_result", text, (), call.id, call.name, is_error=failed),
    ]


def _swe_call(call_id: str, action: str) -> ToolCall:
    name = action.split(maxsplit=1)[0]
    if name not in SWE_COMMANDS:
        return ToolCall(call_id, "bash", {"command": action})
    rest = action[len(name) :].strip()
    return ToolCall(call_id, name, {"input": rest} if rest else {})


def _issue(asked: str) -> str:
    """Return the issue of a SWE-agent prompt without the instructions around it."""
    issue = asked.partition("\nINSTRUCTIONS:")[0]
    return issue.partition("ISSUE:\n")[2].strip() or issue.strip()


def _exit_outcome(status: Any) -> Outcome:
    text = as_text(status).strip()
    if not text:
        return Outcome("incomplete", "rule", "no exit status recorded")
    reason = f"exit status: {text}"
    if text == "submitted":
        return Outcome("unknown", "rule", reason)
    if "forfeit" in text or "skip" in text:
        return Outcome("abandoned", "rule", reason)
    return Outcome("incomplete", "exception" if "error" in text.lower() else "rule", reason)
