"""What memories may be narrowed down by: labels that there are, items that say something.

A condition that says nothing must not stand for "any": what a caller meant to narrow down would
be everything, and `forget` would forget it. So each filter and each query is checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from hindsight_core.clock import as_utc
from hindsight_core.errors import ConfigurationError
from hindsight_core.models import CATEGORIES, KINDS, SOURCES, STATUSES
from hindsight_core.store.words import keyword_words
from hindsight_core.trajectory import OUTCOME_LABELS

__all__ = ["LABELS", "check_label", "check_narrowing"]

LABELS: Mapping[str, tuple[str, ...]] = {
    "statuses": STATUSES,
    "kinds": KINDS,
    "categories": CATEGORIES,
    "sources": SOURCES,
    "outcomes": OUTCOME_LABELS,
}
"""Fields whose labels are fixed, with those there are."""
_OPEN = ("ids", "task_types", "tags", "domains")
"""Fields that take any text but a blank one."""
_SINGLE = ("run_id", "domain")
"""Fields of one text, `""` for any."""


def check_narrowing(asked: object) -> None:
    """Refuse conditions that narrow nothing down or can't be meant, and bring times to UTC.

    Args:
        asked: A frozen filter or query; of its fields those count that a filter can have.

    Raises:
        ConfigurationError: Naming the field, the value, and what to do.
    """
    for name, known in LABELS.items():
        for label in _texts(asked, name):
            check_label(name, label, known)
    _check_open(asked)
    for keyword in _texts(asked, "keywords"):
        if not keyword_words(keyword):
            raise ConfigurationError(
                f"the keyword {keyword!r} has no letter or digit, so nothing can be found by it; "
                "leave it out"
            )
    least = getattr(asked, "min_confidence", 0.0)
    if isinstance(least, bool) or not isinstance(least, int | float) or not _is_share(least):
        raise ConfigurationError(f"min_confidence {least!r} is not in 0–1")
    for name in ("since", "until", "valid_at"):
        moment = getattr(asked, name, None)
        if moment is not None:
            object.__setattr__(asked, name, as_utc(moment, name=name))


def _check_open(asked: object) -> None:
    """Refuse blank text where any other would do."""
    for name in _OPEN:
        for text in _texts(asked, name):
            if not text.strip():
                raise ConfigurationError(f"{name} has the blank item {text!r}; leave it out")
    for name in _SINGLE:
        text = getattr(asked, name, "")
        if text and not text.strip():
            raise ConfigurationError(f"{name} {text!r} is blank; leave it out")


def check_label(name: str, label: object, known: tuple[str, ...]) -> None:
    """Refuse a label that is not among those there are.

    Raises:
        ConfigurationError: Naming the field, the label and `known`.
    """
    if label not in known:
        raise ConfigurationError(f"{name} {label!r} is not known; use one of {', '.join(known)}")


def _texts(asked: object, name: str) -> tuple[str, ...]:
    """Return the items of a field, which is a tuple from now on: it may be read only once."""
    given: str | Iterable[str] = getattr(asked, name, ())
    if isinstance(given, str):
        raise ConfigurationError(f"{name} {given!r} is one text; give a list of labels")
    values = given if isinstance(given, tuple) else tuple(given)
    for value in values:
        if not isinstance(value, str):
            raise ConfigurationError(
                f"{name} has the item {value!r} of type {type(value).__name__}; give texts"
            )
    if values is not given:
        object.__setattr__(asked, name, values)
    return values


def _is_share(number: float) -> bool:
    return math.isfinite(number) and 0.0 <= number <= 1.0
