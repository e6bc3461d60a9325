"""A closer look at the candidates: by a model, a cross-encoder or a function."""

from __future__ import annotations

import io
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hindsight_core.cli.views import retrieved_table
from hindsight_core.embedding.cross_encoder import CrossEncoder
from hindsight_core.errors import (
    ConfigurationError,
    ModelCallError,
    ModelReplyError,
    ModelUnavailableError,
)
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Kind, Memory, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.reflection.base import ModelReply, Prompt
from hindsight_core.retrieval.rerank import (
    CANDIDATES,
    CallableReranker,
    Rating,
    as_reranker,
    candidate_text,
    candidates_of,
    checked,
    in_new_order,
)
from hindsight_core.retrieval.rerank_model import ModelReranker, read_ratings
from hindsight_core.retrieval.timebox import within
from hindsight_core.settings import Settings
from hindsight_core.testing import ScriptedModel

Opener = Callable[..., Hindsight]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
FACTS = (
    "The deploy needs the VPN",
    "The deploy runs at night",
    "The deploy is announced in the channel",
)
QUERY = "what does the deploy need"


def fill(h: Hindsight) -> None:
    for fact in FACTS:
        h.store(fact)


def order(h: Hindsight, **options: Any) -> list[str]:
    return [result.memory.content for result in h.retrieve(QUERY, **options)]


def announced_first(query: str, texts: Sequence[str]) -> list[float]:
    return [5.0 if "announced" in text else 2.0 for text in texts]


def test_a_function_orders_the_candidates_anew_and_its_ratings_are_shown(h: Hindsight) -> None:
    fill(h)
    plain = order(h)
    ranked = h.retrieve(QUERY, rerank=announced_first)
    assert ranked[0].memory.content == FACTS[2]
    assert dict(ranked[0].factors)["rating"] == 5.0
    assert ranked[0].score == 5.0
    # Those with equal ratings keep their order.
    rest = [result.memory.content for result in ranked[1:]]
    assert rest == [content for content in plain if content != FACTS[2]]


def test_off_means_that_nobody_is_asked(opened: Opener) -> None:
    asked: list[str] = []

    def spy(query: str, texts: Sequence[str]) -> list[float]:
        asked.append(query)
        return [1.0] * len(texts)

    h = opened(rerank=spy)
    fill(h)
    h.retrieve(QUERY, rerank=False)
    h.retrieve(QUERY, rerank="off")
    assert asked == []
    h.retrieve(QUERY)
    assert asked == [QUERY]


def test_by_default_no_model_is_asked(opened: Opener) -> None:
    model = ScriptedModel(["{}"])
    h = opened(model=model)
    fill(h)
    h.retrieve(QUERY)
    assert model.prompts == []


def scores(*numbers: Any) -> dict[str, Any]:
    entries = [{"id": n, "score": s, "reason": f"why {n}"} for n, s in enumerate(numbers, 1)]
    return {"scores": entries}


def test_a_model_rates_all_candidates_in_one_call_with_reasons(opened: Opener) -> None:
    def reply(prompt: Prompt) -> Any:
        lines = prompt.user.splitlines()
        place = next(n for n, line in enumerate(lines) if "announced" in line)
        number = int(lines[place][1 : lines[place].index("]")])
        return scores(*(5 if n == number else 2 for n in (1, 2, 3)))

    model = ScriptedModel([reply])
    h = opened(model=model, rerank="model")
    fill(h)
    first = h.retrieve(QUERY)[0]
    assert first.memory.content == FACTS[2]
    assert first.factors["rating"] == 5.0
    assert first.reason.startswith("why ")
    assert len(model.prompts) == 1
    assert all(fact in model.prompts[0].user for fact in FACTS)
    assert QUERY in model.prompts[0].user


def test_the_reranked_profile_multiplies_ratings_by_the_confidence_of_semantic_memories(
    opened: Opener,
) -> None:
    model = ScriptedModel([lambda prompt: scores(4, 4, 4)])
    h = opened(model=model, rerank="model", profile=None)
    h.store("The deploy needs the VPN", confidence=0.5)
    h.store("The deploy is announced in the channel", confidence=0.9)
    h.store("The deploy ran at night", kind="episodic", category="experience", confidence=0.2)
    found = {r.memory.content: r for r in h.retrieve(QUERY, profile="reranked")}
    assert found["The deploy needs the VPN"].score == pytest.approx(4 * 0.5)
    assert found["The deploy is announced in the channel"].score == pytest.approx(4 * 0.9)
    assert found["The deploy ran at night"].score == pytest.approx(4.0)
    semantic = found["The deploy needs the VPN"].factors
    assert semantic["rating"] * semantic["×semantic_confidence"] == pytest.approx(2.0)
    assert next(iter(found)) == "The deploy ran at night"


