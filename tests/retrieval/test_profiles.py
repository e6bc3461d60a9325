"""Each described profile's arithmetic, computed by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Memory, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.fusion import Relevance
from hindsight_core.retrieval.profiles import PROFILES, Profile, profile_named
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.retrieval.recall import choose
from hindsight_core.retrieval.scoring import Candidate, Situation, score
from hindsight_core.store.base import Hit

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def memory(memory_id: str = "mem_a", **values: Any) -> Memory:
    given: dict[str, Any] = {
        "kind": "semantic",
        "category": "fact",
        "event_time": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Memory(
        id=memory_id,
        namespace=Namespace.of("acme"),
        content="The deploy needs the VPN",
        **(given | values),
    )


def candidate(similarity: float = 0.8, **values: Any) -> Candidate:
    vector = values.pop("vector", similarity)
    keyword = values.pop("keyword", similarity)
    found = memory(**values)
    hit = Hit(found, similarity)
    relevance = Relevance(hit, similarity, 0.0, 0.0, vector, keyword, strength=similarity)
    return Candidate(found, relevance, similarity)


def one(profile: str, entry: Candidate, **situation: Any) -> Retrieved:
    return score([entry], Situation(PROFILES[profile], NOW, **situation))[0]


def test_experience_adds_task_type_confidence_and_access_and_multiplies_by_age() -> None:
    entry = candidate(
        0.8,
        task_type="coding",
        confidence=0.7,
        access_count=3,
        event_time=NOW - timedelta(days=73),
    )
    result = one("experience", entry, task_type="coding")
    # (0.5·0.8 + 0.2 + 0.2·0.7 + min(3/10, 0.1)) · (1 − 73/365)
    assert result.score == pytest.approx((0.4 + 0.2 + 0.14 + 0.1) * 0.8)
    assert result.factors["×age"] == pytest.approx(0.8)


def test_experience_never_multiplies_by_less_than_a_half() -> None:
    entry = candidate(0.8, confidence=0.5, event_time=NOW - timedelta(days=3_000))
    assert one("experience", entry).score == pytest.approx((0.4 + 0.1) * 0.5)


def test_layered_adds_recency_tags_and_importance() -> None:
    entry = candidate(0.5, importance=0.6, tags=("csv", "io"), event_time=NOW - timedelta(days=30))
    result = one("layered", entry, tags=frozenset({"csv", "network"}))
    # 0.4·0.5 + 0.2·2^(−30/30) + 0.2·(1 of 2 tags) + 0.2·0.6
    assert result.score == pytest.approx(0.2 + 0.1 + 0.1 + 0.12)


def test_three_lane_weighs_its_lanes_apart_and_fades_importance_by_the_hour() -> None:
    entry = candidate(
        0.9, vector=0.5, keyword=1.0, importance=0.8, last_accessed_at=NOW - timedelta(hours=50)
    )
    result = one("three-lane", entry)
    # 0.4·0.5 + 0.3·1.0 + 0.3·0.8·e^(−0.01·50)
    assert result.score == pytest.approx(0.2 + 0.3 + 0.24 * math.exp(-0.5))


def test_three_lane_always_keeps_three_important_semantic_memories() -> None:
    profile = PROFILES["three-lane"]
    episodes = [
        Retrieved(memory(f"mem_e{i}", kind="episodic", category="experience"), 0.9 - i / 100, {})
        for i in range(9)
    ]
    rules = [Retrieved(memory(f"mem_s{i}", importance=i / 10), 0.1, {}) for i in range(5)]
    chosen = choose([*episodes, *rules], RecallQuery(text="x", top_k=8), profile, NOW)
    assert [r.memory.id for r in chosen if r.memory.kind == "semantic"] == [
        "mem_s2",
        "mem_s3",
        "mem_s4",
    ]
    assert sum(r.memory.kind == "episodic" for r in chosen) == 5


def test_reranked_weighs_semantic_memories_by_confidence_and_episodes_not() -> None:
    rule = one("reranked", candidate(0.8, confidence=0.5))
    episode = one(
        "reranked", candidate(0.8, confidence=0.5, kind="episodic", category="experience")
    )
    assert rule.score == pytest.approx(0.4)
    assert episode.score == pytest.approx(0.8)


def test_assistant_adds_recency_and_frequency_and_boosts_matching_tags() -> None:
    entry = candidate(0.5, access_count=9, tags=("tea",), event_time=NOW - timedelta(days=7))
    result = one("assistant", entry, tags=frozenset({"tea"}))
    # (0.6·0.5 + 0.25·2^(−7/7) + 0.15·ln(10)/ln(20)) · 1.2
    expected = (0.3 + 0.125 + 0.15 * math.log(10) / math.log(20)) * 1.2
    assert result.score == pytest.approx(expected)


def test_assistant_lets_preferences_fade_more_slowly_than_the_rest() -> None:
    old = NOW - timedelta(days=28)
    preference = one("assistant", candidate(0.0, category="preference", event_time=old))
    state = one("assistant", candidate(0.0, category="fact", event_time=old))
    assert preference.factors["recency"] == pytest.approx(0.25 * 0.5)
    assert state.factors["recency"] == pytest.approx(0.25 * 0.5**4)


def test_added_factors_sum_to_the_score_before_the_multipliers() -> None:
    for name in PROFILES:
        result = one(name, candidate(0.7, access_count=2, importance=0.4))
        added = sum(v for k, v in result.factors.items() if not k.startswith("×"))
        multiplied = math.prod(v for k, v in result.factors.items() if k.startswith("×"))
        assert result.score == pytest.approx(added * multiplied), name


@pytest.mark.parametrize(
    "moment",
    [
        NOW + timedelta(days=2),
        datetime(9999, 12, 31, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
    ],
    ids=["two days ahead", "year 9999", "1970"],
)
def test_no_date_takes_a_factor_out_of_its_range(moment: datetime) -> None:
    for name, profile in PROFILES.items():
        entry = candidate(0.5, event_time=moment, created_at=moment, last_accessed_at=moment)
        result = one(name, entry)
        for factor, value in result.factors.items():
            bound = 1.2 if factor.startswith("×") else max(profile.add.values())
            low = -max(profile.add.values()) if name == "balanced" else 0.0
            assert low <= value <= bound, (name, factor)


@pytest.mark.parametrize("half_life", [0.0, 1e-9, -1.0, math.nan, math.inf])
def test_a_half_life_that_can_not_divide_is_refused(half_life: float) -> None:
    with pytest.raises(ConfigurationError, match="half_life_days"):
        Profile(name="mine", add={"recency": 1.0}, half_life_days=half_life)


@pytest.mark.parametrize("weight", [math.nan, -0.1, math.inf])
def test_a_weight_that_can_not_rank_is_refused(weight: float) -> None:
    with pytest.raises(ConfigurationError, match="finite and 0 or more"):
        Profile(name="mine", add={"similarity": weight})


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no weight above 0"):
        Profile(name="mine", add={"similarity": 0.0})


def test_a_profile_is_read_from_plain_data() -> None:
    mine = Profile.from_mapping(
        {
            "base": "layered",
            "name": "mine",
            "add": {"similarity": 1.0},
            "lanes": {"dense": 7},
            "lifecycle": {"success_gain": 0.2},
        }
    )
    assert mine.lanes.dense == 7
    assert mine.lanes.recent == PROFILES["layered"].lanes.recent
    assert mine.lifecycle.success_gain == 0.2


@pytest.mark.parametrize(
    "values",
    [{"halflife": 3}, {"add": {"similarty": 1.0}}, {"lanes": {"dens": 3}}, {"base": "none"}],
    ids=["unknown key", "unknown factor", "unknown lane", "unknown base"],
)
def test_plain_data_with_a_slip_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Profile.from_mapping({"name": "mine", **values})


def test_a_profile_that_is_not_known_is_refused_with_the_list() -> None:
    with pytest.raises(ConfigurationError, match="balanced, experience"):
        profile_named("fancy")
