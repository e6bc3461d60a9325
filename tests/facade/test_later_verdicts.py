"""A verdict that comes after the reflection reaches the run's own experience."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.rejudge import decisive
from hindsight_core.models import Memory
from hindsight_core.reflection.base import Reflected
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.testing import HashingEmbedder, csv_run
from hindsight_core.trajectory import Outcome, Trajectory

SAID = "Later judged: failure, by the user: the total was wrong."


def run(outcome: Outcome | None = None, **changes: Any) -> Trajectory:
    return replace(csv_run(), outcome=outcome or Outcome(), **changes)


def experience(h: Hindsight) -> Memory:
    (memory,) = h.list(categories=("experience",)).memories
    return memory


def test_a_later_verdict_reaches_the_experience_of_an_unjudged_run(h: Hindsight) -> None:
    h.reflect(run())
    before = experience(h)
    assert before.outcome == "unknown"
    (changed,) = h.feedback(
        run_id="run_csv", outcome="failure", source="user", reason="the total was wrong"
    )
    after = experience(h)
    assert after == changed
    assert (after.outcome, after.content) == ("failure", f"{before.content} {SAID}")
    assert "later judged failure by user: the total was wrong" in h.history(after.id)[-1].reason


def test_the_same_verdict_again_changes_nothing(h: Hindsight) -> None:
    h.reflect(run())
    said = {"run_id": "run_csv", "outcome": "failure", "reason": "the total was wrong"}
    h.feedback(**said)  # type: ignore[arg-type]  # spelled out above
    once = experience(h)
    assert h.feedback(**said) == ()  # type: ignore[arg-type]  # spelled out above
    assert experience(h) == once


def test_the_newest_of_equally_trusted_verdicts_stands_alone(h: Hindsight) -> None:
    h.reflect(run())
    h.feedback(run_id="run_csv", outcome="success", reason="looks right")
    h.feedback(run_id="run_csv", outcome="failure", reason="the total was wrong")
    after = experience(h)
    assert after.outcome == "failure"
    assert after.content.endswith(SAID)
    assert after.content.count("Later judged") == 1


@pytest.mark.parametrize(
    ("first", "source", "stands"),
    [
        (Outcome("success", "validator"), "user", "success"),
        (Outcome("success", "llm_judge"), "user", "failure"),
        (Outcome("success", "user"), "user", "failure"),
        (Outcome("unknown", "validator"), "rule", "failure"),
    ],
)
def test_a_verdict_counts_when_its_source_is_trusted_as_much_as_the_one_before(
    h: Hindsight, first: Outcome, source: Any, stands: str
) -> None:
    h.reflect(run(first))
    h.feedback(run_id="run_csv", outcome="failure", source=source)
    assert experience(h).outcome == stands


def test_a_less_trusted_verdict_does_not_overrule_a_later_one(h: Hindsight) -> None:
    h.reflect(run())
    h.feedback(run_id="run_csv", outcome="failure", source="user")
    assert h.feedback(run_id="run_csv", outcome="success", source="llm_judge") == ()
    assert experience(h).outcome == "failure"


def test_a_verdict_that_says_what_is_known_and_why_nothing_more_is_left_out(h: Hindsight) -> None:
    h.reflect(run(Outcome("success", "user")))
    before = experience(h)
    assert h.feedback(run_id="run_csv", outcome="success", source="user") == ()
    assert h.feedback(run_id="run_csv", outcome="unknown", source="user") == ()
    assert experience(h) == before


def test_the_sentence_is_in_the_language_of_the_memory(h: Hindsight) -> None:
    task = "读取订单文件，告诉我总金额是多少"
    steps = tuple(
        replace(step, text=task) if step.kind == "user" else step for step in csv_run().steps
    )
    h.reflect(run(task=task, steps=steps))
    h.feedback(run_id="run_csv", outcome="failure", reason="总金额不对。")
    h.feedback(run_id="run_csv", outcome="partial", source="validator", reason="少了一行")
    content = experience(h).content
    assert content.endswith("后来的评判：部分成功，来自校验程序：少了一行。")
    assert content.count("后来的评判") == 1


def test_the_rules_of_the_run_stay_as_they_are(h: Hindsight) -> None:
    h.reflect(run())
    rules = h.list(categories=("rule",)).memories
    assert rules
    h.feedback(run_id="run_csv", outcome="failure", reason="the total was wrong")
    assert h.list(categories=("rule",)).memories == rules


def test_a_secret_in_the_reason_is_not_kept(h: Hindsight) -> None:
    h.reflect(run())
    secret = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    h.feedback(run_id="run_csv", outcome="failure", reason=f"the key {secret} was shown")
    after = experience(h)
    assert secret not in after.content
    assert secret not in h.history(after.id)[-1].reason


def test_an_experience_that_the_run_itself_was_given_is_judged_and_credited_at_once(
    h: Hindsight,
) -> None:
    h.reflect(run())
    before = experience(h)
    h.brief("Load orders.csv and tell me the total", run_id="run_csv")
    h.feedback(run_id="run_csv", outcome="failure")
    after = experience(h)
    assert (after.outcome, after.failure_count) == ("failure", before.failure_count + 1)


def test_a_run_that_nobody_knows_changes_nothing(h: Hindsight) -> None:
    assert h.feedback(run_id="run_none", outcome="failure") == ()


class HeldReflector:
    """Reflects by rules, and does what it is told to before or after."""

    name = "rules"

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], object]] = []

    def reflect(self, run: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        found = RuleReflector().reflect(run, known, now)
        while self.meanwhile:
            self.meanwhile.pop()()
        return found


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Hindsight, HeldReflector]]:
    reflector = HeldReflector()
    with Hindsight.open(
        tmp_path, namespace="acme", embedder=HashingEmbedder(), reflector=reflector
    ) as opened:
        yield opened, reflector


def test_a_verdict_given_before_the_reflection_is_the_outcome_that_is_reflected_on(
    h: Hindsight,
) -> None:
    h.feedback(run_id="run_csv", outcome="failure", reason="the total was wrong")
    h.reflect(run(Outcome("success", "rule")))
    after = experience(h)
    assert after.outcome == "failure"
    assert "the total was wrong" in after.content
    assert "Later judged" not in after.content


def test_a_less_trusted_verdict_given_before_the_reflection_does_not_count(h: Hindsight) -> None:
    h.feedback(run_id="run_csv", outcome="failure", source="llm_judge")
    h.reflect(run(Outcome("success", "validator")))
    assert experience(h).outcome == "success"


def test_a_verdict_given_during_the_reflection_is_not_lost(
    held: tuple[Hindsight, HeldReflector],
) -> None:
    h, reflector = held
    reflector.meanwhile.append(
        lambda: h.feedback(run_id="run_csv", outcome="failure", reason="the total was wrong")
    )
    h.reflect(run())
    after = experience(h)
    assert after.outcome == "failure"
    assert after.content.endswith(SAID)


def test_the_decisive_verdict_is_the_latest_of_the_most_trusted() -> None:
    said = [
        Outcome("failure", "llm_judge"),
        Outcome("success", "user"),
        Outcome("failure", "user"),
        Outcome("unknown", "validator"),
        Outcome("success", "rule"),
    ]
    assert decisive(Outcome(), said) == Outcome("failure", "user")
    assert decisive(Outcome("success", "validator"), said) == Outcome("success", "validator")
