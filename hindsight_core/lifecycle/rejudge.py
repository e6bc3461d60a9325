"""What a later verdict does to a run's own experience."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from hindsight_core.language import Language, language_of
from hindsight_core.models import Memory
from hindsight_core.runs.journal import Feedback
from hindsight_core.trajectory import Outcome, OutcomeLabel, OutcomeSource

__all__ = ["decisive", "most_trusted", "rejudge_reason", "rejudged", "verdicts_of"]

REASON_LENGTH = 200
"""Characters of the reason in the sentence."""

_LABELS: dict[Language, dict[OutcomeLabel, str]] = {
    "en": {
        "success": "success",
        "failure": "failure",
        "partial": "success in part",
        "incomplete": "not finished",
        "abandoned": "abandoned",
    },
    "zh": {
        "success": "成功",
        "failure": "失败",
        "partial": "部分成功",
        "incomplete": "未完成",
        "abandoned": "中途放弃",
    },
}
_JUDGES: dict[Language, dict[OutcomeSource, str]] = {
    "en": {
        "validator": "a validator",
        "user": "the user",
        "exception": "an exception",
        "llm_judge": "a judging model",
        "rule": "a rule",
    },
    "zh": {
        "validator": "校验程序",
        "user": "用户",
        "exception": "异常",
        "llm_judge": "评判模型",
        "rule": "规则",
    },
}
_EARLIER = re.compile(
    rf"\s*(?:Later judged: (?:{'|'.join(_LABELS['en'].values())}), by "
    rf"(?:{'|'.join(_JUDGES['en'].values())})[.:]"
    rf"|后来的评判：(?:{'|'.join(_LABELS['zh'].values())})，来自"
    rf"(?:{'|'.join(_JUDGES['zh'].values())})[。：]).*\Z",
    re.DOTALL,
)
"""The sentence of an earlier verdict; it is always the last one."""


def verdicts_of(feedback: Iterable[Feedback]) -> list[Outcome]:
    """Return what was said about a run as a whole, oldest first."""
    return [
        Outcome(cast("OutcomeLabel", said.outcome), cast("OutcomeSource", said.source), said.reason)
        for said in feedback
        if said.outcome and not said.memory_id
    ]


def decisive(own: Outcome, verdicts: Iterable[Outcome]) -> Outcome:
    """Return the outcome that counts: of the most trusted source, the latest among equals.

    Args:
        own: The outcome that the run brought itself.
        verdicts: What was said about it since, oldest first.
    """
    best = own
    for verdict in verdicts:
        if verdict.label == "unknown":
            continue
        if best.label == "unknown" or verdict.trust >= best.trust:
            best = verdict
    return best


def most_trusted(verdicts: Iterable[Outcome]) -> int | None:
    """Return the trust of the best source that judged a run, `None` if nobody did."""
    return max((v.trust for v in verdicts if v.label != "unknown"), default=None)


def rejudged(memory: Memory, outcome: Outcome, present: int | None) -> Memory:
    """Return the experience `memory` after a later verdict about its run.

    A less trusted source than the one behind the present outcome changes nothing, and neither
    does the same verdict again. What the run did, and how sure it is, stays as it was.

    Args:
        memory: The experience.
        outcome: The verdict.
        present: Trust of the source behind the present outcome, `None` if there is none.
    """
    if outcome.label == "unknown":
        return memory
    if memory.outcome != "unknown" and present is not None:
        if outcome.trust < present:
            return memory
        # Repeated by its own source without a reason, it says nothing that is not there.
        if (outcome.label, outcome.trust) == (memory.outcome, present) and not outcome.reason:
            return memory
    told = _EARLIER.sub("", memory.content)
    return replace(memory, outcome=outcome.label, content=told + _sentence(told, outcome))


def rejudge_reason(outcome: Outcome) -> str:
    """Return the reason under which a verdict stands in an experience's history."""
    return f"later judged {outcome.label} by {outcome.source}" + (
        f": {outcome.reason}" if outcome.reason else ""
    )


def _sentence(told: str, outcome: Outcome) -> str:
    language = language_of(told)
    label = _LABELS[language][outcome.label]
    judge = _JUDGES[language][outcome.source]
    reason = " ".join(outcome.reason.split())[:REASON_LENGTH].rstrip(" .。")
    if language == "zh":
        return f"后来的评判：{label}，来自{judge}" + (f"：{reason}。" if reason else "。")
    return f" Later judged: {label}, by {judge}" + (f": {reason}." if reason else ".")
