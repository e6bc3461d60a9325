"""How a task begins says what kind of task it is."""

from __future__ import annotations

import pytest

from hindsight_core import Hindsight
from hindsight_core.retrieval.opening import begin_alike, opening_of


@pytest.mark.parametrize(
    ("task", "opening"),
    [
        ("Search for “usb wifi”", ("search", "for")),
        ("How many commits did Kim make?", ("how", "many")),
        ("  fork MetaSeq.", ("fork", "metaseq")),
        ("Don’t restart it", ("don't", "restart")),
        ("查询订单的状态", ("查", "询")),
        ("Deploy", ("deploy",)),
    ],
)
def test_an_opening_is_the_first_words_of_an_instruction(
    task: str, opening: tuple[str, ...]
) -> None:
    assert opening_of(task) == opening


@pytest.mark.parametrize(
    "text",
    ["", "…", "Hi! I need to cancel my flight", "I’m upset", "My flight is late", "我想取消航班"],
)
def test_a_message_that_begins_with_its_sender_has_no_opening(text: str) -> None:
    assert opening_of(text) == ()


def test_openings_are_compared_from_the_first_word_on() -> None:
    assert begin_alike(("search", "for"), ("search", "for")) == 1.0
    assert begin_alike(("search", "for"), ("search", "the")) == 0.5
    assert begin_alike(("search", "for"), ("look", "for")) == 0.0
    assert begin_alike((), ("look", "for")) == 0.0


def _run(h: Hindsight, task: str, name: str) -> None:
    h.store(task, memory_id=name, kind="episodic", category="experience", task_description=task)


def test_a_task_that_begins_alike_goes_before_one_about_the_same_thing(h: Hindsight) -> None:
    _run(h, "Star the MetaSeq repository", "other")
    _run(h, "Fork the ChatGPT repository", "alike")
    found = h.retrieve("Fork the MetaSeq repository")
    assert [result.memory.id for result in found] == ["alike", "other"]
    assert found[0].factors["words"] > found[1].factors["words"] / 2


def test_with_a_greeting_in_front_the_thing_decides(h: Hindsight) -> None:
    _run(h, "Hi! Star the MetaSeq repository", "other")
    _run(h, "Hi! Fork the ChatGPT project", "alike")
    found = h.retrieve("Hi! Fork the MetaSeq repository")
    assert found[0].memory.id == "other"


def test_what_was_stored_without_a_task_neither_gains_nor_loses(h: Hindsight) -> None:
    fact = "The MetaSeq repository is archived"
    h.store(fact, memory_id="fact")
    before = h.retrieve("Fork the MetaSeq repository")[0]
    _run(h, "Fork the thing", "alike")
    _run(h, "Star the thing", "other")
    after = {r.memory.id: r for r in h.retrieve("Fork the MetaSeq repository")}["fact"]
    assert after.factors["meaning"] == pytest.approx(before.factors["meaning"])
    assert after.relevance > 0


def test_no_task_is_left_out_because_it_begins_otherwise(h: Hindsight) -> None:
    for number in range(6):
        _run(h, f"Fork repository number {number}", f"alike{number}")
    _run(h, "Zebras eat grass", "far")
    found = h.retrieve("Fork repository", top_k=20)
    assert found[-1].memory.id == "far"
    assert found[-1].score >= 0
