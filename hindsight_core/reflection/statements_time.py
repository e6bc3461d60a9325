"""Until when a statement holds, and since when, from the words that say so.

Relative words ("next week", "明天") are read against the moment at which they were said. Days
begin at midnight UTC, weeks on Monday. `valid_until` is the first moment at which the statement
no longer holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["Span", "event_time_of", "span_of", "valid_until_of"]

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ZH_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_ZH_DIGITS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8}
_EN_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
    "a couple of": 2,
    "couple of": 2,
}
MOST_UNITS = 400
"""Largest count of days, weeks or months that is believed."""


@dataclass(frozen=True, slots=True)
class Span:
    """When a statement holds.

    Attributes:
        words: The words that say so.
        end: The first moment after it, aware UTC.
    """

    words: str
    end: datetime


Reader = Callable[[re.Match[str], datetime], datetime]


def _midnight(moment: datetime, days: int = 0) -> datetime:
    start = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start + timedelta(days=days)


def _next_monday(moment: datetime, weeks: int = 1) -> datetime:
    return _midnight(moment, 7 * weeks - moment.astimezone(UTC).weekday())


def _month_start(moment: datetime, months: int) -> datetime:
    first = _midnight(moment).replace(day=1)
    index = first.year * 12 + first.month - 1 + months
    return first.replace(year=index // 12, month=index % 12 + 1)


def _year_start(moment: datetime, years: int) -> datetime:
    first = _midnight(moment)
    return first.replace(year=first.year + years, month=1, day=1)


def _after_weekday(weekday: int, moment: datetime, weeks: int = 0) -> datetime:
    """Return the end of the next such day, today included, or of that day `weeks` on."""
    today = moment.astimezone(UTC).weekday()
    if weeks:
        return _midnight(moment, 7 * weeks - today + weekday + 1)
    return _midnight(moment, (weekday - today) % 7 + 1)


def _date(written: str) -> datetime:
    return datetime.fromisoformat(written).replace(tzinfo=UTC)


def _en_weekday(match: re.Match[str], moment: datetime) -> datetime:
    weekday = _WEEKDAYS.index(match.group("day").lower())
    return _after_weekday(weekday, moment, 1 if match.group("next") else 0)


def _zh_weekday(match: re.Match[str], moment: datetime) -> datetime:
    weekday = _ZH_WEEKDAYS[match.group("day")]
    return _after_weekday(weekday, moment, len(match.group("next") or ""))


def _units_on(match: re.Match[str], moment: datetime) -> datetime:
    written = match.group("count").lower()
    count = int(written) if written.isascii() and written.isdigit() else 0
    count = min(count or _EN_NUMBERS.get(written) or _ZH_DIGITS.get(written, 1), MOST_UNITS)
    unit = match.group("unit").lower()
    if unit.startswith(("month", "个月")):
        return _midnight(moment, 31 * count + 1)
    return _midnight(
        moment, (7 if unit.startswith(("week", "周", "个星期", "星期")) else 1) * count + 1
    )


_DAY = "(?P<day>" + "|".join(_WEEKDAYS) + ")"
_ZH_WEEK = "(?:周|星期|礼拜)"
_COUNT = r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|ten|a couple of|couple of)"
_END_OF = r"(?:the )?end of (?:the|this)"
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), reader)
    for pattern, reader in (
        (r"\bthe day after tomorrow\b|后天", lambda _, now: _midnight(now, 3)),
        (r"(?<!after )\btomorrow\b|明[天日早晚]", lambda _, now: _midnight(now, 2)),
        (
            r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b|今[天日晚]",
            lambda _, now: _midnight(now, 1),
        ),
        (rf"\b(?:until|till|by|through|on|this|coming)? ?(?P<next>next )?{_DAY}\b", _en_weekday),
        (rf"(?P<next>下{{1,2}})?个?{_ZH_WEEK}(?P<day>[一二三四五六日天])", _zh_weekday),
        (r"\bthis weekend\b|(?<!下)(?<!下个)(?:这个?|本)?周末", lambda _, now: _next_monday(now)),
        (r"\bnext weekend\b|下个?周末", lambda _, now: _next_monday(now, 2)),
        (
            rf"\b(?:this week|{_END_OF} week)\b|[这本]个?{_ZH_WEEK}(?![一二三四五六日天末])",
            lambda _, now: _next_monday(now),
        ),
        (
            rf"\bnext week\b|下个?{_ZH_WEEK}(?![一二三四五六日天末])",
            lambda _, now: _next_monday(now, 2),
        ),
        (
            rf"\b(?:this month|{_END_OF} month)\b|[这本]个?月|(?<!下)(?<!下个)月底",
            lambda _, now: _month_start(now, 1),
        ),
        (r"\bnext month\b|下个?月", lambda _, now: _month_start(now, 2)),
        (rf"\b(?:this year|{_END_OF} year)\b|今年|年底", lambda _, now: _year_start(now, 1)),
        (r"\bnext year\b|明年", lambda _, now: _year_start(now, 2)),
        (
            (
                rf"\b(?:in|for(?: the next)?|the next|within) {_COUNT} (?P<unit>days?|weeks?"
                rf"|months?)\b"
            ),
            _units_on,
        ),
        (
            r"(?P<count>\d{1,3}|[一两二三四五六七八])(?P<unit>天|周|个星期|个月)(?:内|之?后|以后)",
            _units_on,
        ),
        (
            r"(?:\b(?:until|till|by|through)\s+|[到至])(?P<date>\d{4}-\d\d-\d\d)\b",
            lambda match, _: _midnight(_date(match.group("date")), 1),
        ),
    )
)
_PAST: tuple[tuple[re.Pattern[str], Callable[[datetime], datetime]], ...] = (
    (re.compile(r"\bthe day before yesterday\b|前天", re.I), lambda now: _midnight(now, -2)),
    (re.compile(r"\b(?:yesterday|last night)\b|昨[天晚日]", re.I), lambda now: _midnight(now, -1)),
    (re.compile(r"\blast week\b|上个?(?:周|星期|礼拜)", re.I), lambda now: _next_monday(now, -1)),
    (re.compile(r"\blast month\b|上个?月", re.I), lambda now: _month_start(now, -1)),
    (re.compile(r"\blast year\b|去年", re.I), lambda now: _year_start(now, -1)),
)


def span_of(text: str, moment: datetime) -> Span | None:
    """Return the words in `text` that bound a statement in time, `None` if there are none.

    Where there are several, the one that ends last counts.

    Args:
        text: A statement.
        moment: When it was said, aware.
    """
    spans = []
    for pattern, reader in _READERS:
        match = pattern.search(text)
        if match is not None:
            try:
                spans.append(Span(match.group().strip(), reader(match, moment)))
            except (OverflowError, ValueError):
                continue  # past the last year that a datetime can tell
    return max(spans, key=lambda span: span.end, default=None)


def valid_until_of(text: str, moment: datetime) -> datetime | None:
    """Return the first moment at which `text` no longer holds, `None` if it doesn't say."""
    span = span_of(text, moment)
    return None if span is None else span.end


def event_time_of(text: str, moment: datetime) -> datetime | None:
    """Return the start of the past day, week, month or year that `text` speaks of."""
    for pattern, reader in _PAST:
        if pattern.search(text):
            try:
                return reader(moment)
            except (OverflowError, ValueError):
                return None
    return None
