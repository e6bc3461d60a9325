"""A filter that says nothing, or nothing that can be known, is refused before it is used."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_core.errors import ConfigurationError
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.query import RecallQuery
from hindsight_core.store.base import MemoryFilter
from hindsight_core.store.words import keyword_words

SPACES = (Namespace.of(("acme", "alice")),)
WORDLESS = ["", " ", "\u3000", "🚀", "!!!", "。", "—", "++", "_", "\u0301", "\u200b"]


@pytest.mark.parametrize("keyword", WORDLESS)
@pytest.mark.parametrize("others", [(), ("vpn",)])
def test_a_keyword_without_letters_or_digits_is_refused(
    keyword: str, others: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigurationError, match=r"no letter or digit.*leave it out") as told:
        MemoryFilter(namespaces=SPACES, keywords=(*others, keyword))
    assert repr(keyword) in str(told.value)
    with pytest.raises(ConfigurationError, match="no letter or digit"):
        RecallQuery(text="tea", top_k=5, keywords=(keyword, *others))


@given(st.text())
def test_every_keyword_that_is_taken_asks_for_a_word(keyword: str) -> None:
    try:
        MemoryFilter(namespaces=SPACES, keywords=(keyword,))
    except ConfigurationError:
        assert not keyword_words(keyword)
    else:
        assert keyword_words(keyword)


@pytest.mark.parametrize("name", ["ids", "task_types", "tags", "domains"])
@pytest.mark.parametrize("blank", ["", " ", "\n", "\u3000"])
def test_a_blank_item_of_a_filter_is_refused(name: str, blank: str) -> None:
    wrong: dict[str, Any] = {name: ("known", blank)}
    with pytest.raises(ConfigurationError, match=f"{name} has the blank item .*leave it out"):
        MemoryFilter(namespaces=SPACES, **wrong)


@pytest.mark.parametrize("name", ["statuses", "kinds", "categories", "sources", "outcomes"])
@pytest.mark.parametrize("label", ["", "Active", "z"])
def test_a_label_that_there_is_not_is_refused_with_those_there_are(name: str, label: str) -> None:
    wrong: dict[str, Any] = {name: (label,)}
    with pytest.raises(ConfigurationError, match=f"{name} '{label}' is not known; use .*, "):
        MemoryFilter(namespaces=SPACES, **wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"run_id": " "}, "run_id ' ' is blank"),
        ({"tags": "net"}, "tags 'net' is one text"),
        ({"domains": (5,)}, "domains has the item 5 of type int"),
        ({"min_confidence": -1}, "min_confidence -1 is not in 0–1"),
        ({"min_confidence": float("nan")}, "min_confidence nan is not in 0–1"),
        ({"min_confidence": True}, "min_confidence True is not in 0–1"),
        ({"min_confidence": "high"}, "min_confidence 'high' is not in 0–1"),
        ({"since": "yesterday"}, "since 'yesterday' is str, not a datetime"),
        ({"until": datetime(2026, 1, 1)}, "until .* has no time zone"),
    ],
)
def test_other_values_that_would_narrow_nothing_are_refused(
    wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        MemoryFilter(namespaces=SPACES, **wrong)
