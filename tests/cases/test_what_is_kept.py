"""Which facts stay, which go, and what a brief says of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_core.hindsight import Hindsight
from hindsight_core.retrieval.profiles import profile_named
from hindsight_core.testing import FrozenClock, ScriptedModel, corrected_run
from hindsight_core.trajectory import Trajectory

Opener = Callable[..., Hindsight]


def said(run_id: str, *texts: str, system: str = "") -> Trajectory:
    """Return a run in which user and assistant take turns."""
    roles = ("user", "assistant")
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    messages += [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return Trajectory.from_messages(messages, run_id=run_id)


def contents(h: Hindsight, **filters: Any) -> list[str]:
    return [memory.content for memory in h.list(limit=500, **filters).memories]


def test_a_fact_that_a_model_echoes_from_the_brief_stays_one_fact(opened: Opener) -> None:
    fact = "The user always uses metric units"

    def echoes(prompt: Any) -> dict[str, Any]:
        lines = [line for line in prompt.user.splitlines() if "metric units" in line]
        return {"lessons": [{"text": line, "category": "preference"} for line in lines]}

    model = ScriptedModel([echoes])
    h = opened(model=model)
    kept = h.store(fact, category="preference", confidence=0.7)
    for number in range(20):
        brief = h.brief("Which units does the user use?", run_id=f"run_{number}")
        assert fact in brief.text
        question = f"Name the capital of country number {number}, please, and say why it is so."
        h.reflect(said(f"run_{number}", f"{brief.text}\n{question}", f"{brief.text} Oslo."))
    assert model.prompts
    assert all("<hindsight" not in prompt.user for prompt in model.prompts)
    assert contents(h, categories=["preference"]) == [fact]
    after = h.get(kept.id)
    assert after is not None
    # To be recalled is no evidence, and does not make it younger.
    assert (after.evidence, after.confidence) == ((), 0.7)
    assert (after.event_time, after.created_at) == (kept.event_time, kept.created_at)


def test_what_is_replaced_is_told_on_request_only(h: Hindsight) -> None:
    old = h.store("The user drinks coffee", category="preference")
    new = h.store("The user drinks tea", category="preference")
    question = "what does the user drink"
    assert [r.memory.id for r in h.retrieve(question)] == [new.id]
    assert "coffee" not in h.brief(question).text
    both = h.retrieve(question, statuses=["active", "superseded"])
    assert {r.memory.id for r in both} == {old.id, new.id}


def test_what_a_run_teaches_replaces_by_the_same_rule_as_what_is_stored(h: Hindsight) -> None:
    h.reflect(said("run_1", "I live in Berlin.", "Noted."))
    h.reflect(said("run_2", "I live in Munich now.", "Noted."))
    facts = contents(h, kinds=["semantic"])
    assert any("Munich" in fact for fact in facts)
    assert not any("Berlin" in fact for fact in facts)


def test_a_model_that_claims_everything_is_contradicted_is_not_believed(opened: Opener) -> None:
    facts = [
        "The service runs in region us", "The service uses Postgres 15",
        "The service is owned by the payments team", "The service deploys on Tuesdays",
        "The service writes its logs to Loki", "The service needs 4 GB of memory",
        "The service speaks gRPC", "The service has two replicas",
        "The service is written in Go", "The service keeps backups for 30 days",
    ]  # fmt: skip
    claimed = {
        "text": "The service moved to region eu",
        "category": "fact",
        "supersedes": [f"m{number}" for number in range(10)],
    }
    h = opened(model=ScriptedModel([{"lessons": [claimed]}]))
    for fact in facts:
        h.store(fact, source="agent_inference")
    reflection = h.reflect(
        said("run_moved", "Where does the service run, what does it use and who owns it?",
             "The service moved to region eu.")
    )  # fmt: skip
    assert reflection.status == "learned"
    active = contents(h, categories=["fact"])
    assert {*facts[1:], "The service moved to region eu"} <= set(active)
    (gone,) = h.list(statuses=["superseded"]).memories
    assert gone.content == facts[0]
    assert "moved to region eu" in h.history(gone.id)[-1].reason


def test_a_model_may_still_say_what_one_lesson_replaces(opened: Opener) -> None:
    claimed = {
        "text": "Tickets are now tracked in the new board",
        "category": "fact",
        "supersedes": ["m0", "m7", "null", "00000000-0000-4000-8000-000000000000"],
    }
    h = opened(model=ScriptedModel([{"lessons": [claimed]}]))
    old = h.store("Issues are filed in the old tracker", source="agent_inference")
    stranger = h.scoped(("acme", "bob")).store("Issues are filed in the old tracker")
    reflection = h.reflect(
        said("run_board", "Issues are filed in the old tracker, aren't they?", "Not any more.")
    )
    assert reflection.superseded == (old.id,)
    assert sum("superseding" in note and "run_board" in note for note in reflection.notes) == 3
    kept = h.scoped(("acme", "bob")).get(stranger.id)
    assert kept is not None
    assert kept.status == "active"


def test_greetings_heartbeats_and_a_restated_system_prompt_teach_nothing(h: Hindsight) -> None:
    rules = "You are a careful assistant. Always answer in English. Never mention prices. " * 30
    for number in range(50):
        turns = [("hi", "Hello!"), ("ping", "pong"), ("HEARTBEAT_OK", "ok"), ("hello", rules)]
        h.reflect(said(f"run_{number}", *turns[number % 4], system=rules))
    assert contents(h, kinds=["semantic"]) == []
    assert len(contents(h)) <= 1
    counts = h.stats().journal
    assert counts.nothing_to_learn + counts.learned == 50


@pytest.mark.parametrize(
    ("wordings", "others"),
    [
        (
            [
                "Interval set back to 2 s, reload done", "Set interval back to 2 s, reload is done",
                "The interval was set back to 2 s and reload was done",
                "interval is set back to 2 s; reload done",
                "Interval set back to 2 s. Reload done.",
            ],
            ["Interval set back to 20 s, reload done", "Interval not set back to 2 s, reload done"],
        ),
        (
            ["用户喜欢公制单位", "用户喜欢公制单位。", "用户 喜欢 公制单位"],
            ["用户不喜欢公制单位", "用户喜欢英制单位"],
        ),
    ],
    ids=["en", "zh"],
)  # fmt: skip
def test_rewordings_in_one_reply_become_one_memory_and_look_alikes_stay(
    opened: Opener, wordings: list[str], others: list[str]
) -> None:
    lessons = [{"text": text, "category": "fact"} for text in (*wordings, *others)]
    h = opened(model=ScriptedModel([{"lessons": lessons}]))
    h.reflect(said("run_1", "Please set the interval and reload the thing", "It is done now."))
    facts = contents(h, categories=["fact"])
    assert sum(fact in wordings for fact in facts) == 1
    assert set(others) <= set(facts)
    (kept,) = (m for m in h.list(limit=50).memories if m.content in wordings)
    assert len(kept.evidence) == 1


def test_of_imported_facts_the_older_ranks_lower_and_keeps_both_its_times(
    h: Hindsight, clock: FrozenClock
) -> None:
    year = timedelta(days=365)
    old = h.store(
        "The office has a red door in the east wing", event_time=clock() - year, source="import"
    )
    new = h.store("The office has a blue door in the west wing", source="import")
    found = h.retrieve("what door does the office have")
    assert [r.memory.id for r in found] == [new.id, old.id]
    assert (old.event_time, old.created_at) == (clock() - year, clock())


def test_a_brief_gives_each_memory_its_text_date_and_outcome(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.reflect(corrected_run("run_early"))
    early = clock().date().isoformat()
    clock.advance(days=42)
    h.store("The recipe is for four people", category="fact")
    brief = h.brief("Convert the recipe to my units", run_id="x")
    late = clock().date().isoformat()
    lines = [line for line in brief.text.splitlines() if line.startswith("[")]
    assert len(lines) == len(brief.retrieved) >= 2
    for result in brief.retrieved:
        (line,) = (line for line in lines if result.memory.content[:40] in line)
        date = late if "four people" in line else early
        assert date in line


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
        datetime(2026, 1, 7, 9, tzinfo=UTC),
    ],
    ids=["1970", "9999", "in two days"],
)
@pytest.mark.parametrize(
    "profile", ["balanced", "experience", "layered", "three-lane", "reranked", "assistant"]
)
def test_no_date_and_no_clock_takes_a_score_out_of_its_range(
    opened: Opener, clock: FrozenClock, moment: datetime, profile: str
) -> None:
    h = opened(profile=profile_named(profile))
    h.store("The deploy needs the VPN", event_time=moment, category="fact")
    h.brief("what does the deploy need")
    clock.advance(hours=-1)
    found = h.retrieve("what does the deploy need")
    # One profile drops what has a low score, and 56 years are enough for that.
    assert len(found) == 1 or (profile, moment.year) == ("assistant", 1970)
    for result in found:
        assert 0 <= result.score <= 2
        assert all(-1 <= value <= 1.5 for value in result.factors.values())


def test_a_forgotten_memory_is_gone_from_every_way_to_find_it(h: Hindsight) -> None:
    memory = h.store("The deploy needs the VPN", tags=["vpn"], category="preference")
    question = "what does the deploy need"
    assert h.brief(question)
    assert h.forget(memory.id) == (memory.id,)
    assert h.get(memory.id) is None
    assert h.forget(memory.id) == ()
    assert h.forget("mem_never_seen") == ()
    assert h.retrieve(question) == []
    assert h.retrieve("", tags=["vpn"]) == []
    assert not h.brief(question)
    assert h.list().memories == ()
    # To say it again makes a memory that counts from now.
    again = h.store("The deploy needs the VPN")
    assert again.id != memory.id
    assert h.brief(question)


def test_the_first_question_of_a_new_process_gets_its_memory(opened: Opener) -> None:
    with opened() as yesterday:
        yesterday.reflect(corrected_run())
    assert "metric" in opened().brief("Convert the recipe to my units").text


def test_a_busy_model_holds_up_no_store_and_no_brief(opened: Opener) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def model(prompt: str) -> str:
        begun.set()
        assert may_end.wait(30)
        return '{"lessons": []}'

    h = opened(model=model)
    h.submit(corrected_run())
    assert begun.wait(30)
    h.store("The deploy needs the VPN")
    assert h.brief("what does the deploy need")
    may_end.set()
    assert h.flush(30)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("I prefer tea.", "I now prefer coffee."),
        ("My manager is Eve.", "My new manager is Tom."),
        ("我喜欢喝茶。", "我现在更喜欢喝咖啡。"),
    ],
)
def test_a_person_who_changed_their_mind_in_a_later_run_is_taken_at_their_word(
    opened: Opener, first: str, later: str
) -> None:
    clock = FrozenClock()
    h = opened(clock=clock)
    h.reflect(said("run_1", first, "Noted."))
    (old,) = h.list(categories=["preference", "fact"]).memories
    clock.advance(days=120)
    h.reflect(said("run_2", later, "Noted."))
    (new,) = h.list(categories=["preference", "fact"]).memories
    assert new.supersedes == (old.id,)
    assert new.source == "user_feedback"


def test_what_only_sounds_like_a_wish_to_remember_teaches_no_fact(h: Hindsight) -> None:
    asked = "Do you remember that my locker is number 12?"
    h.reflect(said("run_1", asked, "Remember that your locker is number 12. 记住，柜子是12号。"))
    h.reflect(said("run_2", "Don't remember that my locker is number 12", "I won't."))
    h.reflect(said("run_3", "不要记住我的储物柜是12号", "好的。"))
    assert contents(h, categories=["preference", "fact"]) == []
    h.reflect(said("run_4", "Please remember that my locker is number 12", "Done."))
    assert contents(h, categories=["fact"]) == ["The user's locker is number 12."]
