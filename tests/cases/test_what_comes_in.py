"""Odd values, texts, replies and runs on their way into memory and out again."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from hindsight_core.errors import ConfigurationError, ModelCallError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Context
from hindsight_core.reflection.base import ModelReply
from hindsight_core.settings import ModelSettings, Settings
from hindsight_core.store.base import Put, Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import (
    FaultyStore,
    FrozenClock,
    HashingEmbedder,
    ScriptedModel,
    csv_run,
)
from hindsight_core.trajectory import Trajectory

Opener = Callable[..., Hindsight]

LAST = "The spare key of the observatory hangs behind the green telescope."


class Color(Enum):
    RED = "red"


def lessons_of(h: Hindsight) -> set[str]:
    return {m.content for m in h.list(limit=500, sources=["agent_inference"]).memories}


def asked(model: Any, opened: Opener, run: Trajectory | None = None, **options: Any) -> Any:
    h = opened(model=model, **options)
    return h, h.reflect(run or csv_run())


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 5, tzinfo=UTC), UUID(int=7), Color.RED, {"a"}, np.float32(0.5),
        np.arange(3), b"\xff", Path("a/b"), math.nan, math.inf, 2**70, {1: "a"}, "a\ud800b",
        "nul\x00", (1, 2), None, True,
    ],
    ids=repr,
)  # fmt: skip
def test_metadata_are_brought_into_one_form_that_survives_reopening(
    opened: Opener, value: Any
) -> None:
    with opened(embedder=HashingEmbedder()) as h:
        stored = h.store("The deploy needs the VPN", metadata={"value": value, "plain": 7})
        assert stored.metadata["plain"] == 7
    again = opened(embedder=HashingEmbedder()).get(stored.id)
    assert again == stored


def test_metadata_without_any_such_form_are_refused_by_name(opened: Opener) -> None:
    h = opened(embedder=HashingEmbedder())
    with pytest.raises(ConfigurationError, match=r"metadata.*value"):
        h.store("The deploy needs the VPN", metadata={"value": object()})
    assert h.list().memories == ()


def test_what_a_context_holds_is_brought_into_the_same_form(opened: Opener) -> None:
    parameters = {"rate": np.float32(0.5), "raw": b"\xff", "at": datetime(2026, 1, 5, tzinfo=UTC)}
    with opened(embedder=HashingEmbedder()) as h:
        stored = h.store("The deploy needs the VPN", context=Context(parameters=parameters))
    again = opened(embedder=HashingEmbedder()).get(stored.id)
    assert again == stored


def test_an_option_that_store_does_not_know_is_refused_by_name(opened: Opener) -> None:
    h = opened(embedder=HashingEmbedder())
    wrong: dict[str, Any] = {"importnace": 0.5}
    with pytest.raises(ConfigurationError, match=r"importnace.*importance"):
        h.store("The deploy needs the VPN", **wrong)
    with pytest.raises(ConfigurationError, match="one text"):
        h.store("The deploy needs the VPN", tags="vpn")


def test_a_secret_is_taken_out_of_every_field_that_a_caller_gives(opened: Opener) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    h = opened(embedder=HashingEmbedder())
    memory = h.store(
        f"The bucket opens with {key}",
        task_description=f"open {key}",
        applies_when=f"with {key}",
        not_when=f"without {key}",
        tags=[key],
        metadata={"a": [key], key: 1},
        context=Context((key,), {"key": key}, f"in {key}", f"out {key}"),
    )
    assert key not in repr(memory)
    assert key not in repr(h.get(memory.id))
    assert sum(h.stats().counters.values()) >= 9


@pytest.mark.parametrize("memory_id", ["", "  "])
def test_a_blank_id_is_refused(opened: Opener, memory_id: str) -> None:
    h = opened(embedder=HashingEmbedder())
    with pytest.raises(ConfigurationError, match="memory id"):
        h.store("The deploy needs the VPN", memory_id=memory_id)


@pytest.mark.parametrize("query", ["", "   ", "\n\t", None])
def test_a_blank_query_embeds_nothing_and_gives_the_most_recent(
    opened: Opener, clock: FrozenClock, query: str | None
) -> None:
    embedder = HashingEmbedder()
    h = opened(embedder=embedder)
    for number in range(3):
        h.store(f"Machine {number} has serial {number * 7919}")
        clock.advance(hours=1)
    embedder.calls.clear()
    found = h.retrieve(query, top_k=2)
    assert [result.memory.content[:9] for result in found] == ["Machine 2", "Machine 1"]
    h.brief(query)
    assert embedder.calls == []


@pytest.mark.parametrize(
    "text",
    [
        "Why does <|endoftext|> break <|fim_prefix|> parsing in cl100k_base?",
        'Use {"city": "Oslo"} and {x}, {}, {{y}}, {% if z %} in the template',
        "Write \\n and \\u0041 and 100 % as they stand, not $HOME or `id`",
        "Il faut écrire « naïve » et 「引号」 and emoji 👩‍🔬 as they are",
    ],
)
def test_a_text_comes_back_as_it_was_also_in_a_brief(h: Hindsight, text: str) -> None:
    memory = h.store(text)
    assert h.get(memory.id) == memory
    assert memory.content == text
    assert text in h.brief(text).text
    assert h.count_tokens(text) > 5
    h.reflect(
        Trajectory.from_messages(
            [{"role": "user", "content": text}, {"role": "assistant", "content": text}],
            run_id="run_text",
        )
    )


def test_a_text_past_the_window_is_found_by_its_last_line_and_marked(h: Hindsight) -> None:
    filler = "The visitor center opens at nine and closes at five on every day of the week. " * 60
    long = h.store(f"{filler}\n{LAST}")
    short = h.store("The observatory is on the hill")
    others = [f"Machine {n} in hall {n % 7} has serial {n * 7919}" for n in range(30)]
    h.store_many({"content": text} for text in others)
    assert h.retrieve(LAST, top_k=3)[0].memory.id == long.id
    assert "beginning only" in long.metadata["embedded"]
    assert "embedded" not in short.metadata
    assert h.get(long.id) == long


def test_a_lesson_past_the_window_is_marked_as_well(opened: Opener) -> None:
    filler = "The visitor center opens at nine and closes at five on every day of the week. " * 20
    lesson = {"text": f"{filler} {LAST}", "category": "fact"}
    h, _ = asked(ScriptedModel([{"lessons": [lesson]}]), opened)
    (long,) = h.list(categories=["fact"]).memories
    assert "beginning only" in long.metadata["embedded"]
    assert h.retrieve(LAST)[0].memory.id == long.id


def test_huge_texts_are_refused_or_bounded_and_never_fatal(h: Hindsight) -> None:
    for text in ("a" * 1_000_000, " " * 1_000_000 + "x", "错误" * 500_000):
        with pytest.raises(ConfigurationError, match=r"20[,_]?000"):
            h.store(text)
        h.retrieve(text)
        h.brief(text)
        assert h.count_tokens(text) > 0


def test_a_long_run_with_a_huge_log_and_an_image_fits_the_budget(opened: Opener) -> None:
    model = ScriptedModel(['{"lessons": []}'])
    settings = Settings(model=ModelSettings(max_input_tokens=8_000), drain_seconds=1.0)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find why the nightly job dies"}]
    for number in range(100):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read_log", "arguments": f'{{"page": {number}}}'},
        }
        text = "line of the log\n" * 60
        if number == 40:
            text = "INFO all is well\n" * 300_000 + "KeyError: 'region'\n"
        if number == 50:
            text = f"before data:image/png;base64,{'iVBORw0KGgo' * 28_000} after"
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": text},
        ]
    messages.append({"role": "assistant", "content": "The region is missing in the settings."})
    run = Trajectory.from_messages(messages, run_id="run_huge", outcome="success")
    h, reflection = asked(model, opened, run, settings=settings)
    assert reflection.status == "learned"
    (prompt,) = model.prompts
    assert h.count_tokens(prompt.system) + h.count_tokens(prompt.user) <= 8_000
    assert "Find why the nightly job dies" in prompt.user
    assert "KeyError: 'region'" in prompt.user
    assert "The region is missing in the settings." in prompt.user
    assert "iVBORw0KGgo" * 10 not in prompt.user


def test_a_call_without_text_reads_as_the_call_and_nothing_reads_none(opened: Opener) -> None:
    model = ScriptedModel(['{"lessons": []}'])
    call = {"id": "c1", "type": "function",
            "function": {"name": "search", "arguments": '{"q": "tides"}'}}  # fmt: skip
    shapes: list[dict[str, Any]] = [{"content": None}, {"content": ""}, {}]
    for number, shape in enumerate(shapes):
        run = Trajectory.from_messages(
            [
                {"role": "user", "content": "When is high water in Brest on Monday?"},
                {"role": "assistant", "tool_calls": [call], **shape},
                {"role": "tool", "tool_call_id": "c1", "content": ""},
                {"role": "tool", "tool_call_id": "c0", "content": "of an earlier turn"},
                {"role": "assistant", "content": "At seven."},
            ],
            run_id=f"run_{number}",
        )
        h = opened(model=model)
        h.reflect(run)
    assert len(model.prompts) == 3
    for prompt in model.prompts:
        assert "search" in prompt.user
        assert "tides" in prompt.user
        assert "None" not in prompt.user
    assert all("None" not in memory.content for memory in h.list().memories)


WHOLE = '{"lessons":[{"text":"Staging deploys need the VPN","importance":0.7}]}'


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{WHOLE}\n```",
        f"Sure! Here is what I learned:\n```json\n{WHOLE}\n```\nLet me know if you want more.",
        f"Example of the format:\n```\nlessons: [...]\n```\nAnswer:\n```json\n{WHOLE}\n```",
        '{"lessons":[{"text":"Staging deploys need the VPN","importance":0.7,},],}',
        "\ufeff" + WHOLE,
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": WHOLE}],
        [{"type": "text", "text": WHOLE[:20]}, {"type": "text", "text": WHOLE[20:]}],
        {"lessons": [{"text": "Staging deploys need the VPN", "importance": 0.7}]},
        '{"lessons":[{"text":"Staging deploys need the VPN"},{"text":null},{"text":7}]}',
    ],
)
def test_a_reply_in_any_wrapping_is_stored_with_one_call(opened: Opener, reply: Any) -> None:
    model = ScriptedModel([reply])
    h, reflection = asked(model, opened)
    assert reflection.status == "learned"
    assert "Staging deploys need the VPN" in lessons_of(h)
    assert len(model.prompts) == 1


def test_a_raw_newline_and_an_inner_quote_come_back_unchanged(opened: Opener) -> None:
    reply = (
        '{"lessons":[{"text":"Build fails\nwhen cache is cold"},{"text":"Team rule '
        '„build once" applies to images"}]}'
    )
    model = ScriptedModel([reply])
    h, _ = asked(model, opened)
    kept = {" ".join(text.split()) for text in lessons_of(h)}
    assert {"Build fails when cache is cold", 'Team rule „build once" applies to images'} <= kept
    assert len(model.prompts) == 1


def test_a_reply_that_was_cut_off_keeps_whole_lessons_and_says_so(
    opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    cut = '{"lessons":[{"text":"The first one is whole"},{"text":"The second one is whole"},'
    model = ScriptedModel(
        [ModelReply(content=cut + '{"text":"Third is cut in the mid', finish_reason="length")]
    )
    h, reflection = asked(model, opened)
    assert {"The first one is whole", "The second one is whole"} <= lessons_of(h)
    assert not any("Third" in memory.content for memory in h.list().memories)
    assert any("cut" in note for note in reflection.notes)
    assert any("length" in r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)


def test_a_lesson_that_breaks_the_schema_is_counted_and_costs_no_other(opened: Opener) -> None:
    reply = {"lessons": [{"text": "The good one stays"}, {"text": None}, {"wrong": "wrong key"}]}
    h, reflection = asked(ScriptedModel([reply]), opened)
    assert "The good one stays" in lessons_of(h)
    assert sum("lesson" in note and "skip" in note for note in reflection.notes) >= 2


@pytest.mark.parametrize("reply", ["", "   ", None])
def test_an_empty_reply_fails_with_its_reason_after_a_bounded_retry(
    opened: Opener, reply: Any
) -> None:
    model = ScriptedModel([reply])
    h, reflection = asked(model, opened)
    assert reflection.status == "failed"
    assert "empty" in reflection.reason
    assert len(model.prompts) == 2
    assert h.stats().journal.failed == 1


@pytest.mark.parametrize("reply", ["{}", "[]", '{"lessons": []}'])
def test_nothing_learned_is_a_normal_end(opened: Opener, reply: str) -> None:
    run = Trajectory.from_messages(
        [
            {"role": "user", "content": "Name three rivers of Norway in order of length, please."},
            {"role": "assistant", "content": "Glomma, Tana, Numedalslågen."},
        ],
        run_id="run_rivers",
    )
    model = ScriptedModel([reply])
    h, reflection = asked(model, opened, run)
    assert reflection.status in {"learned", "nothing_to_learn"}
    assert h.list(kinds=["semantic"]).memories == ()
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    "value", ["85%", "high", "0,8", 85, -3, None, True, math.nan, math.inf, "1e400", [0.7], {}]
)
def test_a_rating_in_any_dress_never_spoils_a_score(opened: Opener, value: Any) -> None:
    lesson = {"text": "Staging deploys need the VPN", "importance": value, "confidence": value}
    h, _ = asked(ScriptedModel([{"lessons": [lesson]}]), opened)
    h.store("Staging deploys are slow on Mondays")
    found = h.retrieve("What do staging deploys need?")
    assert found[0].memory.content == "Staging deploys need the VPN"
    for result in found:
        assert math.isfinite(result.score)
        assert 0 <= result.memory.importance <= 1
        assert 0 <= result.memory.confidence <= 1


def test_a_rate_limit_is_waited_out_in_the_background(opened: Opener) -> None:
    waits: list[float] = []
    told = threading.Event()

    def limited(prompt: Any) -> Any:
        waits.append(0.0)
        if len(waits) < 3:
            return ModelCallError("429", status=429, retryable=True, retry_after=0.05)
        told.set()
        return '{"lessons": []}'

    h = opened(model=ScriptedModel([limited]))
    h.submit(csv_run())
    assert told.wait(30)
    assert h.flush(30)
    assert (len(waits), h.stats().journal.learned) == (3, 1)


def test_a_refused_key_is_asked_once_and_the_run_is_kept(opened: Opener) -> None:
    model = ScriptedModel([ModelCallError("401 unauthorized", status=401)])
    h, reflection = asked(model, opened)
    assert reflection.status == "failed"
    assert "401" in reflection.reason
    assert len(model.prompts) == 1
    assert h.stats().journal.failed == 1


def test_a_write_that_fails_in_reflection_is_shown_and_made_up_for(
    opened: Opener, tmp_path: Path, clock: FrozenClock, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = HashingEmbedder()
    broken = {"now": True}
    inner = EdgeStore.open(tmp_path / "memory" / "store", Schema("hashing", embedder.dimension))
    store = FaultyStore(inner, lambda op, _: broken["now"] and isinstance(op, Put))
    h = opened(store=store, embedder=embedder)
    reflection = h.reflect(csv_run())
    assert reflection.status == "failed"
    assert reflection.reason
    assert h.stats().failures == {"reflection": 1}
    assert "run_csv" in caplog.text
    broken["now"] = False
    clock.advance(minutes=10)
    h.store("The deploy needs the VPN")
    assert h.flush(30)
    assert h.stats().journal.learned == 1
    assert len(h.list(categories=["experience"]).memories) == 1


def test_strict_raises_what_a_write_failed_with(opened: Opener, tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    inner = EdgeStore.open(tmp_path / "memory" / "store", Schema("hashing", embedder.dimension))
    store = FaultyStore(inner, lambda op, _: isinstance(op, Put))
    h = opened(store=store, embedder=embedder, settings=Settings(strict=True, drain_seconds=0.0))
    with pytest.raises(StoreUnavailableError):
        h.reflect(csv_run())


TOKEN = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "c2lnbmF0dXJl" * 3
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 4
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "IOSFODNN7" + "EXAMPLE",
        "Authorization: Bearer " + TOKEN,
        "postgres://admin:" + "Tr0ub4dor&3x" + "@db.example.com/app",
        PEM,
    ],
    ids=["key", "token", "url", "private key"],
)  # fmt: skip
def test_a_secret_in_a_tool_output_reaches_neither_model_nor_memory(
    opened: Opener, secret: str
) -> None:
    hidden = next((part for part in (TOKEN, BODY, "Tr0ub4dor&3x") if part in secret), secret)
    log = f"Traceback (most recent call last):\n  region eu-west-1\n{secret}\nValueError: no"
    model = ScriptedModel([lambda prompt: {"lessons": [{"text": prompt.user[-600:]}]}])
    run = Trajectory.from_messages(
        [
            {"role": "user", "content": "Read the settings and tell me the region"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": log},
            {"role": "assistant", "content": "The region is eu-west-1."},
        ],
        run_id="run_secret",
    )  # fmt: skip
    h, _ = asked(model, opened, run)
    (prompt,) = model.prompts
    assert hidden not in prompt.user
    assert "eu-west-1" in prompt.user
    assert all(hidden not in repr(memory) for memory in h.list().memories)
    assert hidden not in repr(h.search_log("region"))
    assert any(name.startswith("redacted:") for name in h.stats().counters)
