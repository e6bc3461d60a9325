"""The shape of a reflection model's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hindsight_core.models import CATEGORIES

__all__ = ["reply_schema"]

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_UNIT = {"type": "number"}


def reply_schema(
    task_types: Sequence[str], offered: Sequence[str], named: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the JSON schema of an answer.

    Every property is required and no other is allowed, as strict structured output asks for.

    Args:
        task_types: The declared task types.
        offered: Numbers of the memories that may be superseded; without any, the property
            is left out.
        named: Numbers and ids by which the agent may speak of its brief, likewise.
    """
    task_type = {"type": "string", "enum": list(task_types)}
    lesson = {
        "content": _TEXT,
        "category": {"type": "string", "enum": list(CATEGORIES)},
        "task_type": task_type,
        "applies_when": _TEXT,
        "not_when": _TEXT,
        "confidence": _UNIT,
        "importance": _UNIT,
        "steps": {"type": "array", "items": {"type": "integer"}},
        "tags": _TEXTS,
        "valid_until": {"type": ["string", "null"]},
    }
    if offered:
        lesson["supersedes"] = {
            "type": "array",
            "items": {"type": "string", "enum": list(offered)},
        }
    decision = {
        "step": {"type": "integer"},
        "decision": _TEXT,
        "reason": _TEXT,
        "alternatives": _TEXTS,
        "expected": _TEXT,
    }
    failure = {"step": {"type": "integer"}, "what": _TEXT, "fix": _TEXT}
    reply: dict[str, Any] = {
        "goal": _TEXT,
        "task_type": task_type,
        "decisions": {"type": "array", "items": _object(decision)},
        "failures": {"type": "array", "items": _object(failure)},
        "lessons": {"type": "array", "items": _object(lesson)},
    }
    if named:
        memory = {"type": "string", "enum": list(named)}
        remark = {"memory": memory, "helpful": {"type": "boolean"}, "reason": _TEXT}
        reply["remarks"] = {"type": "array", "items": _object(remark)}
    return _object(reply)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