def test_a_brief_leaves_out_what_a_model_calls_irrelevant(opened: Opener) -> None:
    h = opened(model=ScriptedModel([lambda prompt: scores(1, 5, 1)]), rerank="model")
    fill(h)
    assert len(h.brief(QUERY).retrieved) == 1
    assert len(h.retrieve(QUERY)) == 3


@pytest.mark.parametrize(
    "failing",
    [
        lambda query, texts: 1 / 0,
        lambda query, texts: [1.0],
        lambda query, texts: [math.nan] * len(texts),
        lambda query, texts: [-1.0] * len(texts),
        lambda query, texts: ["many"] * len(texts),
        lambda query, texts: None,
    ],
    ids=["raises", "too few", "NaN", "negative", "words", "nothing"],
)
def test_a_re_ranker_that_fails_leaves_the_order_and_is_counted(
    h: Hindsight, failing: Callable[..., Any]
) -> None:
    fill(h)
    before = h.stats().failures.get("rerank", 0)
    assert order(h, rerank=failing) == order(h)
    assert h.stats().failures["rerank"] == before + 1


@pytest.mark.parametrize(
    "reply",
    ["I would rather not.", "", {"scores": []}, scores(4), ModelCallError("busy", status=503)],
    ids=["refusal", "empty", "no scores", "one of three", "error"],
)
def test_a_model_that_answers_nonsense_leaves_the_order_and_is_counted(
    opened: Opener, reply: Any
) -> None:
    h = opened(model=ScriptedModel([reply]), rerank="model")
    fill(h)
    assert order(h) == order(h, rerank=False)
    assert h.stats().failures["rerank"] == 1
    assert h.brief(QUERY)


def test_a_re_ranker_that_hangs_is_given_up(opened: Opener) -> None:
    held = threading.Event()

    def hang(query: str, texts: Sequence[str]) -> list[float]:
        held.wait(60)
        return [1.0] * len(texts)

    h = opened(rerank=hang, rerank_timeout=0.05)
    fill(h)
    try:
        assert order(h) == order(h, rerank=False)
        assert "0.05 s" in h.stats().last_failures["rerank"]
    finally:
        held.set()


def test_with_strict_settings_a_failure_raises(opened: Opener) -> None:
    h = opened(strict=True, rerank=lambda query, texts: [1.0])
    fill(h)
    with pytest.raises(ModelReplyError, match="1 ratings for 3 candidates"):
        h.retrieve(QUERY)


async def test_the_async_twin_re_ranks_as_well(h: Hindsight) -> None:
    fill(h)
    found = await h.aretrieve(QUERY, rerank=announced_first)
    assert found[0].memory.content == FACTS[2]


def test_secrets_in_a_query_do_not_reach_the_re_ranker(h: Hindsight) -> None:
    fill(h)
    seen: list[str] = []

    def spy(query: str, texts: Sequence[str]) -> list[float]:
        seen.append(query)
        return [1.0] * len(texts)

    h.retrieve("deploy with password=hunter2secret please", rerank=spy)
    assert "hunter2secret" not in seen[0]


def test_one_candidate_needs_no_re_ranking(h: Hindsight) -> None:
    h.store(FACTS[0])
    assert len(order(h, rerank=lambda query, texts: 1 / 0)) == 1


@pytest.mark.parametrize("option", ["best", 7, object()])
def test_what_can_not_re_rank_is_refused(h: Hindsight, option: Any) -> None:
    with pytest.raises(ConfigurationError, match="can't re-rank"):
        h.retrieve(QUERY, rerank=option)


def test_re_ranking_by_a_model_needs_one(h: Hindsight) -> None:
    with pytest.raises(ConfigurationError, match="needs a reflection model"):
        h.retrieve(QUERY, rerank=True)


def test_a_setting_that_is_no_re_ranker_is_refused(opened: Opener) -> None:
    with pytest.raises(ConfigurationError, match="rerank 'best' is not known"):
        opened(rerank="best")


