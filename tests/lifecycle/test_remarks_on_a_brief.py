"""What the agent says about its brief is recorded against the memory that it names."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.steps import Step
from hindsight_core.testing import FrozenClock, ScriptedModel
from hindsight_core.trajectory import Outcome, Trajectory

Opener = Callable[..., Hindsight]
ONE = "The deploy of the shop needs flag --blue"
TWO = "The deploy of the shop takes ten minutes"


def run_that_says(
    text: str, run_id: str = "r1", outcome: Outcome | None = None, at: Any = None
) -> Trajectory:
    return Trajectory(
        run_id=run_id,
        steps=(
            Step(kind="user", text="Start the deploy of the shop"),
            Step(kind="assistant", text=text, at=at),
        ),
        outcome=outcome or Outcome(),
    )


def briefed(h: Hindsight, run_id: str = "r1") -> list[str]:
    """Store two memories, put them in a brief and return their ids in its order."""
    h.store(ONE)
    h.store(TWO)
    brief = h.brief("What does the deploy of the shop need?", run_id=run_id)
    ids = [result.memory.id for result in brief.retrieved]
    assert len(ids) == 2
    for number, result in enumerate(brief.retrieved, start=1):
        assert f"[{number}] {result.memory.content}" in brief.text
    return ids


def confidence(h: Hindsight, memory_id: str) -> float:
    memory = h.get(memory_id)
    assert memory is not None
    return memory.confidence


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[2] does not apply because we use containers.", "we use containers."),
        ("第2条不适用，因为我们用容器。", "我们用容器。"),
    ],
)
def test_does_not_apply_is_recorded_with_reason_and_run(h: Hindsight, text: str, why: str) -> None:
    first, second = briefed(h)
    before = [confidence(h, memory_id) for memory_id in (first, second)]
    h.reflect(run_that_says(text))
    assert confidence(h, first) == before[0]
    assert confidence(h, second) < before[1]
    (change,) = h.history(second)
    assert (change.reason, change.run_id) == (f"said to be wrong by llm_judge: {why}", "r1")
    (said,) = h._engine.journal.feedback(h.namespace, memory_id=second)
    assert (said.run_id, said.helpful, said.source, said.reason) == (
        "r1", False, "llm_judge", why,
    )  # fmt: skip


def test_a_person_s_word_weighs_more_than_the_agent_s(h: Hindsight) -> None:
    first, second = briefed(h)
    h.reflect(run_that_says("[2] is wrong."))
    h.feedback(memory_id=first, helpful=False)
    assert confidence(h, first) < confidence(h, second)


def test_what_the_agent_set_aside_is_not_credited_by_the_outcome(h: Hindsight) -> None:
    first, second = briefed(h)
    before = [confidence(h, memory_id) for memory_id in (first, second)]
    h.reflect(run_that_says("[2] does not apply.", outcome=Outcome("success", "validator")))
    assert confidence(h, first) > before[0]
    assert confidence(h, second) < before[1]
    assert len(h.history(second)) == 1


def test_praise_counts_once_and_not_beside_the_outcome(h: Hindsight) -> None:
    first, _ = briefed(h)
    h.reflect(run_that_says("[1] helped. [1] was helpful.", outcome=Outcome("failure", "user")))
    (change,) = h.history(first)
    assert change.reason == "failure of r1, says user"
    h.brief("What does the deploy of the shop need?", run_id="r2")
    h.reflect(run_that_says("[1] was helpful.", run_id="r2"))
    assert [change.run_id for change in h.history(first)] == ["r1", "r2"]


def test_reflecting_again_says_nothing_twice(h: Hindsight) -> None:
    _, second = briefed(h)
    run = run_that_says("[2] does not apply.")
    for _ in range(2):
        h.reflect(run)
    assert len(h.history(second)) == 1


@pytest.mark.parametrize("text", ["[3] does not apply.", "[9] is wrong.", "mem_00000000 is wrong."])
def test_a_number_that_was_not_in_the_brief_says_nothing(h: Hindsight, text: str) -> None:
    ids = briefed(h)
    h.reflect(run_that_says(text))
    assert [h.history(memory_id) for memory_id in ids] == [(), ()]


def test_another_run_s_brief_and_memories_outside_the_brief_are_out_of_reach(h: Hindsight) -> None:
    first, second = briefed(h, run_id="other")
    h.reflect(run_that_says(f"[1] is wrong. {second} is wrong."))
    assert [h.history(memory_id) for memory_id in (first, second)] == [(), ()]


def test_an_id_of_the_brief_is_known_by_itself(h: Hindsight) -> None:
    first, _ = briefed(h)
    h.reflect(run_that_says(f"{first} is outdated, we moved."))
    assert len(h.history(first)) == 1


def test_a_number_means_the_brief_that_was_the_last_one_when_it_was_said(
    h: Hindsight, clock: FrozenClock
) -> None:
    ids = briefed(h)
    clock.advance(minutes=5)
    brief = h.brief("How many minutes does the deploy of the shop take?", run_id="r1")
    again = [result.memory.id for result in brief.retrieved]
    assert again == ids[::-1]
    h.reflect(run_that_says("[1] is wrong.", at=clock() - timedelta(minutes=1)))
    assert [len(h.history(memory_id)) for memory_id in ids] == [1, 0]
    h.brief("What does the deploy of the shop need?", run_id="r2")
    h.brief("How many minutes does the deploy of the shop take?", run_id="r2")
    h.reflect(run_that_says("[1] is wrong.", run_id="r2"))  # no time: it may mean either
    assert [len(h.history(memory_id)) for memory_id in ids] == [1, 0]


def test_rolling_the_run_back_takes_the_remark_back(h: Hindsight) -> None:
    _, second = briefed(h)
    before = confidence(h, second)
    h.reflect(run_that_says("[2] does not apply."))
    h.rollback(run_id="r1")
    assert confidence(h, second) == pytest.approx(before)


def test_what_a_model_reads_out_of_the_run_counts_as_well(opened: Opener) -> None:
    answer = {
        "lessons": [],
        "remarks": [{"memory": "2", "helpful": False, "reason": "we use containers"}],
    }
    h = opened(model=ScriptedModel([answer]), reflector=None)
    _, second = briefed(h)
    h.reflect(run_that_says("I had no use for [2] as we use containers."))
    (change,) = h.history(second)
    assert change.reason == "said to be wrong by llm_judge: we use containers"
