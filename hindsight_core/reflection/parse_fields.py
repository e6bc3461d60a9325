"""Fields of a reply: names that models use instead of ours, and numbers in any dress."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hindsight_core.models import CATEGORIES

__all__ = [
    "CATEGORY_WORDS",
    "FIELD_NAMES",
    "LESSON_LISTS",
    "ROOT_NAMES",
    "pick",
    "read_share",
    "read_text",
    "read_texts",
]

LESSON_LISTS: dict[str, str] = {
    **dict.fromkeys("lessons memories learnings insights 经验 教训 记忆 经验教训".split(), ""),
    **dict.fromkeys("rules 规则".split(), "rule"),
    **dict.fromkeys("facts 事实".split(), "fact"),
    **dict.fromkeys("preferences 偏好".split(), "preference"),
    **dict.fromkeys("corrections 更正 纠正".split(), "correction"),
    **dict.fromkeys("ops operations".split(), ""),
}
"""Accepted names of the list of lessons, with the category that a name implies."""

ROOT_NAMES: dict[str, tuple[str, ...]] = {
    "goal": ("goal", "目标"),
    "task_type": ("task_type", "tasktype", "任务类型"),
    "decisions": ("decisions", "key_decisions", "决策", "决定", "关键决策", "关键决定"),
    "failures": ("failures", "errors", "失败", "失误", "问题"),
    "remarks": ("remarks", "brief_remarks", "评语"),
}
"""Accepted names beside the list of lessons, our own first."""

FIELD_NAMES: dict[str, tuple[str, ...]] = {
    "content": (
        *("content", "text", "lesson", "statement", "memory", "insight", "rule", "fact"),
        *("内容", "文本", "经验", "教训", "规则", "事实"),
    ),
    "category": ("category", "type", "类别", "类型", "分类"),
    "task_type": ("task_type", "tasktype", "任务类型"),
    "applies_when": ("applies_when", "when", "condition", "适用条件", "适用于", "条件", "何时"),
    "not_when": ("not_when", "unless", "except_when", "不适用", "不适用条件", "例外"),
    "confidence": ("confidence", "置信度", "可信度"),
    "importance": ("importance", "重要性", "重要度"),
    "steps": ("steps", "step", "evidence", "步骤"),
    "tags": ("tags", "labels", "标签"),
    "valid_until": ("valid_until", "expires", "expires_at", "有效期至", "失效日期"),
    "supersedes": ("supersedes", "replaces", "取代", "替代"),
    "do": ("do", "action", "then", "做法", "行动"),
}
"""Accepted names of a lesson's fields, our own first."""

CATEGORY_WORDS: dict[str, str] = {
    **{category: category for category in CATEGORIES},
    **dict.fromkeys("rules lesson insight 规则 教训".split(), "rule"),
    **dict.fromkeys("facts 事实".split(), "fact"),
    **dict.fromkeys("preferences 偏好 喜好".split(), "preference"),
    **dict.fromkeys("corrections 更正 纠正".split(), "correction"),
    **dict.fromkeys("entities person place 实体".split(), "entity"),
    **dict.fromkeys("experiences episode episodic 经验 经历".split(), "experience"),
}
"""Accepted words for a category."""

_SHARE_WORDS: dict[str, float] = {
    **dict.fromkeys(["certain", "critical", "极高"], 1.0),
    **dict.fromkeys(["very high", "很高", "非常高"], 0.95),
    **dict.fromkeys(["high", "高", "较高"], 0.8),
    **dict.fromkeys(["medium", "moderate", "middle", "中", "中等", "一般"], 0.5),
    **dict.fromkeys(["low", "低", "较低"], 0.2),
    **dict.fromkeys(["very low", "很低", "非常低"], 0.1),
}
_NUMBER = re.compile(r"([+-]?\d{1,9}(?:[.,]\d{1,18})?)\s*(%|％|percent)?")
_FRACTION = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)\s*/\s*(\d{1,6})")


def pick(item: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first value of `item` under one of `names` that is not null or blank."""
    folded = {str(key).strip().casefold().replace(" ", "_"): item[key] for key in item}
    for name in names:
        value = folded.get(name)
        if value is not None and value != "":
            return value
    return None


def read_text(value: Any) -> str:
    """Return `value` as clean text, `""` unless it is text or a number.

    Lone surrogates, which can't be stored, become the replacement character; NUL goes.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    text = str(value).replace("\x00", "").strip()
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_texts(value: Any) -> tuple[str, ...]:
    """Return `value` as texts: a list's, or a single one."""
    items = value if isinstance(value, list) else [value]
    return tuple(text for text in map(read_text, items) if text)


def read_share(value: Any) -> tuple[float | None, str]:
    """Read a number in 0–1 from what a model wrote.

    Percentages and fractions are divided, common words are mapped (high 0.8, medium 0.5, low
    0.2, very high 0.95, very low 0.1), a decimal comma counts as a point, and what is out of
    range is clamped.

    Returns:
        The number, `None` if it is absent or unreadable, and a remark about it, `""` if
        there is nothing to say.
    """
    if value is None:
        return None, ""
    number = _number_of(value)
    if number is None or not math.isfinite(number):
        return None, f"{_shown(value)} is not a number in 0–1"
    if 0.0 <= number <= 1.0:
        return number, ""
    clamped = min(max(number, 0.0), 1.0)
    return clamped, f"{_shown(value)} is outside 0–1 and became {clamped:g}"


def _number_of(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    text = " ".join(value.lower().replace("_", " ").split())
    if text in _SHARE_WORDS:
        return _SHARE_WORDS[text]
    if match := _FRACTION.fullmatch(text):
        whole = float(match[2])
        return float(match[1]) / whole if whole else None
    if match := _NUMBER.fullmatch(text):
        number = float(match[1].replace(",", "."))
        return number / 100 if match[2] else number
    return None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return repr(text[:40])
