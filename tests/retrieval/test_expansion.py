"""Queries that say too little by themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.errors import ConfigurationError, ModelCallError, ModelReplyError
from hindsight_core.hindsight import Hindsight
from hindsight_core.reflection.base import ModelReply
from hindsight_core.retrieval.expansion import is_vague, read_expansion, session_context
from hindsight_core.steps import Step
from hindsight_core.testing import HashingEmbedder, ScriptedModel

Opener = Callable[..., Hindsight]
TERMS = Bm25Embedder().content_terms
RULE = "When read_csv fails with UnicodeDecodeError, use encoding gb18030"


@pytest.mark.parametrize(
    "text",
    [
        "fix it",
        "again?",
        "继续",
        "好的，继续吧",
        "Try that again",
        "same",
        "再试一次",
        "go on",
        "x",
    ],
)
def test_these_say_too_little(text: str) -> None:
    assert is_vague(text, len(TERMS(text)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "Load sales.csv and tell me the total",
        "Deploy the billing service to staging",
        "把支付服务部署到生产环境",
        "Explain that recursion theorem in simple words please",
    ],
)
def test_these_say_enough_or_nothing(text: str) -> None:
    assert not is_vague(text, len(TERMS(text)))


def fill(h: Hindsight) -> None:
    h.store(RULE, category="rule")
    h.store("The user prefers metric units", category="preference")
    h.store("The deploy needs the VPN")


def in_session(h: Hindsight) -> None:
    h.session("s1").add(
        Step("user", text="Load sales.csv with read_csv"),
        Step("error", text="UnicodeDecodeError: bad byte"),
        Step("user", text="fix it"),
    )


def first(h: Hindsight, query: str, **options: Any) -> str:
    return h.retrieve(query, **options)[0].memory.content


def test_fix_it_finds_what_the_session_is_about(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    assert not h.brief("fix it", session_id="s1")
    assert RULE in h.brief("fix it", session_id="s1", expand=True).text
    assert first(h, "fix it", session_id="s1", expand="session") == RULE


def test_it_is_off_by_default_and_needs_a_session(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    plain = [r.score for r in h.retrieve("fix it")]
    assert [r.score for r in h.retrieve("fix it", session_id="s1")] == plain
    assert [r.score for r in h.retrieve("fix it", expand=True)] == plain
    assert [r.score for r in h.retrieve("fix it", expand=True, session_id="other")] == plain


def test_a_setting_turns_it_on_and_an_option_off(opened: Opener) -> None:
    h = opened(expand="session")
    fill(h)
    in_session(h)
    assert first(h, "fix it", session_id="s1") == RULE
    plain = [r.score for r in h.retrieve("fix it")]
    assert [r.score for r in h.retrieve("fix it", session_id="s1", expand=False)] == plain


def test_a_query_that_says_enough_is_left_alone(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    query = "Convert the recipe to the units that the user prefers"
    plain = [r.score for r in h.retrieve(query)]
    assert [r.score for r in h.retrieve(query, session_id="s1", expand=True)] == plain


def test_another_namespace_has_its_own_sessions(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    other = h.scoped((*h.namespace.parts[:1], "bob"), read_namespaces=[h.namespace])
    assert not other.brief("fix it", session_id="s1", expand=True)


def test_what_was_asked_is_what_is_recorded(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    h.brief("fix it", session_id="s1", expand=True, run_id="run_7")
    h.flush()
    engine = h._engine
    engine.note_recalls()
    (recall,) = engine.journal.recalls(h.namespace, "run_7")
    assert recall.query == "fix it"


def test_a_model_widens_from_the_session(opened: Opener) -> None:
    model = ScriptedModel([{"query": "read_csv fails with a UnicodeDecodeError"}])
    h = opened(model=model, expand="model")
    fill(h)
    in_session(h)
    assert first(h, "fix it", session_id="s1") == RULE
    assert "Load sales.csv" in model.prompts[0].user
    assert "fix it" in model.prompts[0].user
    h.retrieve("Load sales.csv and tell me the total")
    assert len(model.prompts) == 1


def test_a_function_widens_as_well(h: Hindsight) -> None:
    fill(h)
    seen: list[tuple[str, str]] = []

    def widen(query: str, session: str) -> str:
        seen.append((query, session))
        return "read_csv UnicodeDecodeError encoding"

    assert first(h, "fix it", expand=widen) == RULE
    assert seen == [("fix it", "")]


async def test_the_async_twin_widens_as_well(h: Hindsight) -> None:
    fill(h)
    in_session(h)
    found = await h.aretrieve("fix it", session_id="s1", expand=True)
    assert found[0].memory.content == RULE


@pytest.mark.parametrize(
    "reply", ["", "{}", {"answer": 7}, ModelCallError("busy", status=503), RuntimeError("odd")]
)
def test_a_model_that_fails_leaves_the_query_and_is_counted(opened: Opener, reply: Any) -> None:
    h = opened(model=ScriptedModel([reply]), expand="model")
    fill(h)
    found = [r.memory.content for r in h.retrieve("fix it")]
    assert found == [r.memory.content for r in h.retrieve("fix it", expand=False)]
    assert h.stats().failures["expand"] == 1


def test_a_function_that_hangs_is_given_up(opened: Opener) -> None:
    held = threading.Event()

    def hang(query: str, session: str) -> str:
        held.wait(60)
        return ""

    h = opened(expand=hang, expand_timeout=0.05)
    fill(h)
    try:
        assert h.retrieve("fix it")
        assert h.stats().failures["expand"] == 1
    finally:
        held.set()


def test_with_strict_settings_a_failure_raises(opened: Opener) -> None:
    h = opened(strict=True, expand=lambda query, session: 1 / 0)
    fill(h)
    with pytest.raises(ModelCallError, match="the function that widens queries failed"):
        h.retrieve("fix it")


@pytest.mark.parametrize("option", ["best", 7])
def test_what_can_not_widen_is_refused(h: Hindsight, option: Any) -> None:
    with pytest.raises(ConfigurationError, match="expand"):
        h.retrieve("fix it", expand=option)


def test_widening_by_a_model_needs_one(h: Hindsight) -> None:
    with pytest.raises(ConfigurationError, match="needs a reflection model"):
        h.retrieve("fix it", expand="model")


def test_a_setting_that_can_not_widen_is_refused(opened: Opener) -> None:
    with pytest.raises(ConfigurationError, match="expand 'best' is not known"):
        opened(expand="best")


def test_a_session_can_be_read_and_ended(h: Hindsight) -> None:
    session = h.session("s2")
    session.add("the file is in GB18030")
    assert [step.text for step in session.steps()] == ["the file is in GB18030"]
    assert len(session.end()) == 1
    assert session.steps() == ()


def test_nothing_of_it_costs_anything_while_it_is_off(opened: Opener) -> None:
    embedder = HashingEmbedder()
    h = opened(embedder=embedder)
    h.store("The deploy needs the VPN")
    embedder.calls.clear()
    h.retrieve("fix it")
    assert embedder.calls == [("fix it",)]


def test_the_context_is_the_last_request_that_says_enough_the_last_error_and_the_last_note() -> (
    None
):
    steps = [
        Step("user", text="Deploy the billing service to staging"),
        Step("tool_result", text="Error: old trouble"),
        Step("note", text="the cluster is blue"),
        Step("user", text="Load sales.csv with read_csv and total it"),
        Step("tool_result", text="Error: bad byte", is_error=True),
        Step("assistant", text="It failed."),
        Step("user", text="again"),
    ]
    context = session_context("fix it", steps, TERMS)
    assert context == (
        "Load sales.csv with read_csv and total it\nError: bad byte\nthe cluster is blue"
    )
    assert session_context("fix it", [], TERMS) == ""


def test_recalled_blocks_in_a_session_are_left_out() -> None:
    marked = "<hindsight-recall>secret rule</hindsight-recall>Load sales.csv with read_csv"
    context = session_context("fix it", [Step("user", text=marked)], TERMS)
    assert context == "Load sales.csv with read_csv"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"query": "load a file"}, "load a file"),
        ('```json\n{"query": "load  a file"}\n```', "load a file"),
        ("load a file", "load a file"),
        ('{"查询": "读取文件"}', "读取文件"),
    ],
)
def test_a_wider_query_is_read_however_a_model_writes_it(reply: Any, text: str) -> None:
    assert read_expansion(ModelReply(reply)) == text


@pytest.mark.parametrize("reply", [None, "", "{}", {"query": ""}, {"other": 1}, [1]])
def test_a_reply_without_a_query_is_an_error(reply: Any) -> None:
    with pytest.raises(ModelReplyError, match="did not say"):
        read_expansion(ModelReply(reply))
