"""Expectations that were not met, and the parts of a run that are tasks of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from taught_runs import TaughtByTheRun, open_in, teaching

from hindsight_core.lifecycle.counterfactuals import counterfactuals
from hindsight_core.lifecycle.granularity import SubTaskReflector, sub_tasks
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.settings import Settings
from hindsight_core.steps import Step
from hindsight_core.testing import EPOCH, FrozenClock, ScriptedModel, csv_run
from hindsight_core.trajectory import Outcome, Trajectory

DECISION = {
    "step": 1,
    "decision": "Read the file as UTF-8",
    "reason": "most files are",
    "alternatives": ["Ask for the encoding", "Guess it from the bytes"],
    "expected": "412 rows",
}


def test_a_call_that_failed_contradicts_what_was_expected_of_it() -> None:
    (lesson,) = counterfactuals([DECISION], csv_run())
    assert lesson.content == (
        "Expected of “Read the file as UTF-8”: 412 rows. It did not come. Instead: "
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd4. "
        "Not tried: Ask for the encoding; Guess it from the bytes."
    )
    assert lesson.steps == (1,)
    assert lesson.context.parameters["alternatives"] == DECISION["alternatives"]


def test_an_expectation_that_was_met_teaches_nothing() -> None:
    assert counterfactuals([DECISION | {"step": 3}], csv_run()) == ()
    for missing in ({"expected": ""}, {"decision": ""}):
        assert counterfactuals([DECISION | missing], csv_run()) == ()


def test_a_failed_run_contradicts_the_last_decision() -> None:
    run = replace(csv_run(), outcome=Outcome("failure", "validator", "the total is wrong."))
    early, late = DECISION | {"step": 3}, DECISION | {"step": None, "decision": "Add up"}
    (lesson,) = counterfactuals([early, late], run)
    assert "“Add up”" in lesson.content
    assert "Instead: the total is wrong." in lesson.content
    assert lesson.steps == ()


@pytest.mark.parametrize("step", [-1, 99, True, "1", None])
def test_a_step_that_is_none_is_no_evidence(step: Any) -> None:
    assert counterfactuals([DECISION | {"step": step}], csv_run()) == ()


def test_the_lesson_is_in_the_language_of_the_run() -> None:
    (lesson,) = counterfactuals([DECISION], csv_run(), "zh")
    assert lesson.content.startswith("对“Read the file as UTF-8”的预期是")


def test_what_a_model_says_was_expected_becomes_a_memory(
    tmp_path: Path, clock: FrozenClock
) -> None:
    reply = json.dumps({"decisions": [DECISION], "lessons": []})
    with open_in(tmp_path, clock, reflector=None, model=ScriptedModel([reply])) as h:
        found = h.reflect(csv_run())
        assert any("Not tried: Ask for the encoding" in m.content for m in found.memories)


def nested(outcome: Outcome = Outcome()) -> Trajectory:  # noqa: B008 - frozen
    inner = [replace(step, agent="reader") for step in csv_run().steps]
    return Trajectory(
        run_id="run_nested",
        steps=(
            Step(kind="user", text="Write the report"),
            *inner,
            Step(kind="assistant", text="chat", agent="talker"),
            Step(kind="assistant", text="The report is written."),
        ),
        outcome=outcome,
    )


def test_a_sub_agent_with_tools_is_a_task_of_its_own() -> None:
    (part,) = sub_tasks(nested())
    assert part.run.task == "Load sales.csv and tell me the total"
    assert part.positions == (2, 3, 4, 5, 6)
    assert [step.agent for step in part.run.steps] == [""] * 5
    assert part.run.outcome.label == "unknown"
    assert sub_tasks(nested(Outcome("success", "user")))[0].run.outcome.source == "user"
    assert sub_tasks(csv_run()) == ()


def test_a_part_that_ends_with_a_failed_tool_has_failed() -> None:
    steps = nested().steps[:4]
    (part,) = sub_tasks(replace(nested(Outcome("success", "user")), steps=steps))
    assert part.run.outcome.label == "failure"


def test_lessons_of_parts_point_at_steps_of_the_whole_run() -> None:
    inner = RuleReflector(Settings().task_types)
    whole = inner.reflect(nested(), (), EPOCH)
    both = SubTaskReflector(inner).reflect(nested(), (), EPOCH)
    assert len(both.lessons) >= len(whole.lessons)
    contents = [lesson.content for lesson in both.lessons]
    assert len(contents) == len(set(contents))
    assert all(0 <= step < len(nested().steps) for x in both.lessons for step in x.steps)


def test_a_run_without_parts_is_reflected_on_once() -> None:
    found = SubTaskReflector(TaughtByTheRun()).reflect(teaching("r1", "One fact"), (), EPOCH)
    assert [lesson.content for lesson in found.lessons] == ["One fact"]


def test_it_is_a_setting(tmp_path: Path, clock: FrozenClock) -> None:
    given = Settings(sub_tasks=True, drain_seconds=2.0)
    with open_in(tmp_path, clock, settings=given, reflector=None) as h:
        assert any("gb18030" in m.content for m in h.reflect(nested()).memories)
