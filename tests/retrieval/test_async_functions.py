"""A re-ranker or a widening that is async is told so; what answers nonsense falls back."""

from __future__ import annotations

import functools
import gc
import logging
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError, ModelReplyError
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import HashingEmbedder

Opener = Callable[..., Hindsight]


async def rate(query: str, texts: list[str]) -> list[float]:
    return [1.0 for _ in texts]


async def widen(query: str, session: str) -> str:
    return "tea"


class AsyncCall:
    """An object that is called like an async function."""

    async def __call__(self, query: str, texts: Any) -> Any:
        return await rate(query, texts)


class AsyncRate:
    """A re-ranker whose `rate` is async."""

    least = 0.0

    async def rate(self, query: str, texts: Any) -> Any:
        return await rate(query, texts)


class HiddenRate:
    """A re-ranker that looks like a plain one and returns a coroutine."""

    least = 0.0

    def rate(self, query: str, texts: Any) -> Any:
        return rate(query, texts)


@pytest.fixture(autouse=True)
def nothing_is_left_to_be_awaited() -> Any:
    """Have a coroutine that nobody awaited warn, which is an error, within the test."""
    yield
    gc.collect()


@pytest.fixture
def two(opened: Opener, embedder: HashingEmbedder) -> Hindsight:
    """A memory of its own, since failures are counted for each that is open."""
    return filled(opened(embedder=embedder))


def filled(h: Hindsight) -> Hindsight:
    h.store("The user drinks tea")
    h.store("The deploy needs the VPN")
    return h


@pytest.mark.parametrize("given", [rate, functools.partial(rate), AsyncCall(), AsyncRate()])
def test_an_async_re_ranker_is_refused_at_the_call_and_by_the_settings(
    two: Hindsight, given: Any
) -> None:
    for verb in (two.retrieve, two.brief):
        with pytest.raises(ConfigurationError, match=r"rerank .* is async; give a plain function"):
            verb("tea", rerank=given)
    with pytest.raises(ConfigurationError, match=r"rerank .* is async"):
        Settings(rerank=given)


def test_an_async_widening_is_refused_at_the_call_and_by_the_settings(two: Hindsight) -> None:
    wrong: Any = widen
    for query in ("fix it", "the user drinks tea with milk every day"):
        with pytest.raises(ConfigurationError, match=r"expand .* is async; give a plain function"):
            two.retrieve(query, expand=wrong)
    with pytest.raises(ConfigurationError, match=r"expand .* is async"):
        Settings(expand=wrong)


@pytest.mark.parametrize("given", [lambda query, texts: rate(query, texts), HiddenRate()])
def test_a_re_ranker_that_returns_a_coroutine_leaves_the_order_and_is_counted(
    two: Hindsight, given: Any, caplog: pytest.LogCaptureFixture
) -> None:
    plain = [result.memory.id for result in two.retrieve("tea")]
    with caplog.at_level(logging.WARNING):
        assert [r.memory.id for r in two.retrieve("tea", rerank=given)] == plain
    assert two.stats().failures == {"rerank": 1}
    assert "coroutine" in two.stats().last_failures["rerank"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "answer", [5, 0, False, ["tea"], {"query": "tea"}, b"tea"], ids=lambda value: repr(value)
)
def test_a_widening_that_gives_no_text_is_counted_and_leaves_the_query(
    two: Hindsight, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    plain = two.retrieve("tea")
    with caplog.at_level(logging.WARNING):
        assert two.retrieve("tea", expand=lambda query, session: answer) == plain
    assert two.stats().failures == {"expand": 1}
    assert "gave" in two.stats().last_failures["expand"]
    assert len(caplog.records) == 1


def test_a_widening_that_returns_a_coroutine_is_counted(two: Hindsight) -> None:
    given: Any = lambda query, session: widen(query, session)  # noqa: E731 - hides the async
    two.retrieve("tea", expand=given)
    assert two.stats().failures == {"expand": 1}
    assert "coroutine" in two.stats().last_failures["expand"]


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_widening_that_has_nothing_to_add_is_no_failure(two: Hindsight, nothing: Any) -> None:
    two.retrieve("tea", expand=lambda query, session: nothing)
    assert two.stats().failures == {}


def test_where_it_is_strict_both_are_raised(opened: Opener) -> None:
    strict = filled(opened(embedder=HashingEmbedder(), strict=True))
    wrong: Any = lambda query, session: 5  # noqa: E731 - of no type that is allowed
    with pytest.raises(ModelReplyError, match="int"):
        strict.retrieve("tea", expand=wrong)
    with pytest.raises(ModelReplyError, match="coroutine"):
        strict.retrieve("tea", rerank=HiddenRate())
