"""Writing by hand, listing, forgetting."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import (
    ClosedError,
    ConfigurationError,
    MemoryNotFoundError,
    NamespaceError,
)
from hindsight_core.hindsight import Hindsight
from hindsight_core.testing import FrozenClock, HashingEmbedder


def contents(h: Hindsight, **filters: Any) -> list[str]:
    return [memory.content for memory in h.list(**filters).memories]


def test_what_is_stored_is_there_after_reopening(opened: Any) -> None:
    with opened() as first:
        stored = first.store(
            "The user prefers metric units",
            category="preference",
            tags=["units"],
            metadata={"ticket": 7},
        )
    again = opened().get(stored.id)
    assert again == stored


def test_storing_the_same_thing_twice_keeps_one_memory(h: Hindsight) -> None:
    first = h.store("The deploy needs the VPN")
    second = h.store("The deploy needs the VPN")
    assert second.id == first.id
    assert contents(h) == ["The deploy needs the VPN"]
    assert second.confidence == first.confidence


def test_a_newer_statement_supersedes_the_older_and_both_are_kept(h: Hindsight) -> None:
    old = h.store("The user drinks coffee")
    new = h.store("The user now drinks tea")
    before = h.get(old.id)
    assert before is not None
    assert (before.status, before.superseded_by) == ("superseded", new.id)
    assert new.supersedes == (old.id,)
    assert contents(h) == ["The user now drinks tea"]
    assert [r.memory.content for r in h.retrieve("what does the user drink")] == [
        "The user now drinks tea"
    ]
    assert h.history(old.id)[0].before["status"] == "active"


def test_an_older_statement_does_not_supersede_a_newer_one(
    h: Hindsight, clock: FrozenClock
) -> None:
    h.store("The user drinks tea")
    h.store("The user drinks coffee", event_time=clock() - timedelta(days=300))
    assert len(contents(h)) == 2


def test_unrelated_facts_survive_a_change_of_one(h: Hindsight) -> None:
    for fact in (
        "The service runs in region us",
        "The service uses Postgres 15",
        "The service is owned by the payments team",
        "The service deploys on Tuesdays",
    ):
        h.store(fact)
    h.store("The service moved to region eu")
    assert sorted(contents(h)) == [
        "The service deploys on Tuesdays",
        "The service is owned by the payments team",
        "The service moved to region eu",
        "The service uses Postgres 15",
    ]


def test_an_agent_can_not_overrule_what_the_user_said(h: Hindsight) -> None:
    h.store("The user drinks coffee", source="user_feedback")
    h.store("The user drinks tea", source="agent_inference")
    assert len(contents(h)) == 2


@pytest.mark.parametrize("memory_id", ["run-42", "x" * 200, "../x", "订单/7"])
def test_any_id_of_a_caller_comes_back_unchanged(h: Hindsight, memory_id: str) -> None:
    h.store("The deploy needs the VPN", memory_id=memory_id)
    memory = h.get(memory_id)
    assert memory is not None
    assert memory.id == memory_id


def test_the_same_id_twice_is_one_memory_with_the_latest_text_and_its_history(
    h: Hindsight,
) -> None:
    h.store("The deploy needs the VPN", memory_id="run-42")
    h.store("The deploy needs a token", memory_id="run-42")
    memory = h.get("run-42")
    assert memory is not None
    assert (memory.content, memory.version) == ("The deploy needs a token", 2)
    assert h.history("run-42")[0].before["content"] == "The deploy needs the VPN"
    assert len(contents(h)) == 1


@pytest.mark.parametrize("content", ["", " \n\t", None, 7])
def test_a_memory_without_text_is_refused(h: Hindsight, content: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is (?:blank|NoneType|int); give it text"):
        h.store(content)
    assert contents(h) == []


@pytest.mark.parametrize("namespace", [None, "", "  ", (), ("acme", ""), "{user_id}"])
def test_a_namespace_that_is_missing_or_unfilled_is_refused_before_anything_is_opened(
    tmp_path: Path, namespace: Any, embedder: HashingEmbedder
) -> None:
    with pytest.raises(NamespaceError):
        Hindsight.open(tmp_path / "memory", namespace=namespace, embedder=embedder)
    assert not (tmp_path / "memory").exists()


def test_a_secret_in_a_memory_is_redacted_and_counted(h: Hindsight) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    memory = h.store(f"The bucket is opened with {key} in eu-west-1")
    assert key not in memory.content
    assert "eu-west-1" in memory.content
    assert sum(h.stats().counters.values()) == 1


def test_listing_pages_through_everything_once(h: Hindsight) -> None:
    h.store_many({"content": f"Host {i} has the serial {i * 7919}"} for i in range(45))
    seen: list[str] = []
    cursor = None
    while True:
        page = h.list(limit=20, cursor=cursor)
        seen += [memory.id for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 45


def test_forgetting_is_done_once_and_then_finds_nothing(h: Hindsight) -> None:
    memory = h.store("The deploy needs the VPN")
    assert h.forget(memory.id) == (memory.id,)
    assert h.get(memory.id) is None
    assert h.forget(memory.id) == ()
    assert h.forget("mem_unknown") == ()
    assert h.retrieve("deploy VPN") == []
    assert h.why(memory.id).memory.status == "forgotten"


def test_forgetting_by_filter_touches_only_the_own_namespace(h: Hindsight) -> None:
    other = h.scoped(("acme", "bob"))
    for i in range(130):
        h.store(f"Host {i} has the serial {i * 7919}", tags=["hosts"])
    other.store("Host 1 has the serial 5", tags=["hosts"])
    assert len(h.forget(tags=["hosts"])) == 130
    assert contents(h) == []
    assert len(contents(other)) == 1


def test_forgetting_needs_to_be_told_what(h: Hindsight) -> None:
    h.store("The deploy needs the VPN")
    with pytest.raises(ConfigurationError, match="nothing was forgotten"):
        h.forget()
    assert len(contents(h)) == 1


def test_asking_why_about_an_id_that_is_not_there_says_so(h: Hindsight) -> None:
    with pytest.raises(MemoryNotFoundError, match="mem_none"):
        h.why("mem_none")


def test_after_closing_every_verb_says_that_it_is_closed(h: Hindsight) -> None:
    h.close()
    h.close()
    with pytest.raises(ClosedError, match=r"Hindsight\.open"):
        h.retrieve("anything")


def test_two_facades_of_one_process_share_one_store(opened: Any) -> None:
    first, second = opened(), opened()
    memory = first.store("The deploy needs the VPN")
    assert second.get(memory.id) == memory
    first.close()
    assert second.get(memory.id) == memory


def test_one_namespace_never_sees_another_through_any_verb(h: Hindsight) -> None:
    marker = "xyzzy-secret-marker"
    memory = h.store(f"The password hint is {marker}", tags=["private"])
    bob = h.scoped(("acme", "bob"))
    assert bob.get(memory.id) is None
    assert bob.retrieve(marker) == []
    assert not bob.brief(marker)
    assert bob.list().memories == ()
    assert bob.forget(memory.id) == ()
    assert bob.stats().by_status == {}
    for verb in (bob.why, bob.history):
        with pytest.raises(MemoryNotFoundError) as error:
            verb(memory.id)
        assert marker not in str(error.value)
    with pytest.raises(MemoryNotFoundError):
        bob.feedback(memory_id=memory.id, helpful=False)
    assert h.get(memory.id) == memory


def test_one_batch_folds_repetitions_and_lets_the_later_value_win(
    h: Hindsight, clock: FrozenClock
) -> None:
    stored = h.store_many(
        [
            {"content": "The rate limit is 100 per minute"},
            {"content": "The rate limit is 100 per minute."},
            {
                "content": "The rate limit is 250 per minute",
                "event_time": clock() + timedelta(days=1),
            },
            {"content": "用户住在北京"},
            {"content": "用户住在北京。"},
        ]
    )
    assert stored[0].id == stored[1].id
    assert stored[3].id == stored[4].id
    assert sorted(contents(h)) == ["The rate limit is 250 per minute", "用户住在北京"]


def test_one_id_twice_in_one_batch_keeps_the_later_text_and_the_history(h: Hindsight) -> None:
    h.store_many(
        [
            {"content": "The deploy needs the VPN", "memory_id": "run-42"},
            {"content": "The deploy needs a token", "memory_id": "run-42"},
        ]
    )
    assert contents(h) == ["The deploy needs a token"]
    assert h.history("run-42")[0].before["content"] == "The deploy needs the VPN"