class Fake:
    """A cross-encoder's port: logits by length."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rerank(self, query: str, documents: Iterable[str]) -> Iterable[float]:
        self.asked.append(query)
        for document in documents:
            yield 3.0 if "announced" in document else -900.0


def test_a_cross_encoder_gives_one_to_five_by_the_sigmoid_of_its_logits(h: Hindsight) -> None:
    fill(h)
    fake = Fake()
    encoder = CrossEncoder("small", load=lambda: fake)
    first = h.retrieve(QUERY, rerank=CallableReranker(encoder, encoder.name))[0]
    assert first.memory.content == FACTS[2]
    assert first.score == pytest.approx(1 + 4 / (1 + math.exp(-3)))
    assert encoder(QUERY, ["x"]) == [pytest.approx(1.0)]
    assert fake.asked == [QUERY, QUERY]


def test_a_cross_encoder_that_is_not_at_hand_is_looked_for_once() -> None:
    tries: list[int] = []

    def load() -> Fake:
        tries.append(1)
        raise OSError("no such file")

    encoder = CrossEncoder("small", load=load)
    for _ in range(2):
        with pytest.raises(ModelUnavailableError, match="'small' is not at hand: no such file"):
            encoder("x", ["y"])
    assert len(tries) == 1


def test_while_a_cross_encoder_is_loading_nobody_waits_for_it() -> None:
    begun, held = threading.Event(), threading.Event()

    def load() -> Fake:
        begun.set()
        held.wait(60)
        return Fake()

    encoder = CrossEncoder("small", load=load)
    first = threading.Thread(target=encoder, args=("x", ["y"]))
    first.start()
    assert begun.wait(60)
    with pytest.raises(ModelUnavailableError, match="still being loaded"):
        encoder("x", ["y"])
    held.set()
    first.join(60)
    assert len(encoder("x", ["y"])) == 1


def test_the_environment_names_a_re_ranker_and_what_widens() -> None:
    env = {"HINDSIGHT_MEMORY_RERANK": "model", "HINDSIGHT_MEMORY_EXPAND": "session"}
    settings = Settings.from_env(env)
    assert (settings.rerank, settings.expand) == ("model", "session")
    with pytest.raises(ConfigurationError, match="HINDSIGHT_MEMORY_RERANK='best'"):
        Settings.from_env({"HINDSIGHT_MEMORY_RERANK": "best"})


def test_without_a_cross_encoder_at_hand_the_order_stays(opened: Opener, tmp_path: Any) -> None:
    h = opened(rerank="cross-encoder", cache_dir=tmp_path / "nothing")
    fill(h)
    assert order(h) == order(h, rerank=False)
    assert "is not at hand" in h.stats().last_failures["rerank"]


def test_an_unknown_cross_encoder_is_told_of_and_leaves_the_order(opened: Opener) -> None:
    h = opened(rerank="cross-encoder", rerank_model="nobody/nothing")
    fill(h)
    assert order(h) == order(h, rerank=False)
    assert "nobody/nothing" in h.stats().last_failures["rerank"]


FENCED = """```json
{"scores": [{"id": "[1]", "score": "5/5"}, {"id": 2, "score": "3"},
            {"id": 3, "score": "irrelevant"}]}
```"""
THOUGHT = """<think>[1] is 5</think>
{"ratings": [{"n": 3, "score": 1}, {"n": 1, "score": 5}, {"n": 2, "score": 3}]}"""
R3 = [Rating(5.0), Rating(3.0), Rating(1.0)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"scores": [{"id": 1, "score": 5}, {"id": 2, "score": 3}, {"id": 3, "score": 1}]}', R3),
        (FENCED, R3),
        ("Sure! Here are the scores: [5, 3, 1]", R3),
        ({"1": 5, "2": 3, "3": 1}, R3),
        ({"scores": {"1": {"score": 5}, "2": {"rating": "3,0"}, "3": {"分数": "无关"}}}, R3),
        ([{"index": 0, "score": 9}, {"index": 1, "score": 3}, {"index": 2, "score": -4}], R3),
        ([{"score": 5}, {"score": 3}, {"score": 1}], R3),
        (THOUGHT, R3),
        ([{"type": "text", "text": '{"scores": [5, 3'}, {"type": "text", "text": ", 1]}"}], R3),
        ({"scores": [{"id": 1, "score": 5}, {"id": 2, "score": True}, {"id": 3, "score": 1}]},
         [Rating(5.0), None, Rating(1.0)]),
        ({"scores": [{"id": 1, "score": 5}, {"id": 99, "score": 5}, {"id": 3, "score": "1"}]},
         [Rating(5.0), None, Rating(1.0)]),
        ({"scores": [{"id": 1, "score": 5}, {"id": 3, "score": 1}]},
         [Rating(5.0), None, Rating(1.0)]),
    ],
)  # fmt: skip
def test_ratings_are_read_however_a_model_writes_them(
    reply: Any, expected: list[Rating | None]
) -> None:
    assert read_ratings(ModelReply(reply), 3) == expected


@pytest.mark.parametrize(
    "reply", [None, "", "no", {}, [], 7, {"scores": "high"}, {"scores": [{"id": 1, "score": "?"}]}]
)
def test_a_reply_without_ratings_is_an_error_that_keeps_it(reply: Any) -> None:
    with pytest.raises(ModelReplyError, match="rated 0 of 3 memories") as caught:
        read_ratings(ModelReply(reply), 3)
    assert caught.value.raw_reply is not None


def test_a_reply_that_was_cut_short_counts_with_what_it_holds() -> None:
    text = '{"scores": [{"id": 1, "score": 5, "reason": "a"}, {"id": 2, "score": 3}, {"id": 3, "sc'
    assert read_ratings(ModelReply(text, "length"), 3) == [Rating(5.0, "a"), Rating(3.0), None]
    with pytest.raises(ModelReplyError, match="rated 1 of 3"):
        read_ratings(ModelReply(text[:60], "length"), 3)


def test_a_chinese_query_is_asked_about_in_chinese() -> None:
    model = ScriptedModel([scores(5, 3)])
    assert ModelReranker(model).rate("部署需要什么", ["甲", "乙"])[0] == Rating(5.0, "why 1")
    assert "评一次" in model.prompts[0].system


def result(score: float, kind: Kind = "semantic", **factors: float) -> Retrieved:
    memory = Memory(
        id=f"mem_{score}_{kind}",
        namespace=Namespace.of("acme"),
        content="x",
        kind=kind,
        category="fact",
        event_time=NOW,
        created_at=NOW,
        updated_at=NOW,
    )
    return Retrieved(memory, score, {"similarity": score, **factors})


def test_what_was_not_rated_follows_and_scores_never_rise() -> None:
    head = [result(0.9), result(0.8), result(0.7)]
    ranked = in_new_order(head, [Rating(0.2), None, Rating(0.6)], [result(0.5)])
    assert [entry.factors.get("rating") for entry in ranked] == [0.6, 0.2, None, None]
    assert [entry.score for entry in ranked] == [0.6, 0.2, 0.2, 0.2]
    assert ranked[2].factors["unrated"] == pytest.approx(0.2 - 0.8)


def test_of_two_kinds_with_their_own_lanes_each_gets_half_of_the_places() -> None:
    semantic = [result(0.9 - n / 100) for n in range(30)]
    episodic = [result(0.5 - n / 100, "episodic") for n in range(30)]
    head, rest = candidates_of([*semantic, *episodic], by_kind=True)
    assert [entry.memory.kind for entry in head] == ["semantic"] * 20 + ["episodic"] * 20
    assert len(rest) == 20
    head, rest = candidates_of([*semantic, *episodic], by_kind=False)
    assert (len(head), len(rest)) == (CANDIDATES, 20)


@given(st.lists(st.one_of(st.none(), st.floats(0, 5)), min_size=1, max_size=12))
def test_every_result_is_kept_once_and_ordered(ratings: list[float | None]) -> None:
    head = [result(1.0 - n / 100) for n in range(len(ratings))]
    given_ratings = [None if r is None else Rating(r) for r in ratings]
    ranked = in_new_order(head, given_ratings)
    assert sorted(r.memory.id for r in ranked) == sorted(r.memory.id for r in head)
    assert all(a.score >= b.score for a, b in itertools.pairwise(ranked))


def test_ratings_of_an_own_object_are_checked() -> None:
    assert checked([Rating(1.0), None], 2)
    with pytest.raises(ModelReplyError, match="2 ratings for 3"):
        checked([Rating(1.0), None], 3)
    with pytest.raises(ModelReplyError, match="finite"):
        checked([Rating(math.inf)], 1)


def test_an_own_object_rates_through_the_facade(h: Hindsight) -> None:
    class Own:
        least = 3.0

        def rate(self, query: str, texts: Sequence[str]) -> list[Rating]:
            return [Rating(5.0 if "announced" in t else 2.0, "said so") for t in texts]

    fill(h)
    assert h.retrieve(QUERY, rerank=Own())[0].reason == "said so"
    told = h.brief(QUERY, rerank=Own()).retrieved
    assert [result.memory.content for result in told] == [FACTS[2]]


def test_the_command_line_shows_ratings_and_reasons() -> None:
    (rated,) = in_new_order([result(0.9)], [Rating(4.0, "names the VPN")])
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(retrieved_table([rated]))
    shown = console.export_text()
    assert "rating" in shown
    assert "rated so because: names the VPN" in shown


def test_an_object_that_rates_is_taken_as_it_is() -> None:
    reranker = ModelReranker(ScriptedModel(["{}"]))
    assert as_reranker(reranker) is reranker


def test_a_re_ranker_reads_when_a_memory_applies() -> None:
    memory = type(result(1.0).memory)(
        **{n: getattr(result(1.0).memory, n) for n in Memory.__slots__}
        | {"applies_when": "on Fridays", "not_when": "in summer"}
    )
    assert candidate_text(memory) == "x (when: on Fridays) (not when: in summer)"


def test_a_call_in_time_gives_its_value_or_its_error() -> None:
    assert within(5, "x", lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5, "x", lambda: 1 / 0)
