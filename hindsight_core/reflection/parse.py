"""What a reflection model answered, read into lessons with as little loss as possible.

Accepted are text with JSON in it (fenced, in prose, double encoded, with common slips, cut
short), lists of content blocks, and already parsed objects. A bad lesson is skipped with a
note and never takes the others with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hindsight_core.errors import ModelReplyError
from hindsight_core.language import language_of
from hindsight_core.reflection.parse_fields import (
    CATEGORY_WORDS,
    FIELD_NAMES,
    ROOT_NAMES,
    pick,
    read_share,
    read_text,
    read_texts,
)
from hindsight_core.reflection.parse_json import Found, find_json, is_blank
from hindsight_core.reflection.parse_shape import entries_of, fits, root_of

__all__ = [
    "DEFAULT_IMPORTANCE",
    "MAX_LESSONS_READ",
    "MAX_LESSON_LENGTH",
    "ParsedReply",
    "is_cut",
    "parse_reply",
    "raw_text",
]

DEFAULT_IMPORTANCE = 0.5
"""Importance of a lesson whose rating is absent or unreadable."""

MAX_LESSON_LENGTH = 4_000
"""Characters of a lesson; a longer one is skipped, since cutting would change what it says."""

MAX_LESSONS_READ = 50
"""Lessons that are read from one reply."""

_CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_TEXT_BLOCKS = frozenset({"text", "output_text", ""})


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply, read.

    Attributes:
        lessons: Dicts with `content`, `category` (`""` if not told), `task_type`,
            `applies_when`, `not_when`, `confidence` (0–1 or `None`), `importance` (0–1),
            `steps` (ints), `tags`, `valid_until` (text), `supersedes` (as the model wrote them).
        decisions: Dicts with `step`, `decision`, `reason`, `alternatives`, `expected`.
        failures: Dicts with `step`, `what`, `fix`.
        remarks: Dicts with `memory`, `helpful` (`None` if not told), `reason`.
        goal: The goal restated.
        task_type: The task type as the model wrote it.
        notes: What was repaired, skipped or clamped, for people.
        truncated: Whether the reply was cut short.
    """

    lessons: tuple[dict[str, Any], ...] = ()
    decisions: tuple[dict[str, Any], ...] = ()
    failures: tuple[dict[str, Any], ...] = ()
    remarks: tuple[dict[str, Any], ...] = ()
    goal: str = ""
    task_type: str = ""
    notes: tuple[str, ...] = ()
    truncated: bool = False


def parse_reply(content: Any, *, finish_reason: str = "") -> ParsedReply:
    """Read a reply.

    An empty object or list is a valid answer, "nothing learned".

    Args:
        content: Text, a list of content blocks, or a parsed object or list of lessons.
        finish_reason: Why the model stopped, where known; `length` marks a cut reply.

    Raises:
        ModelReplyError: If it is empty or holds nothing of the shape that was asked for;
            `raw_reply` holds it.
    """
    cut = is_cut(finish_reason)
    found = _find(content, cut)
    root, notes = root_of(found.value)
    notes = [*found.notes, *notes]
    lessons = _lessons(root, notes)
    return ParsedReply(
        lessons=lessons,
        decisions=_rows(root, "decisions", _decision),
        failures=_rows(root, "failures", _failure),
        remarks=_rows(root, "remarks", _remark),
        goal=read_text(pick(root, ROOT_NAMES["goal"])),
        task_type=read_text(pick(root, ROOT_NAMES["task_type"])),
        notes=tuple(dict.fromkeys(notes)),
        truncated=found.truncated or cut,
    )


def is_cut(finish_reason: str) -> bool:
    """Return whether a finish reason means that the answer hit its cap."""
    return finish_reason.strip().casefold() in _CUT_REASONS


def raw_text(content: Any) -> str:
    """Return a reply as text to keep, verbatim where it is text already."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    try:
        return json.dumps(content, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"<{type(content).__name__} that can't be written as JSON>"


def _find(content: Any, cut: bool) -> Found:
    text = _joined_blocks(content) if _is_blocks(content) else content
    if isinstance(text, (dict, list)):
        if not fits(text):
            raise ModelReplyError(
                f"the model gave a {type(text).__name__} that holds no lessons; "
                "it was asked for an object with a list under 'lessons'",
                raw_reply=raw_text(content),
            )
        return Found(text)
    if not isinstance(text, str) or is_blank(text):
        raise ModelReplyError("the model's reply is empty", raw_reply=raw_text(content))
    found = find_json(text, fits=fits, cut=cut)
    if found is None:
        raise ModelReplyError(
            f"the model's reply of {len(text):,} characters holds no readable JSON with "
            f"lessons; it begins {text.strip()[:80]!r}",
            raw_reply=raw_text(content),
        )
    return found


def _is_blocks(content: Any) -> bool:
    """Whether `content` is a list of content blocks and not of lessons."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(block, str) or _is_block(block) for block in content)
    )


def _is_block(block: Any) -> bool:
    if not isinstance(block, Mapping) or "type" not in block:
        return False
    kind = str(block["type"])
    return kind not in CATEGORY_WORDS and not set(block) & {"content", "lesson", "importance"}


