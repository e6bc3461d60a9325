"""What counts as one turn, and that its brief is recalled once."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading

import pytest
from llama_index.core.base.llms.types import ChatMessage
from test_buffer import answer, call, result, user

from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_llamaindex import turns as room
from hindsight_llamaindex.turns import Turn, Turns, turn_of


@pytest.mark.parametrize(
    ("messages", "asked", "turn"),
    [
        ([], None, Turn()),
        ([], "", Turn()),
        ([], "hi", Turn("hi", 0)),
        ([user("hi")], None, Turn("hi", 0, True)),
        ([user("hi")], "hi", Turn("hi", 0, True)),
        ([user("hi"), answer("yes")], None, Turn("hi", 0, True, True)),
        ([user("hi"), answer("yes")], "hi", Turn("hi", 2, answer_before="yes")),
        ([user("hi"), answer("yes"), user("so")], "so", Turn("so", 2, True, answer_before="yes")),
        ([user("hi"), call("c"), result("c")], "hi", Turn("hi", 0, True)),
        ([user("hi"), call("c"), result("c"), answer("a")], None, Turn("hi", 0, True, True)),
        ([answer("welcome")], None, Turn()),
        ([user("hi"), user("hi")], None, Turn("hi", 1, True)),
    ],
)
def test_a_turn_is_the_last_thing_that_was_said(
    messages: list[ChatMessage], asked: str | None, turn: Turn
) -> None:
    assert turn_of(messages, asked) == turn


def test_a_question_that_is_repeated_behind_the_conversation_is_the_same_turn() -> None:
    once = turn_of([user("hi")], repeats_question=True)
    assert turn_of([user("hi"), user("hi")], repeats_question=True) == once
    handed_over = [user("hi"), call("c"), result("c"), user("hi")]
    assert turn_of(handed_over, repeats_question=True) == once
    again = turn_of([user("hi"), answer("a"), user("hi")], repeats_question=True)
    assert again.position == 2


def test_a_message_can_be_asked_as_well_as_text() -> None:
    assert turn_of([], user("hi")) == Turn("hi", 0)
    assert turn_of([], 3) == Turn()


def test_one_turn_is_recalled_once_by_any_number_of_readers(knowing: Hindsight) -> None:
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    texts = {turns.recall(knowing, "k", turn, "", None).text for _ in range(5)}
    assert len(texts) == 1
    assert "metric" in texts.pop()
    knowing.flush(30)
    assert knowing.list().memories[0].access_count == 1


async def test_readers_at_the_same_time_share_one_recall(knowing: Hindsight) -> None:
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    briefs = await asyncio.gather(
        *(turns.arecall(knowing, "k", turn, "run", None) for _ in range(8))
    )
    assert len({id(brief) for brief in briefs}) == 1
    await knowing.aflush(30)
    assert knowing.list().memories[0].access_count == 1


async def test_a_sync_reader_never_waits_for_a_recall_on_its_own_loop(
    knowing: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(*args: object) -> Brief:
        entered.set()
        await leave.wait()
        return Brief("late")

    monkeypatch.setattr(room, "_abrief", slow)
    task = asyncio.ensure_future(turns.arecall(knowing, "k", turn, "", None))
    await entered.wait()
    assert "metric" in turns.recall(knowing, "k", turn, "", None).text
    leave.set()
    assert (await task).text == "late"


async def test_a_cancelled_recall_leaves_nobody_waiting(
    knowing: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    entered = asyncio.Event()

    async def endless(*args: object) -> Brief:
        entered.set()
        await asyncio.Event().wait()
        return Brief()

    monkeypatch.setattr(room, "_abrief", endless)
    first = asyncio.ensure_future(turns.arecall(knowing, "k", turn, "", None))
    await entered.wait()
    second = asyncio.ensure_future(turns.arecall(knowing, "k", turn, "", None))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await asyncio.wait_for(second, 10) == Brief()


def test_another_run_recalls_again_and_a_reader_outside_of_runs_does_not(
    knowing: Hindsight,
) -> None:
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    for run_id in ("run_1", "", "run_1", "run_2", ""):
        assert turns.recall(knowing, "k", turn, run_id, None)
    knowing.flush(30)
    assert knowing.list().memories[0].access_count == 2


def test_an_answered_turn_recalls_nothing_new(knowing: Hindsight) -> None:
    turns = Turns()
    answered = Turn("Convert the recipe to my units", 0, True, True)
    assert not turns.recall(knowing, "k", answered, "", None)
    assert turns.recall(knowing, "k", Turn(answered.text, 0, True), "", None)
    assert turns.recall(knowing, "k", answered, "", None)
    turns.forget("k")
    assert not turns.recall(knowing, "k", answered, "", None)


def test_nothing_is_embedded_for_a_blank_turn(knowing: Hindsight) -> None:
    assert not Turns().recall(knowing, "k", Turn("  \n", 0, True), "", None)
    knowing.flush(30)
    assert knowing.list().memories[0].access_count == 0


def test_a_copy_starts_empty() -> None:
    turns = Turns()
    for other in (copy.copy(turns), copy.deepcopy(turns), pickle.loads(pickle.dumps(turns))):
        assert isinstance(other, Turns)
        assert other is not turns


def test_conversations_past_the_limit_are_forgotten(
    knowing: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_CONVERSATIONS", 2)
    turns = Turns()
    turn = Turn("Convert the recipe to my units", 0, True)
    for key in ("a", "b", "c", "a"):
        turns.recall(knowing, key, turn, "", None)
    knowing.flush(30)
    assert knowing.list().memories[0].access_count == 4


def test_threads_get_the_brief_of_their_own_turn(knowing: Hindsight) -> None:
    turns = Turns()
    found: dict[int, str] = {}
    texts = ["Convert the recipe to my units", "Who won the football match in Oslo?"]

    def read(number: int) -> None:
        turn = Turn(texts[number % 2], 0, True)
        found[number] = turns.recall(knowing, str(number % 2), turn, "", None).text

    threads = [threading.Thread(target=read, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(("metric" in text) == (number % 2 == 0) for number, text in found.items())
