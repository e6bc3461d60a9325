"""Marks around what was recalled, so that it is not learned again.

A brief stands between `<hindsight-recall>` and `</hindsight-recall>`. The marks hold no braces
and no quotes, so they come through prompt templates and JSON unchanged; marks that were escaped
for JSON, HTML or a URL on the way are recognized too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hindsight_core.errors import ConfigurationError
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Trajectory

__all__ = ["MARK", "strip_marked", "strip_trajectory", "strip_value", "wrap"]

MARK = "hindsight-recall"
"""Name of the mark."""

_LESS = r"(?:<|&(?:amp;){0,8}(?:lt|\#0{0,4}60|\#x0{0,4}3c);|\\{1,8}(?:u003c|x3c)|%(?:25){0,4}3c)"
_MORE = r"(?:>|&(?:amp;){0,8}(?:gt|\#0{0,4}62|\#x0{0,4}3e);|\\{1,8}(?:u003e|x3e)|%(?:25){0,4}3e)"
_GAP = r"(?:\s|\\{1,8}[nrt]|%20|\+){0,20}"
_TOKEN = re.compile(
    rf"{_LESS}{_GAP}(?P<end>\\{{0,8}}/|%2f)?{_GAP}{MARK}(?![\w-])[^<>]{{0,120}}?(?:{_MORE}|\Z)",
    re.IGNORECASE,
)
_NAME = re.compile(re.escape(MARK), re.IGNORECASE)
_NONCE = re.compile(r"[A-Za-z0-9_.-]{0,64}")


def wrap(text: str, nonce: str = "") -> str:
    """Put `text` between the marks.

    The mark's name inside `text` is written with a space, whatever stands around it, so that
    text in a memory can't close its own block.

    Args:
        text: The brief.
        nonce: Goes into both marks, for example the recall's id: letters, digits, `_`, `.`, `-`,
            at most 64.

    Raises:
        ConfigurationError: If `nonce` holds anything else.
    """
    if not _NONCE.fullmatch(nonce):
        raise ConfigurationError(
            f"nonce {nonce!r} is not made of at most 64 letters, digits, '_', '.' and '-'"
        )
    named = f"{MARK} n={nonce}" if nonce else MARK
    inner = _NAME.sub(lambda found: found.group().replace("-", " "), text)
    return f"<{named}>{inner}</{named}>"


def strip_marked(text: str) -> str:
    """Remove every marked block with its marks and leave the rest untouched.

    A block that is not closed ends with the text; nested blocks go with the outermost; a
    closing mark without a block is removed alone.
    """
    if not _NAME.search(text):
        return text
    kept: list[str] = []
    depth, start = 0, 0
    for token in _TOKEN.finditer(text):
        if depth == 0:
            kept.append(text[start : token.start()])
        depth = max(0, depth - 1) if token.group("end") else depth + 1
        start = token.end()
    if depth == 0:
        kept.append(text[start:])
    return "".join(kept)


def strip_value(value: Any) -> Any:
    """Remove marked blocks from every text in JSON-like data."""
    if isinstance(value, str):
        return strip_marked(value)
    if isinstance(value, Mapping):
        return {key: strip_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_value(item) for item in value]
    return value


def strip_trajectory(trajectory: Trajectory) -> Trajectory:
    """Remove marked blocks from a run: its steps, the arguments of its calls and its task."""
    task = strip_marked(trajectory.task)
    return replace(
        trajectory,
        steps=tuple(_strip_step(step) for step in trajectory.steps),
        outcome=replace(trajectory.outcome, reason=strip_marked(trajectory.outcome.reason)),
        task=task if task == trajectory.task else task.strip(),
        metadata=strip_value(trajectory.metadata),
    )


def _strip_step(step: Step) -> Step:
    text, calls = strip_marked(step.text), step.tool_calls
    if calls:
        calls = tuple(ToolCall(c.id, c.name, strip_value(c.arguments)) for c in calls)
    if text == step.text and calls == step.tool_calls:
        return step  # as nearly all are
    return replace(step, text=text, tool_calls=calls)
