"""What a decision was expected to give, checked against what came.

A model that looks back names the decisions of a run with what was expected and what else was
considered. Where the run contradicts the expectation, that is a lesson: the road not taken is
worth a try. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hindsight_core.cutting import clipped
from hindsight_core.models import Context, Lesson
from hindsight_core.trajectory import Trajectory

__all__ = ["MAX_COUNTERFACTUALS", "counterfactuals"]

MAX_COUNTERFACTUALS = 2
"""Most such lessons of one run."""

_WORDING = {
    "en": (
        "Expected of “{decision}”: {expected}. It did not come.",
        " Instead: {result}.",
        " Not tried: {alternatives}.",
    ),
    "zh": (
        "对“{decision}”的预期是：{expected}，结果未达到。",
        "实际结果：{result}。",
        "尚未尝试：{alternatives}。",
    ),
}


def counterfactuals(
    decisions: Sequence[Mapping[str, Any]], run: Trajectory, language: str = "en"
) -> tuple[Lesson, ...]:
    """Return what the decisions of `run` teach whose expectation was not met.

    An expectation is contradicted when every tool that the decision called failed, or when
    the whole run failed and nothing was decided after it.

    Args:
        decisions: Dicts with `step`, `decision`, `expected` and `alternatives`, as
            `hindsight_core.reflection.parse` reads them.
        run: The run.
        language: `zh` for Chinese wording, anything else for English.
    """
    expecting = [d for d in decisions if d.get("decision") and d.get("expected")]
    lessons = []
    for position, decision in enumerate(expecting):
        result = _contradiction(decision, run, is_last=position == len(expecting) - 1)
        if result is not None:
            lessons.append(_lesson(decision, result, run, language))
    return tuple(lessons[-MAX_COUNTERFACTUALS:])


def _contradiction(decision: Mapping[str, Any], run: Trajectory, *, is_last: bool) -> str | None:
    """Return what came instead, `None` if the expectation was not contradicted."""
    step = _step(decision, run)
    if step is not None:
        calls = {call.id for call in run.steps[step].tool_calls}
        answers = [s for s in run.steps[step + 1 :] if s.tool_call_id in calls]
        failed = [answer.text for answer in answers if answer.is_error]
        if failed and len(failed) == len(answers):
            return _line(failed[0])
    if is_last and run.outcome.label == "failure":
        return _line(run.outcome.reason)
    return None


def _lesson(decision: Mapping[str, Any], result: str, run: Trajectory, language: str) -> Lesson:
    said, instead, untried = _WORDING.get(language, _WORDING["en"])
    alternatives = [str(item) for item in decision.get("alternatives") or ()]
    joined = ("、" if language == "zh" else "; ").join(alternatives)
    content = said.format(
        decision=_line(str(decision["decision"])), expected=_line(str(decision["expected"]))
    )
    content += instead.format(result=result) if result else ""
    content += untried.format(alternatives=_line(joined)) if alternatives else ""
    step = _step(decision, run)
    return Lesson(
        content=content,
        kind="semantic",
        category="rule",
        task_description=run.task[:200],
        context=Context(
            parameters={
                "decision": str(decision["decision"]),
                "expected": str(decision["expected"]),
                "alternatives": alternatives,
            }
        ),
        outcome="failure",
        confidence=0.5,
        importance=0.6,
        source="agent_inference",
        steps=() if step is None else (step,),
    )


def _step(decision: Mapping[str, Any], run: Trajectory) -> int | None:
    step = decision.get("step")
    known = isinstance(step, int) and not isinstance(step, bool) and 0 <= step < len(run.steps)
    return step if known else None


def _line(text: str) -> str:
    line = " ".join(text.split()).rstrip(".。")
    return clipped(line, 200, " …")