def _joined_blocks(content: list[Any]) -> str:
    texts = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif str(block.get("type", "")) in _TEXT_BLOCKS and isinstance(block.get("text"), str):
            texts.append(block["text"])
    return "".join(texts)


def _lessons(root: Mapping[str, Any], notes: list[str]) -> tuple[dict[str, Any], ...]:
    entries = entries_of(root)
    if len(entries) > MAX_LESSONS_READ:
        notes.append(f"{len(entries) - MAX_LESSONS_READ} of {len(entries)} lessons were not read")
    lessons = []
    for number, entry in enumerate(entries[:MAX_LESSONS_READ], start=1):
        said: list[str] = []
        lesson = _lesson(entry, said)
        notes.extend(f"lesson {number}: {remark}" for remark in said)
        if lesson is not None:
            lessons.append(lesson)
    return tuple(lessons)


def _lesson(entry: Any, notes: list[str]) -> dict[str, Any] | None:
    item = {"content": entry} if isinstance(entry, str) else entry
    if not isinstance(item, dict):
        notes.append(f"skipped, it is a {type(entry).__name__} and not an object")
        return None
    fields = {name: pick(item, names) for name, names in FIELD_NAMES.items()}
    content = _content(fields)
    if not content:
        named = ", ".join(repr(str(key)[:30]) for key in list(item)[:6])
        notes.append(f"skipped, it has no text; its fields are {named}{_operation(item)}")
        return None
    if len(content) > MAX_LESSON_LENGTH:
        notes.append(f"skipped, its {len(content):,} characters are too long for one lesson")
        return None
    confidence, doubt = read_share(fields["confidence"])
    importance, other_doubt = read_share(fields["importance"])
    notes.extend(
        f"{name} {remark}"
        for name, remark in (("confidence", doubt), ("importance", other_doubt))
        if remark
    )
    return {
        "content": content,
        "category": _category(fields["category"], notes),
        "task_type": read_text(fields["task_type"]),
        "applies_when": read_text(fields["applies_when"]),
        "not_when": read_text(fields["not_when"]),
        "confidence": confidence,
        "importance": DEFAULT_IMPORTANCE if importance is None else importance,
        "steps": _integers(fields["steps"]),
        "tags": read_texts(fields["tags"]),
        "valid_until": read_text(fields["valid_until"]),
        "supersedes": _superseded(item, fields["supersedes"]),
    }


def _content(fields: Mapping[str, Any]) -> str:
    content = fields["content"]
    if isinstance(content, str):
        return read_text(content)
    when, do = read_text(fields["applies_when"]), read_text(fields["do"])
    if content is None and when and do:
        return f"当{when}时，{do}" if language_of(when + do) == "zh" else f"When {when}, {do}"
    return ""


def _operation(item: Mapping[str, Any]) -> str:
    operation = read_text(pick(item, ("op",)))
    return f", asking to {operation} {pick(item, ('id',))!r}" if operation else ""


def _superseded(item: Mapping[str, Any], value: Any) -> tuple[str, ...]:
    """Return the numbers to supersede as text; `null` for one that is null."""
    if pick(item, ("op",)) is not None:
        value = [item.get("id")]
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(read_text(entry) or "null" for entry in items)


def _category(value: Any, notes: list[str]) -> str:
    word = read_text(value).casefold()
    if word and word not in CATEGORY_WORDS:
        notes.append(f"category {word[:40]!r} is not known")
    return CATEGORY_WORDS.get(word, "")


def _integers(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    texts = (read_text(item).strip("[]") for item in items)
    return tuple(dict.fromkeys(int(t) for t in texts if t.isascii() and t.isdigit()))


def _rows(root: Mapping[str, Any], name: str, read: Any) -> tuple[dict[str, Any], ...]:
    value = pick(root, ROOT_NAMES[name])
    rows = value if isinstance(value, list) else [value] if value else []
    return tuple(read(row if isinstance(row, dict) else {"text": row}) for row in rows)


def _decision(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step": next(iter(_integers(pick(row, ("step", "步骤")))), None),
        "decision": read_text(pick(row, ("decision", "text", "决策", "决定"))),
        "reason": read_text(pick(row, ("reason", "why", "理由", "原因"))),
        "alternatives": read_texts(pick(row, ("alternatives", "alternative", "其他做法"))),
        "expected": read_text(pick(row, ("expected", "expected_result", "预期", "预期结果"))),
    }


def _failure(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step": next(iter(_integers(pick(row, ("step", "步骤")))), None),
        "what": read_text(pick(row, ("what", "failure", "error", "text", "问题", "失败"))),
        "fix": read_text(pick(row, ("fix", "mended", "resolution", "补救", "解决"))),
    }


def _remark(row: Mapping[str, Any]) -> dict[str, Any]:
    told = str(pick(row, ("helpful", "有帮助"))).strip().casefold()
    return {
        "memory": read_text(pick(row, ("memory", "number", "id", "编号", "记忆"))).strip("[]# "),
        "helpful": {"true": True, "false": False}.get(told),
        "reason": read_text(pick(row, ("reason", "why", "理由", "原因"))),
    }
