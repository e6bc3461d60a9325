"""A finished run comes in, becomes lessons, and the next run gets them."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_core.errors import ModelCallError, ReflectionError, StoreUnavailableError
from hindsight_core.hindsight import Hindsight
from hindsight_core.reflection.base import Reflected
from hindsight_core.settings import ModelSettings, Settings
from hindsight_core.store.base import Patch, Put, Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.testing import (
    FaultyStore,
    FrozenClock,
    ScriptedModel,
    corrected_run,
    csv_run,
)
from hindsight_core.trajectory import Trajectory

TASK = "Load orders.csv and tell me the total"


def test_a_run_becomes_an_experience_and_a_rule(h: Hindsight) -> None:
    reflection = h.reflect(csv_run())
    assert reflection.status == "learned"
    assert {m.category for m in reflection.memories} == {"experience", "rule"}
    rule = next(m for m in reflection.memories if m.category == "rule")
    assert "gb18030" in rule.content
    assert rule.evidence[0].run_id == "run_csv"


def test_the_next_run_of_the_kind_gets_the_lesson_in_its_brief(h: Hindsight) -> None:
    h.reflect(csv_run())
    brief = h.brief(TASK)
    assert "gb18030" in brief.text
    assert "succeeded" in brief.text
    assert brief.tokens <= 800
    assert len(brief.retrieved) <= 5


def test_an_unrelated_task_gets_no_brief(h: Hindsight) -> None:
    h.reflect(csv_run())
    brief = h.brief("Who won the football match last night in Oslo?")
    assert not brief
    assert (brief.text, brief.tokens, brief.available) == ("", 0, True)


def test_reflecting_twice_on_one_run_changes_nothing(h: Hindsight) -> None:
    first = h.reflect(csv_run())
    before = h.list().memories
    second = h.reflect(csv_run())
    assert second.repeated
    assert [m.id for m in second.memories] == [m.id for m in first.memories]
    assert h.list().memories == before


def test_a_submitted_run_is_reflected_on_in_the_background(h: Hindsight) -> None:
    assert h.submit(csv_run()) == "run_csv"
    assert h.flush(30)
    assert h.stats().journal.learned == 1
    assert h.brief(TASK)


def test_what_was_submitted_survives_a_close_without_reflection(opened: Any) -> None:
    slow = opened(settings=Settings(drain_seconds=0.0))
    slow.submit(csv_run())
    slow.close()
    again = opened()
    assert again.flush(30)
    assert again.stats().journal.learned == 1


def test_a_trivial_run_teaches_nothing_and_says_so(h: Hindsight) -> None:
    run = Trajectory.from_messages(
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello!"}],
        run_id="run_hi",
    )
    reflection = h.reflect(run)
    assert reflection.status == "nothing_to_learn"
    assert reflection.reason
    assert h.list().memories == ()
    assert h.stats().journal.nothing_to_learn == 1


def test_what_was_recalled_is_not_learned_again(h: Hindsight) -> None:
    h.store("The user always uses metric units", category="preference")
    for number in range(5):
        brief = h.brief("Which units does the user always use?", run_id=f"run_{number}")
        assert brief
        h.reflect(
            Trajectory.from_messages(
                [
                    {"role": "system", "content": f"You help.\n{brief.text}"},
                    {"role": "user", "content": f"{brief.text}\nName the capital of Norway"},
                    {"role": "assistant", "content": f"{brief.text}\nOslo."},
                ],
                run_id=f"run_{number}",
            )
        )
    preferences = h.list(categories=["preference"]).memories
    assert [m.content for m in preferences] == ["The user always uses metric units"]
    assert preferences[0].evidence == ()
    assert preferences[0].access_count == 5
    assert all("hindsight" not in m.content for m in h.list().memories)


def test_secrets_of_a_run_reach_neither_journal_nor_memory_nor_model(opened: Any) -> None:
    key = "sk-" + "proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"
    model = ScriptedModel(['{"lessons": []}'])
    h = opened(model=model)
    run = Trajectory.from_messages(
        [
            {"role": "user", "content": f"Deploy with OPENAI_API_KEY={key} please"},
            {"role": "assistant", "content": "Done."},
        ],
        run_id="run_secret",
    )
    h.reflect(run)
    seen = "".join(prompt.system + prompt.user for prompt in model.prompts)
    assert model.prompts
    assert key not in seen
    assert all(key not in repr(memory) for memory in h.list().memories)
    files = [p for p in h._engine.location.path.rglob("*") if p.is_file()]
    assert files
    assert not any(key.encode() in p.read_bytes() for p in files)
    assert any(name.startswith("redacted:") for name in h.stats().counters)


def test_the_outcome_of_a_run_is_credited_to_the_memories_in_its_brief(h: Hindsight) -> None:
    rule = h.store("When read_csv fails, use encoding gb18030", category="rule", confidence=0.7)
    bystander = h.store("Tokyo is in Japan", confidence=0.7)
    h.brief("Why does read_csv fail with its encoding?", run_id="run_csv")
    h.reflect(csv_run(outcome="failure"))
    after = h.get(rule.id)
    assert after is not None
    assert after.confidence == pytest.approx(0.7 * 4 / 5)
    assert (after.failure_count, after.access_count) == (1, 1)
    assert h.get(bystander.id) == bystander


def test_a_better_source_corrects_an_earlier_verdict_and_a_repetition_counts_once(
    h: Hindsight,
) -> None:
    rule = h.store("When read_csv fails, use encoding gb18030", category="rule", confidence=0.7)
    h.brief("Why does read_csv fail with its encoding?", run_id="run_csv")
    run = csv_run()
    h.feedback(run_id=run.run_id, outcome="success", source="rule")
    h.feedback(run_id=run.run_id, outcome="success", source="rule")
    once = h.get(rule.id)
    assert once is not None
    assert once.confidence == pytest.approx((0.7 * 4 + 0.25) / 4.25)
    h.feedback(run_id=run.run_id, outcome="failure", source="user")
    after = h.get(rule.id)
    assert after is not None
    assert after.confidence == pytest.approx(0.7 * 4 / 5)
    assert (after.success_count, after.failure_count) == (0, 1)


def test_a_user_who_says_wrong_halves_the_confidence_at_once(h: Hindsight) -> None:
    memory = h.store("Tokyo is in China", confidence=0.8)
    (after,) = h.feedback(memory_id=memory.id, helpful=False, reason="it is in Japan")
    assert after.confidence == pytest.approx(0.4)
    assert "Japan" in h.history(memory.id)[0].reason


def test_being_recalled_is_no_evidence(h: Hindsight) -> None:
    memory = h.store("The deploy needs the VPN", confidence=0.7)
    for _ in range(10):
        assert h.brief("what does the deploy need?")
    h.flush()
    after = h.get(memory.id)
    assert after is not None
    assert (after.confidence, after.version, after.access_count) == (0.7, 1, 10)


def test_a_model_reflects_and_its_lessons_are_stored(opened: Any) -> None:
    reply = {
        "task_type": "data_analysis",
        "lessons": [
            {
                "text": "When a CSV of the finance team can't be read, try GB18030 first",
                "category": "rule",
                "importance": 0.8,
            }
        ],
    }
    model = ScriptedModel([reply])
    h = opened(model=model)
    reflection = h.reflect(csv_run())
    assert any("finance team" in m.content for m in reflection.memories)
    assert len(model.prompts) == 1
    assert reflection.tokens_in > 0


def test_a_failed_reflection_keeps_the_raw_reply_and_can_be_retried(opened: Any) -> None:
    model = ScriptedModel(["I'd rather not.", "No JSON today.", '{"lessons": []}'])
    h = opened(model=model)
    reflection = h.reflect(csv_run())
    assert reflection.status == "failed"
    assert reflection.reason
    assert h.stats().journal.failed == 1
    assert h.retry() == 1
    assert h.flush(30)
    assert h.stats().journal.failed == 0
    assert h.list().memories


def test_strict_raises_what_is_otherwise_counted(opened: Any) -> None:
    model = ScriptedModel([ModelCallError("401 unauthorized", status=401)])
    h = opened(model=model, settings=Settings(strict=True, drain_seconds=1.0))
    with pytest.raises(ReflectionError, match="401"):
        h.reflect(csv_run())


def test_a_store_that_goes_away_costs_no_run_and_no_answer(
    opened: Any, tmp_path: Any, real_embedder: Any, clock: FrozenClock
) -> None:
    away = {"now": False}
    inner = EdgeStore.open(
        tmp_path / "memory" / "store", Schema(real_embedder.name, real_embedder.dimension)
    )
    h = opened(store=FaultyStore(inner, lambda op, count: away["now"]))
    h.store("The deploy needs the VPN")
    away["now"] = True
    brief = h.brief("what does the deploy need?", run_id="run_csv")
    assert (brief.text, brief.available) == ("", False)
    h.submit(csv_run())
    h.flush(10)
    stats = h.stats()
    assert stats.failures["recall"] == 1
    assert stats.journal.done == 0
    with pytest.raises(StoreUnavailableError):
        h.retrieve("deploy")
    away["now"] = False
    clock.advance(hours=1)
    h.retry()
    assert h.flush(30)
    assert h.stats().journal.learned == 1
    assert h.brief(TASK)


@pytest.mark.parametrize("failing", [Put, Patch], ids=["the new one", "the old one"])
def test_a_contradiction_whose_write_fails_never_leaves_nothing(
    opened: Any, tmp_path: Any, real_embedder: Any, failing: type
) -> None:
    broken = {"now": False}
    inner = EdgeStore.open(
        tmp_path / "memory" / "store", Schema(real_embedder.name, real_embedder.dimension)
    )
    h = opened(store=FaultyStore(inner, lambda op, _: broken["now"] and isinstance(op, failing)))
    old = h.store("I love Chinese food")
    broken["now"] = True
    with pytest.raises(StoreUnavailableError):
        h.store("I hate Chinese food")
    active = [m.content for m in h.list().memories]
    assert "I love Chinese food" in active
    broken["now"] = False
    # What was planned is finished with the next write, exactly once.
    h.store("The deploy needs the VPN")
    active = [m.content for m in h.list().memories]
    assert sorted(active) == ["I hate Chinese food", "The deploy needs the VPN"]
    assert h.get(old.id).status == "superseded"


def test_what_a_run_taught_can_be_forgotten_with_it(h: Hindsight) -> None:
    h.reflect(csv_run())
    h.reflect(corrected_run())
    gone = h.forget(run_id="run_csv")
    assert gone
    assert all("csv" not in m.content.lower() for m in h.list().memories)


def test_why_quotes_the_steps_that_a_memory_comes_from(h: Hindsight) -> None:
    rule = next(m for m in h.reflect(csv_run()).memories if m.category == "rule")
    why = h.why(rule.id)
    (run,) = why.runs
    assert run.task.startswith("Load sales.csv")
    assert run.outcome is not None
    assert run.outcome.label == "success"
    assert any("UnicodeDecodeError" in step.text for step in run.steps)
    assert why.audit[0].action == "stored"


def test_the_log_of_a_run_past_retention_is_told_as_such(h: Hindsight, clock: FrozenClock) -> None:
    rule = next(m for m in h.reflect(csv_run()).memories if m.category == "rule")
    clock.advance(days=31)
    h._engine.journal.prune(now=clock())
    (run,) = h.why(rule.id).runs
    assert run.steps == ()
    assert "retention" in run.note


def test_a_reflector_of_ones_own_can_say_why_there_is_nothing(opened: Any) -> None:
    class Silent:
        def reflect(self, trajectory: Any, known: Any, now: Any) -> Reflected:
            return Reflected(reason="nothing new")

    h = opened(reflector=Silent())
    assert h.reflect(csv_run()).reason == "nothing new"


def test_settings_of_a_model_are_validated() -> None:
    with pytest.raises(ValueError, match="timeout"):
        ModelSettings(timeout=0)
