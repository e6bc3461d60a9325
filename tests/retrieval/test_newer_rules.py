"""Rules from repeated attempts at one task, and statements among the episodes of runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.models import Evidence, Memory, Retrieved
from hindsight_core.namespaces import Namespace
from hindsight_core.retrieval.currency import prefer_current
from hindsight_core.testing import EPOCH

TERMS = Bm25Embedder().content_terms


def result(content: str, score: float, day: int, **fields: Any) -> Retrieved:
    memory = Memory(
        **{
            "id": f"mem_{day}_{score}",
            "namespace": Namespace.of("alice"),
            "content": content,
            "kind": "semantic",
            "category": "rule",
            "evidence": (Evidence(f"run_{day}"),),
            "event_time": EPOCH + timedelta(days=day),
            "created_at": EPOCH,
            "updated_at": EPOCH,
        }
        | fields
    )
    return Retrieved(memory, score, {"meaning": score})


def contents(ranked: list[Retrieved]) -> list[str]:
    return [one.memory.content for one in ranked]


def episode(score: float, day: int) -> Retrieved:
    return result("The run failed.", score, day, category="experience", kind="episodic")


def test_a_newer_rule_from_another_attempt_at_the_task_goes_first() -> None:
    task = "Which pizza chain lies further north?"
    old = result("Compare both coordinates before answering.", 0.9, 1, task_description=task)
    new = result("Search for the town instead.", 0.8, 2, task_description=f" {task} ")
    ranked = prefer_current([old, new], TERMS)
    assert contents(ranked) == contents([new, old])
    assert ranked[0].score == 0.9
    assert ranked[0].factors["newer"] > 0


def test_rules_from_different_tasks_and_without_a_task_keep_their_order() -> None:
    old = result("Compare both coordinates before answering.", 0.9, 1, task_description="One task")
    new = result("Search for the town instead.", 0.8, 2, task_description="Another task")
    assert contents(prefer_current([old, new], TERMS)) == contents([old, new])
    bare = [replace(r, memory=replace(r.memory, task_description="")) for r in (old, new)]
    assert contents(prefer_current(bare, TERMS)) == contents(bare)


def test_facts_from_the_same_task_are_judged_by_what_they_say() -> None:
    fields = {"task_description": "Book a flight", "category": "fact"}
    old = result("The user is Sophia Silva.", 0.9, 1, **fields)
    new = result("Economy class costs 305 dollars.", 0.8, 2, **fields)
    assert contents(prefer_current([old, new], TERMS)) == contents([old, new])


def test_episodes_keep_their_places_and_do_not_hide_the_newer_statement() -> None:
    task = "Which pizza chain lies further north?"
    old = result("Compare both coordinates before answering.", 0.9, 1, task_description=task)
    new = result("Search for the town instead.", 0.7, 2, task_description=task)
    before = [episode(1.0, 1), old, episode(0.8, 2), episode(0.75, 3), new, episode(0.6, 4)]
    after = prefer_current(before, TERMS)
    assert [one.memory.category for one in after] == [one.memory.category for one in before]
    assert contents(after)[1] == new.memory.content
    assert contents(after)[4] == old.memory.content
    scores = [one.score for one in after]
    assert scores == sorted(scores, reverse=True)


def test_only_the_best_four_statements_change_places() -> None:
    task = "Which pizza chain lies further north?"
    words = ("coordinates", "towns", "maps", "latitudes", "borders")
    ranked = [
        result(f"Look at {word} first.", 0.9 - place / 100, place + 1, task_description=task)
        for place, word in enumerate(words)
    ]
    after = contents(prefer_current(ranked, TERMS))
    assert after[0] == ranked[3].memory.content
    assert after[4] == ranked[4].memory.content
