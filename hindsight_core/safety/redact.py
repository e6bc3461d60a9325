"""Secrets out of texts and runs before a model or a store sees them.

A secret becomes a mark such as `[redacted:aws_key]`; what stands around it is kept. Redacting
twice changes nothing more. The time grows with the length of the text and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hindsight_core.errors import ConfigurationError
from hindsight_core.safety.assignments import (
    find_assigned,
    find_options,
    kind_of_name,
    looks_secret,
)
from hindsight_core.safety.private_keys import find_private_keys
from hindsight_core.safety.tokens import RULES, TokenRule
from hindsight_core.steps import Step, ToolCall
from hindsight_core.trajectory import Trajectory

__all__ = ["Redacted", "Redactor"]

MAX_DEPTH = 100
"""Levels of nested data that are looked into; what lies deeper is taken out as a whole."""

MAX_ROUNDS = 8
"""Rounds over one text; two are enough but for made-up patterns that meet over a mark."""

_MARK = re.compile(r"\[redacted:[A-Za-z0-9_.-]{1,40}\]")
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,40}")
_ASSIGNMENT_HINTS = ("pass", "pwd", "key", "secret", "token", "密", "口令", "令牌")


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets.

    Attributes:
        text: The text, with a mark where each secret was.
        counts: How many secrets of each kind were taken out; empty if none.
    """

    text: str
    counts: Mapping[str, int] = field(default_factory=dict)


class Redactor:
    r"""Finds and marks secrets; safe to share between threads.

    ```python
    redactor = Redactor({"badge": r"EMP-\d{6}"})
    redactor.redact("EMP-123456 logged in").text  # "[redacted:badge] logged in"
    ```

    Args:
        extra_patterns: Further patterns, kind to regular expression. Where a pattern has a group
            named `secret`, only that group is replaced. A pattern runs over texts from
            outside: keep it free of nested repeats.

    Raises:
        ConfigurationError: If a kind is no short name, or a pattern is no regular expression or
            matches nothing at all.
    """

    def __init__(self, extra_patterns: Mapping[str, str] | None = None) -> None:
        extra = tuple(_extra_rule(kind, text) for kind, text in (extra_patterns or {}).items())
        self._extra = extra

    def redact(self, text: str) -> Redacted:
        """Take the secrets out of `text`."""
        if not self._extra and not _may_hold_secret(text):
            return Redacted(text, {})
        counts: Counter[str] = Counter()
        for _ in range(MAX_ROUNDS):
            before = counts.total()
            text = self._round(text, counts)
            if counts.total() == before:
                break
        return Redacted(text, dict(counts))

    def redact_value(self, value: Any) -> tuple[Any, Mapping[str, int]]:
        """Take the secrets out of JSON-like data, keys included.

        Under a key that names a secret (`password`, `api_key`) the text itself is one, whatever
        it looks like, unless it is a label or stands for nothing.
        """
        counts: Counter[str] = Counter()
        return self._deep(value, "", counts, 0), dict(counts)

    def redact_trajectory(self, trajectory: Trajectory) -> tuple[Trajectory, Mapping[str, int]]:
        """Take the secrets out of a run: steps, arguments, outcome, task and metadata."""
        counts: Counter[str] = Counter()
        clean = replace(
            trajectory,
            steps=tuple(self._step(step, counts) for step in trajectory.steps),
            outcome=replace(
                trajectory.outcome, reason=self._text(trajectory.outcome.reason, counts)
            ),
            task=self._text(trajectory.task, counts),
            metadata=self._deep(trajectory.metadata, "", counts, 0),
        )
        return clean, dict(counts)

    def _step(self, step: Step, counts: Counter[str]) -> Step:
        text, calls = self._text(step.text, counts), step.tool_calls
        if calls:
            calls = tuple(
                ToolCall(call.id, call.name, self._deep(call.arguments, "", counts, 0))
                for call in calls
            )
        if text == step.text and calls == step.tool_calls:
            return step  # as nearly all are
        return replace(step, text=text, tool_calls=calls)

    def _text(self, text: str, counts: Counter[str]) -> str:
        found = self.redact(text)
        if found.counts:
            counts.update(found.counts)
        return found.text

    def _deep(self, value: Any, kind: str, counts: Counter[str], depth: int) -> Any:
        if isinstance(value, str):
            return self._named_text(value, kind, counts)
        if isinstance(value, int) and not isinstance(value, bool) and kind == "password":
            counts[kind] += 1
            return f"[redacted:{kind}]"
        if not isinstance(value, Mapping | list | tuple):
            return value
        if depth >= MAX_DEPTH:
            counts["too_deep"] += 1
            return "[redacted:too_deep]"
        if isinstance(value, Mapping):
            return {
                self._text(key, counts) if isinstance(key, str) else key: self._deep(
                    item, kind_of_name(key) if isinstance(key, str) else "", counts, depth + 1
                )
                for key, item in value.items()
            }
        return [self._deep(item, kind, counts, depth + 1) for item in value]

    def _named_text(self, text: str, kind: str, counts: Counter[str]) -> str:
        clean = self._text(text, counts)
        if kind and clean == text and looks_secret(text, kind):
            counts[kind] += 1
            return f"[redacted:{kind}]"
        return clean

    def _round(self, text: str, counts: Counter[str]) -> str:
        if "PRIVATE KEY" in text:
            places = [(start, end, "private_key") for start, end in find_private_keys(text)]
            text = _replaced(text, places, counts)
        lowered = text.lower()
        for rule in RULES:
            if any(hint in lowered for hint in rule.hints):
                text = _replaced(text, _matches(rule, text, 0, len(text)), counts)
        if any(hint in lowered for hint in _ASSIGNMENT_HINTS):
            text = _replaced(text, find_options(text), counts)
            text = _replaced(text, find_assigned(text), counts)
        for rule in self._extra:
            text = _replaced(text, _between_marks(rule, text), counts)
        return text


