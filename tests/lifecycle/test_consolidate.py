"""Rules are earned: who stands behind them, what is checked, and that nothing is lost."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from taught_runs import open_in

from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.errors import ModelCallError
from hindsight_core.hindsight import Hindsight
from hindsight_core.lifecycle.episodes import MARK
from hindsight_core.models import Evidence, Memory
from hindsight_core.testing import FrozenClock, ScriptedModel

RULE = "When read_csv fails to decode, pass encoding gb18030"
ALIKE = "When read_csv fails to decode text, pass encoding gb18030"


def lesson(h: Hindsight, content: str, run_id: str, **more: Any) -> Memory:
    options: dict[str, Any] = {
        "category": "rule",
        "source": "agent_inference",
        "task_type": "data_analysis",
        "evidence": [Evidence(run_id)],
    }
    return h.store(content, **(options | more))


def episode(h: Hindsight, number: int, run_id: str, **more: Any) -> Memory:
    options: dict[str, Any] = {
        "category": "experience",
        "kind": "episodic",
        "source": "agent_inference",
        "task_type": "data_analysis",
        "evidence": [Evidence(run_id)],
    }
    return h.store(f"Loaded file {number}, needed gb18030", **(options | more))


def test_like_lessons_of_two_runs_become_a_rule_with_both_runs(h: Hindsight) -> None:
    one, two = lesson(h, RULE, "r1"), lesson(h, ALIKE, "r2", not_when="the file is UTF-8")
    assert one.id != two.id
    done = h.consolidate()
    (rule,) = done.rules
    assert [e.run_id for e in rule.evidence] == ["r1", "r2"]
    assert (rule.category, rule.task_type) == ("rule", "data_analysis")
    assert rule.not_when == "the file is UTF-8"
    assert done.steps[0].reason == "shown by 2 runs: r1, r2"
    for member in (one, two):
        assert h.get(member.id) == member
    assert h.consolidate(everything=True).rules == ()


def test_one_run_alone_makes_no_rule_unless_it_is_backed(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r1")
    assert h.consolidate().rules == ()
    other = h.scoped((*h.namespace.parts, "backed"))
    lesson(other, RULE, "r1", source="validator")
    lesson(other, ALIKE, "r1")
    (rule,) = other.consolidate().rules
    assert rule.source == "validator"


def test_task_types_and_domains_stay_apart(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r2", task_type="coding")
    lesson(h, ALIKE, "r3", domain="finance")
    assert h.consolidate(everything=True).rules == ()


def test_a_dry_run_writes_nothing(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r2")
    before = h.list(statuses=()).memories
    assert len(h.consolidate(dry_run=True).rules) == 1
    assert h.list(statuses=()).memories == before
    assert len(h.consolidate().rules) == 1


def test_a_rule_that_was_forgotten_is_not_made_again(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r2")
    (rule,) = h.consolidate().rules
    h.forget(rule.id)
    assert h.consolidate(everything=True).rules == ()


def test_without_enough_runs_a_rule_is_archived_by_a_rollback(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r2")
    (rule,) = h.consolidate().rules
    report = h.rollback(run_id="r1")
    assert report.ids("archived") == (rule.id,)
    h.rollback(run_id="r2")
    assert h.list(limit=100).memories == ()
    assert h.get(rule.id) is None


def by_model(tmp_path: Path, clock: FrozenClock, *replies: Any) -> tuple[Hindsight, ScriptedModel]:
    model = ScriptedModel(replies)
    return open_in(tmp_path, clock, model=model), model


def test_a_model_makes_rules_with_the_evidence_that_it_was_shown(
    tmp_path: Path, clock: FrozenClock
) -> None:
    reply = {
        "rules": [
            {
                "content": "When a CSV comes from the old system, decode it as GB18030",
                "applies_when": "files of the old system",
                "evidence": [1, "2"],
                "conflicts": [3],
            }
        ]
    }
    h, model = by_model(tmp_path, clock, reply)
    with h:
        ids = [episode(h, n, f"r{n}", event_time=clock() - timedelta(days=n)).id for n in range(3)]
        done = h.consolidate()
        (rule,) = done.rules
        assert [e.run_id for e in rule.evidence] == ["r1", "r0"]
        assert rule.metadata[MARK] == {
            "from": sorted(ids[:2]), "conflicts": [ids[2]], "by": "model",
        }  # fmt: skip
        assert rule.applies_when == "files of the old system"
        assert not any(memory_id in model.prompts[0].user for memory_id in ids)
        assert done.tokens_in > 0
        assert h.consolidate().groups == 0


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("I could not find any rules, sorry.", "no rules"),
        ("", "no rules"),
        (None, "no rules"),
        ({"rules": "none"}, "no rules"),
        ({"rules": ["do well"]}, "no rule"),
        ({"rules": [{"content": "", "evidence": [1, 2]}]}, "0 characters"),
        ({"rules": [{"content": "x" * 2_000, "evidence": [1, 2]}]}, "2000 characters"),
        ({"rules": [{"content": "When a, do b", "evidence": [1, 99]}]}, "not offered"),
        ({"rules": [{"content": "When a, do b", "evidence": ["mem_f00"]}]}, "not offered"),
        ({"rules": [{"content": "When a, do b", "evidence": [True, 1.5, None]}]}, "not offered"),
        ({"rules": [{"content": "When a, do b", "evidence": [1]}]}, "fewer than two"),
        ({"rules": [{"content": "When a, do b", "evidence": [1, 1, 1]}]}, "fewer than two"),
        ({"rules": [{"content": "When a, do b"}]}, "fewer than two"),
        (
            {"rules": [{"content": "When a, do b", "evidence": [1, 2], "conflicts": [1]}]},
            "fewer than two",
        ),
    ],
)
def test_a_model_that_answers_nonsense_changes_nothing(
    tmp_path: Path, clock: FrozenClock, reply: Any, said: str
) -> None:
    h, _ = by_model(tmp_path, clock, reply)
    with h:
        for n in range(3):
            episode(h, n, f"r{n}")
        before = h.list(statuses=()).memories
        done = h.consolidate()
        assert done.rules == ()
        assert said in " ".join(done.notes)
        assert h.list(statuses=()).memories == before


def test_what_the_model_could_not_be_asked_is_asked_again(
    tmp_path: Path, clock: FrozenClock
) -> None:
    good = {"rules": [{"content": "When a CSV is old, use GB18030", "evidence": [1, 2]}]}
    h, _ = by_model(tmp_path, clock, ModelCallError("busy", status=429), good)
    with h:
        for n in range(3):
            episode(h, n, f"r{n}")
        first = h.consolidate()
        assert (first.rules, first.remaining) == ((), 1)
        assert len(h.consolidate().rules) == 1


def test_tokens_are_bounded_and_the_rest_is_done_the_next_time(
    tmp_path: Path, clock: FrozenClock
) -> None:
    h, model = by_model(tmp_path, clock, '{"rules": []}')
    with h:
        for n, task in enumerate(("coding", "writing")):
            episode(h, 2 * n, f"r{n}a", task_type=task)
            episode(h, 2 * n + 1, f"r{n}b", task_type=task)
        assert h.consolidate(token_limit=8_000).remaining == 1
        assert len(model.prompts) == 1


async def test_the_async_twin_consolidates(h: Hindsight) -> None:
    lesson(h, RULE, "r1")
    lesson(h, ALIKE, "r2")
    assert len((await h.aconsolidate()).rules) == 1


def test_lessons_that_contradict_the_rule_are_named_in_it(
    tmp_path: Path, clock: FrozenClock, real_embedder: DenseEmbedder
) -> None:
    with open_in(tmp_path, clock, embedder=real_embedder) as h:
        lesson(h, RULE, "r1", confidence=0.9)
        other = "If read_csv fails to decode a file, retry it with encoding gb18030"
        lesson(h, other, "r2", confidence=0.9)
        against = lesson(h, "When read_csv fails to decode, never pass encoding gb18030", "r3")
        (rule,) = h.consolidate().rules
        assert rule.metadata[MARK]["conflicts"] == [against.id]
