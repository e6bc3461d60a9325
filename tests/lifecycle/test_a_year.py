"""Each profile's lifecycle numbers, shown by walking a clock through a year."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hindsight_core.lifecycle.cold import leaving
from hindsight_core.lifecycle.decay import faded_confidence
from hindsight_core.models import Memory
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.profiles import PROFILES, Profile
from hindsight_core.testing import EPOCH

DAYS = range(366)


def memory_of(profile: Profile, **more: object) -> Memory:
    return Memory(
        id="m",
        namespace=Namespace.of("a"),
        content="The port is 8080",
        kind="semantic",
        category="fact",
        event_time=EPOCH,
        created_at=EPOCH,
        updated_at=EPOCH,
        confidence=profile.lifecycle.initial_confidence,
        **more,  # type: ignore[arg-type]  # fields of a memory
    )


def first_day(profile: Profile, memory: Memory) -> tuple[str, int] | None:
    """Return what becomes of an idle memory within a year, and on which day."""
    for day in DAYS:
        verdict = leaving(memory, EPOCH + timedelta(days=day), profile.lifecycle)
        if verdict is not None:
            return verdict.status, day
    return None


@pytest.mark.parametrize(
    ("name", "start", "month", "year"),
    [
        ("balanced", 0.7, 0.63, 0.1942),
        ("experience", 0.7, 0.63, 0.1942),
        ("layered", 0.7, 0.63, 0.1942),
        ("three-lane", 0.8, 0.72, 0.2220),
        ("reranked", 0.5, 0.49, 0.3783),
        ("assistant", 0.7, 0.7, 0.7),
    ],
)
def test_confidence_fades_with_the_profile_s_numbers(
    name: str, start: float, month: float, year: float
) -> None:
    profile = PROFILES[name]
    memory = memory_of(profile)
    faded = {
        day: faded_confidence(memory, EPOCH + timedelta(days=day), profile.lifecycle)
        for day in (0, 30, 365)
    }
    assert faded == {
        0: pytest.approx(start, abs=1e-4),
        30: pytest.approx(month, abs=1e-4),
        365: pytest.approx(year, abs=1e-4),
    }


@pytest.mark.parametrize(
    ("name", "importance", "recalled", "became"),
    [
        # 0.7 · 0.9^(d / 30) < 0.3 from day 242 on, long past 60 idle days
        ("balanced", 0.5, False, ("archived", 242)),
        ("experience", 0.5, False, ("archived", 242)),
        # idle for more than 90 days; of low importance and never recalled: forgotten
        ("layered", 0.5, False, ("archived", 91)),
        ("layered", 0.2, False, ("forgotten", 91)),
        # importance < 0.3: never recalled, gone after 7 days; recalled once, cold after 30
        ("three-lane", 0.2, False, ("forgotten", 8)),
        ("three-lane", 0.2, True, ("archived", 31)),
        ("three-lane", 0.5, False, None),
        ("reranked", 0.1, True, ("archived", 91)),
        ("assistant", 0.1, False, None),
    ],
)
def test_what_becomes_of_an_idle_memory_within_a_year(
    name: str, importance: float, recalled: bool, became: tuple[str, int] | None
) -> None:
    profile = PROFILES[name]
    memory = memory_of(profile, importance=importance)
    if recalled:
        memory = replace(memory, access_count=1, last_accessed_at=EPOCH)
    assert first_day(profile, memory) == became


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_used_every_month_stays_all_year(name: str) -> None:
    profile = PROFILES[name]
    memory = memory_of(profile, importance=0.5)
    for day in DAYS:
        now = EPOCH + timedelta(days=day)
        if day % 30 == 0:
            count = memory.access_count + 1
            memory = replace(memory, access_count=count, last_accessed_at=now)
        assert leaving(memory, now, profile.lifecycle) is None


@pytest.mark.parametrize("name", PROFILES)
def test_validity_ends_on_its_day_in_every_profile(name: str) -> None:
    profile = PROFILES[name]
    memory = memory_of(profile, valid_until=EPOCH + timedelta(days=5))
    assert first_day(profile, memory) == ("forgotten", 5)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("year", [1, 1970, 9999])
def test_clocks_that_are_wrong_take_nothing_away_before_its_time(name: str, year: int) -> None:
    profile = PROFILES[name]
    memory = memory_of(profile, importance=0.9)
    ancient = replace(memory, created_at=memory.created_at.replace(year=year))
    confidence = faded_confidence(ancient, EPOCH, profile.lifecycle)
    assert 0.0 <= confidence <= memory.confidence
    if year == 9999:
        assert confidence == memory.confidence
        assert leaving(ancient, EPOCH, profile.lifecycle) is None


def test_a_clock_set_back_neither_fades_nor_revives() -> None:
    lifecycle = PROFILES["balanced"].lifecycle
    memory = memory_of(PROFILES["balanced"], last_accessed_at=EPOCH)
    assert faded_confidence(memory, EPOCH - timedelta(hours=1), lifecycle) == memory.confidence


def test_only_the_assistant_has_a_capacity() -> None:
    assert {n: p.lifecycle.capacity for n, p in PROFILES.items() if p.lifecycle.capacity} == {
        "assistant": 5_000
    }
