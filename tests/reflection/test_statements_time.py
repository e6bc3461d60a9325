from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.reflection.statements_time import event_time_of, span_of, valid_until_of

WEDNESDAY = datetime(2026, 1, 7, 15, 30, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("I'm away today", "2026-01-08"),
        ("I'm flying tomorrow", "2026-01-09"),
        ("I'm off the day after tomorrow", "2026-01-10"),
        ("I'm on leave this week", "2026-01-12"),
        ("I'm going to Beijing next week", "2026-01-19"),
        ("I'm on vacation until Friday", "2026-01-10"),
        ("I'm in Rome until Wednesday", "2026-01-08"),
        ("I'm in Rome next Friday", "2026-01-17"),
        ("I'm away this weekend", "2026-01-12"),
        ("I'm away next weekend", "2026-01-19"),
        ("I'm here until the end of the month", "2026-02-01"),
        ("I'm moving next month", "2026-03-01"),
        ("I'm here until the end of the year", "2027-01-01"),
        ("I'm moving next year", "2028-01-01"),
        ("I'm away for two weeks", "2026-01-22"),
        ("I'm back in 3 days", "2026-01-11"),
        ("I'm away for a month", "2026-02-08"),
        ("I'm away until 2026-05-20", "2026-05-21"),
        ("我今天不在", "2026-01-08"),
        ("我明天去上海", "2026-01-09"),
        ("我后天出差", "2026-01-10"),
        ("我这周请假", "2026-01-12"),
        ("我下周去北京", "2026-01-19"),
        ("我下周五去北京", "2026-01-17"),
        ("我周五去北京", "2026-01-10"),
        ("我周末去爬山", "2026-01-12"),
        ("我下周末去爬山", "2026-01-19"),
        ("我本月底离职", "2026-02-01"),
        ("我下个月搬家", "2026-03-01"),
        ("我今年在杭州", "2027-01-01"),
        ("我明年毕业", "2028-01-01"),
        ("我三天内都在", "2026-01-11"),
        ("我两周后回来", "2026-01-22"),
    ],
)
def test_words_that_bound_a_statement_are_read_against_the_moment(text: str, end: str) -> None:
    assert valid_until_of(text, WEDNESDAY) == day(end)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Oslo",
        "I hate Mondays",
        "我住在上海",
        "",
        "I was born in 1990",
        "until 2026-99-99",
    ],
)
def test_a_statement_without_such_words_holds_on(text: str) -> None:
    assert span_of(text, WEDNESDAY) is None
    assert valid_until_of(text, WEDNESDAY) is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("I moved yesterday", "2026-01-06"),
        ("I moved the day before yesterday", "2026-01-05"),
        ("I moved last week", "2025-12-29"),
        ("I moved last month", "2025-12-01"),
        ("I moved last year", "2025-01-01"),
        ("我昨天搬家了", "2026-01-06"),
        ("我上个月搬到了深圳", "2025-12-01"),
        ("我去年毕业", "2025-01-01"),
    ],
)
def test_what_happened_before_has_its_own_time(text: str, start: str) -> None:
    assert event_time_of(text, WEDNESDAY) == day(start)


def test_what_says_no_time_has_none() -> None:
    assert event_time_of("I moved to Oslo", WEDNESDAY) is None


def test_the_words_that_were_read_are_told() -> None:
    span = span_of("I'm going to Beijing next week", WEDNESDAY)
    assert span is not None
    assert span.words == "next week"


def test_days_are_those_of_utc_whatever_zone_the_moment_is_in() -> None:
    in_tokyo = datetime(2026, 1, 8, 3, tzinfo=timezone(timedelta(hours=9)))
    assert valid_until_of("until tomorrow", in_tokyo) == day("2026-01-09")


def test_the_edges_of_the_calendar_do_no_harm() -> None:
    last = datetime(9999, 12, 31, 23, tzinfo=UTC)
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert valid_until_of("next year, next month, next week, tomorrow", last) is None
    assert event_time_of("last year", first) is None
    assert event_time_of("yesterday", first) is None


@given(
    st.sampled_from(["today", "tomorrow", "next week", "until Friday", "下周", "本月底"]),
    st.datetimes(
        min_value=datetime(2000, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)
    ),
)
def test_an_end_always_lies_ahead_within_three_months(text: str, moment: datetime) -> None:
    end = valid_until_of(text, moment)
    assert end is not None
    assert moment < end <= moment + timedelta(days=93)
    assert end == end.replace(hour=0, minute=0, second=0, microsecond=0)
