"""Merged memories in the words of a model, and what its answer must hold to be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hindsight_core.errors import ModelCallError
from hindsight_core.hindsight import Hindsight
from hindsight_core.learning import propose
from hindsight_core.lifecycle.merge_model import fault_in, merge_prompt, read_merge
from hindsight_core.reflection.base import ModelReply
from hindsight_core.retrieval.profiles import PROFILES, Profile
from hindsight_core.store.base import Point, Put
from hindsight_core.testing import ScriptedModel

LOOSE = Profile.from_mapping(
    {"base": "layered", "name": "loose", "lifecycle": {"duplicate_similarity": 0.6}}
)
ONE = "The build of Acme needs the flag --fast"
TWO = "The whole build of Acme always needs the flag --fast"
BOTH = "The whole build of Acme needs the flag --fast, always"
Opener = Callable[..., Hindsight]


def answer(content: str, *numbers: int) -> dict[str, Any]:
    return {"content": content, "from": list(numbers or (1, 2))}


def write_both(h: Hindsight) -> None:
    """Write two wordings past the writer, as two hosts at the same time would."""
    memory = h.store(ONE, memory_id="one")
    twin = replace(memory, id="two", content=TWO)
    (proposal,) = propose([twin], h._engine.dense, h._engine.sparse)
    h._engine.store.execute(Put((Point(twin, proposal.dense, proposal.sparse),)))


def test_a_merged_memory_gets_the_words_of_the_model_as_a_version_of_its_own(
    opened: Opener,
) -> None:
    model = ScriptedModel([answer(BOTH)])
    h = opened(profile=LOOSE, model=model)
    write_both(h)
    report = h.maintain()
    assert report.counts == {"merged": 1, "reworded": 1}
    assert report.notes == ()
    assert report.tokens_in > 0
    (memory,) = h.list().memories
    assert memory.content == BOTH
    assert [change.reason for change in h.history("one")] == [
        "merged with two",
        "merged in the words of the model",
    ]
    (prompt,) = model.prompts
    assert ONE in prompt.user
    assert TWO in prompt.user
    assert [found.memory.id for found in h.retrieve("the flag of the whole build")] == ["one"]
    h.rollback("one")
    assert h.list().memories[0].content == ONE
    assert h.maintain(everything=True).changed == 0
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (answer("The build needs a flag"), "it lacks --fast"),
        (answer(BOTH.replace("--fast", "--fast -O9")), "it adds o9"),
        (answer("The whole build of Acme never needs the flag --fast"), "it negates otherwise"),
        (answer(BOTH, 1, 2, 3), "it names [3], which was not offered"),
        (answer(BOTH, 1), "it leaves out 1 of 2 statements"),
        (answer(""), "the model says that they can't be one statement"),
        (answer(BOTH + " and so on" * 20), "it is longer than the statements together"),
        ("no idea", "the model gave no statement"),
        (ModelReply(json.dumps(answer(BOTH)), finish_reason="length"), "the answer was cut off"),
    ],
)
def test_an_answer_that_does_not_hold_both_leaves_the_rule_s_words_and_is_told(
    opened: Opener, reply: Any, why: str
) -> None:
    model = ScriptedModel([reply])
    h = opened(profile=LOOSE, model=model)
    write_both(h)
    report = h.maintain()
    assert report.counts == {"merged": 1}
    (note,) = report.notes
    assert note.startswith(f"one keeps its words: {why}")
    assert [memory.content for memory in h.list().memories] == [ONE]
    assert {e.action for e in h.why("one").audit} >= {"merged", "revised"}
    h.maintain(everything=True)
    assert len(model.prompts) == 1


def test_a_model_that_fails_is_asked_again_the_next_time(opened: Opener) -> None:
    model = ScriptedModel([ModelCallError("away"), answer(BOTH)])
    h = opened(profile=LOOSE, model=model)
    write_both(h)
    first = h.maintain()
    assert first.counts == {"merged": 1}
    assert first.notes == (
        "one: the model could not be asked: away",
        "1 wait for words until the next time",
    )
    assert h.list().memories[0].content == ONE
    assert h.maintain().counts == {"reworded": 1}
    assert h.list().memories[0].content == BOTH


def test_what_replaced_a_contradiction_by_merging_says_both_in_the_end(opened: Opener) -> None:
    said = "The office of Acme was in Oslo and is now in Bergen"
    h = opened(profile=PROFILES["layered"], model=ScriptedModel([answer(said)]))
    h.store("The office of Acme is in Oslo")
    new = h.store("The office of Acme is now in Bergen")
    assert h.maintain().counts == {"reworded": 1}
    (memory,) = h.list().memories
    assert (memory.id, memory.content) == (new.id, said)
    assert memory.metadata["was"] == ["The office of Acme is in Oslo"]


def test_without_a_model_or_by_another_profile_nobody_is_asked(opened: Opener) -> None:
    h = opened(profile=LOOSE)
    write_both(h)
    assert h.maintain().counts == {"merged": 1}
    h.close()
    model = ScriptedModel([answer(BOTH)])
    rules = replace(LOOSE, lifecycle=replace(LOOSE.lifecycle, merge_words="rule"))
    h = opened(profile=rules, model=model)
    h.maintain(everything=True)
    assert h.maintain(dry_run=True).changed == 0
    assert model.prompts == []


def test_what_was_changed_while_the_model_thought_stays_as_it_is(opened: Opener) -> None:
    h: Hindsight

    def slow(_: object) -> dict[str, Any]:
        h.feedback(memory_id="one", helpful=False)
        return answer(BOTH)

    h = opened(profile=LOOSE, model=ScriptedModel([slow]))
    write_both(h)
    assert h.maintain().counts == {"merged": 1}
    assert h.list().memories[0].content == ONE


def test_tokens_are_bounded(opened: Opener) -> None:
    h = opened(profile=LOOSE, model=ScriptedModel([answer(BOTH)]))
    assert (
        merge_prompt(
            [ONE, TWO], count_tokens=lambda text: len(text), budget=10, max_output_tokens=9
        )
        is None
    )
    prompt = merge_prompt([ONE, TWO], count_tokens=h.count_tokens, budget=900, max_output_tokens=9)
    assert prompt is not None
    assert h.count_tokens(prompt.system + prompt.user) <= 900
    assert prompt.max_output_tokens == 9


@pytest.mark.parametrize(
    ("texts", "text", "fault"),
    [
        (["部署前必须运行 make check", "部署前必须运行 make test"],
         "部署前必须运行 make check，以前是 make test。", ""),
        (["网关的端口是 8080", "网关用的端口是 8080"], "网关端口是 8080", ""),
        (["网关的端口是 8080", "网关用的端口是 8080"], "网关端口是 9090", "it lacks 8080"),
        (["不要在周五部署", "周五不要部署"], "周五部署",
         "it negates otherwise than the statements"),
        (["Alice drinks tea", "Alice drinks green tea"], "Drinks green tea", "it lacks alice"),
        (['The error says "no such table"', 'The log says "no such table"'],
         "The error and log say there is no such thing", "it lacks no such table"),
        (["Put it into /etc/acme", "Put it in /etc/acme"], "Put it into the folder etc acme",
         "it lacks /etc/acme"),
    ],
)  # fmt: skip
def test_numbers_names_quotations_and_negations_of_all_are_kept(
    texts: Sequence[str], text: str, fault: str
) -> None:
    assert fault_in(text, texts) == fault


def test_text_around_the_answer_is_read_past() -> None:
    reply = ModelReply("Sure:\n```json\n" + json.dumps(answer(BOTH)) + "\n```")
    assert read_merge(reply, [ONE, TWO]) == (BOTH, "")


def test_only_the_profile_whose_merges_a_model_makes_asks_one() -> None:
    asks = {name for name, p in PROFILES.items() if p.lifecycle.merge_words == "model"}
    assert asks == {"layered"}
