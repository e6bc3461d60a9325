"""What outcomes do to confidence, by policy and by who says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.credit import credited, judged, recredited
from hindsight_core.lifecycle.decay import (
    bound_confidence,
    faded_confidence,
    ranked_confidence,
    ranked_confidences,
)
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.models import Change, Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.profiles import PROFILES
from hindsight_core.testing import EPOCH
from hindsight_core.trajectory import OUTCOME_SOURCES, Outcome, OutcomeSource

ADDITIVE = Lifecycle()
BETA = Lifecycle(credit="beta")
MEMORY = Memory(
    id="m",
    namespace=Namespace.of("a"),
    content="The port is 8080",
    kind="semantic",
    category="fact",
    event_time=EPOCH,
    created_at=EPOCH,
    updated_at=EPOCH,
)
GOOD = Outcome("success", "validator")
BAD = Outcome("failure", "validator")


def test_fixed_steps_weigh_failure_more_and_stop_at_their_bounds() -> None:
    assert credited(MEMORY, GOOD, ADDITIVE).confidence == pytest.approx(0.75)
    assert credited(MEMORY, BAD, ADDITIVE).confidence == pytest.approx(0.6)
    memory = MEMORY
    for _ in range(20):
        memory = credited(memory, GOOD, ADDITIVE)
    assert (memory.confidence, memory.success_count) == (0.95, 20)
    for _ in range(20):
        memory = credited(memory, BAD, ADDITIVE)
    assert memory.confidence == pytest.approx(0.1)


def test_a_confidence_past_the_bound_stays_where_it_is() -> None:
    sure = replace(MEMORY, confidence=1.0)
    assert credited(sure, GOOD, ADDITIVE).confidence == 1.0
    doubtful = replace(MEMORY, confidence=0.05)
    assert credited(doubtful, BAD, ADDITIVE).confidence == 0.05


@pytest.mark.parametrize(
    ("source", "lost"),
    [("validator", 0.1), ("user", 0.1), ("exception", 0.08), ("llm_judge", 0.05), ("rule", 0.025)],
)
def test_what_an_outcome_counts_depends_on_who_says_so(source: OutcomeSource, lost: float) -> None:
    after = credited(MEMORY, Outcome("failure", source), ADDITIVE)
    assert after.confidence == pytest.approx(MEMORY.confidence - lost)


def test_counted_outcomes_move_the_mean_and_the_latest_count() -> None:
    assert credited(MEMORY, GOOD, BETA).confidence == pytest.approx((0.7 * 4 + 1) / 5)
    assert credited(MEMORY, BAD, BETA).confidence == pytest.approx(0.7 * 4 / 5)
    proven = replace(MEMORY, confidence=0.95, success_count=300)
    for _ in range(5):
        proven = credited(proven, BAD, BETA)
    assert proven.confidence < 0.35


def test_ranking_by_the_lower_bound_prefers_what_is_better_known() -> None:
    wide = Lifecycle(credit="beta", counted_outcomes=100.0)
    known = replace(MEMORY, success_count=40, failure_count=20)
    assert bound_confidence(MEMORY, wide) < bound_confidence(known, wide) < MEMORY.confidence
    assert bound_confidence(MEMORY, wide) == pytest.approx(0.7 - (0.7 * 0.3 / 5) ** 0.5)
    assert bound_confidence(MEMORY, ADDITIVE) == MEMORY.confidence
    assert ranked_confidence(MEMORY, EPOCH, BETA) < faded_confidence(MEMORY, EPOCH, BETA) == 0.7


@given(
    confidence=st.floats(0, 1),
    outcomes=st.lists(
        st.builds(
            Outcome, st.sampled_from(("success", "failure")), st.sampled_from(OUTCOME_SOURCES)
        ),
        max_size=30,
    ),
    policy=st.sampled_from([ADDITIVE, BETA, *(p.lifecycle for p in PROFILES.values())]),
)
def test_confidence_never_leaves_its_range(
    confidence: float, outcomes: list[Outcome], policy: Lifecycle
) -> None:
    memory = replace(MEMORY, confidence=confidence)
    for outcome in outcomes:
        after = credited(memory, outcome, policy)
        assert (after.confidence >= memory.confidence - 1e-12) == (
            outcome.label == "success" or after.confidence >= memory.confidence - 1e-12
        )
        memory = after
        assert 0.0 <= memory.confidence <= 1.0
        assert 0.0 <= ranked_confidence(memory, EPOCH, policy) <= memory.confidence
    assert memory.success_count + memory.failure_count == len(outcomes)


@given(
    confidences=st.lists(st.floats(0.0, 1.0), max_size=6),
    days=st.integers(-3, 900),
    outcomes=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    policy=st.sampled_from([ADDITIVE, BETA, *(p.lifecycle for p in PROFILES.values())]),
)
def test_many_are_ranked_by_what_each_is_ranked_by(
    confidences: list[float], days: int, outcomes: tuple[int, int], policy: Lifecycle
) -> None:
    now = EPOCH + timedelta(days=10)
    memories = [
        replace(
            MEMORY,
            confidence=confidence,
            success_count=outcomes[0],
            failure_count=outcomes[1],
            last_accessed_at=None if place % 2 else now - timedelta(days=days),
        )
        for place, confidence in enumerate(confidences)
    ]
    each = [ranked_confidence(memory, now, policy) for memory in memories]
    assert ranked_confidences(memories, now, policy) == each


@pytest.mark.parametrize("policy", [ADDITIVE, BETA])
@pytest.mark.parametrize("source", OUTCOME_SOURCES)
def test_a_more_trusted_verdict_takes_the_earlier_one_back(
    policy: Lifecycle, source: OutcomeSource
) -> None:
    first = Outcome("success", source)
    after = credited(MEMORY, first, policy)
    history = [Change(2, EPOCH, f"success of r1, says {source}", "r1", {})]
    corrected = recredited(after, history, Outcome("failure", "validator"), "r1", policy)
    assert corrected.confidence == pytest.approx(credited(MEMORY, BAD, policy).confidence)
    assert (corrected.success_count, corrected.failure_count) == (0, 1)


def test_outcomes_that_say_nothing_change_nothing() -> None:
    for label in ("partial", "incomplete", "abandoned", "unknown"):
        assert credited(MEMORY, Outcome(label), BETA) == MEMORY


def test_a_person_who_says_wrong_acts_at_once_and_an_agent_by_its_trust() -> None:
    by_user = judged(MEMORY, helpful=False, lifecycle=BETA)
    assert by_user.confidence == pytest.approx(0.35)
    by_agent = judged(MEMORY, helpful=False, lifecycle=BETA, source="llm_judge")
    assert by_agent == credited(MEMORY, Outcome("failure", "llm_judge"), BETA)
    assert by_user.confidence < by_agent.confidence < MEMORY.confidence


def test_what_the_agent_says_does_not_apply_is_kept_with_its_reason(h: Hindsight) -> None:
    memory = h.store("The port is 8080")
    h.feedback(memory_id=memory.id, helpful=False, source="llm_judge", reason="another host")
    assert h.history(memory.id)[-1].reason == "said to be wrong by llm_judge: another host"


def test_praise_that_is_repeated_counts_once(h: Hindsight) -> None:
    memory = h.store("The port is 8080")
    (first,) = h.feedback(memory_id=memory.id, helpful=True)
    assert h.feedback(memory_id=memory.id, helpful=True) == ()
    now = h.get(memory.id)
    assert now is not None
    assert now.confidence == first.confidence
    h.feedback(memory_id=memory.id, helpful=True, source="validator")
    assert h.get(memory.id) != now


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("idle_days", 0.0),
        ("idle_days", 1e-9),
        ("idle_factor", 1.5),
        ("success_gain", float("nan")),
        ("failure_loss", -0.1),
        ("prior_weight", 0.0),
        ("counted_outcomes", float("inf")),
        ("source_weights", (1.0,)),
        ("source_weights", (1.0, 1.0, 1.0, 1.0, 2.0)),
    ],
)
def test_numbers_that_cannot_be_used_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=field):
        replace(ADDITIVE, **{field: value})  # type: ignore[arg-type]  # that is the point