_HINTS = tuple(
    dict.fromkeys(
        ("private key", *(hint for rule in RULES for hint in rule.hints), *_ASSIGNMENT_HINTS)
    )
)


def _may_hold_secret(text: str) -> bool:
    """Whether any rule could find anything; most texts are done with here."""
    lowered = text.lower()
    for hint in _HINTS:  # noqa: SIM110 - a generator would take three times as long
        if hint in lowered:
            return True
    return False


def _extra_rule(kind: str, text: str) -> TokenRule:
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ConfigurationError(
            f"redaction kind {kind!r} is not 1–40 letters, digits, '_', '.' or '-'"
        )
    try:
        pattern = re.compile(text)
    except (re.error, TypeError, RecursionError, OverflowError) as exc:
        raise ConfigurationError(
            f"redaction pattern {kind!r} is not a regular expression: {text!r} ({exc})"
        ) from exc
    if pattern.search(""):
        raise ConfigurationError(
            f"redaction pattern {kind!r} matches nothing at all: {text!r}; make it match a secret"
        )
    return TokenRule(kind, pattern, ())


def _between_marks(rule: TokenRule, text: str) -> Iterator[tuple[int, int, str]]:
    """Match between the marks that stand in a text already; they are not looked into."""
    at = 0
    for mark in _MARK.finditer(text):
        yield from _matches(rule, text, at, mark.start())
        at = mark.end()
    yield from _matches(rule, text, at, len(text))


def _matches(rule: TokenRule, text: str, at: int, end: int) -> Iterator[tuple[int, int, str]]:
    group = "secret" if "secret" in rule.pattern.groupindex else 0
    for found in rule.pattern.finditer(text, at, end):
        if found.group(group) and rule.accepts(found):
            yield found.start(group), found.end(group), rule.kind


def _replaced(text: str, places: Iterable[tuple[int, int, str]], counts: Counter[str]) -> str:
    """Put a mark in every place, and count it."""
    kept: list[str] = []
    at = 0
    for start, end, kind in places:
        kept += [text[at:start], f"[redacted:{kind}]"]
        counts[kind] += 1
        at = end
    return "".join([*kept, text[at:]])
