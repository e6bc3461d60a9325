"""Whose word counts: at the write, at the read, and in what a reflection names."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hindsight_core import Hindsight
from hindsight_core.models import SOURCES, Memory, Retrieved, Source
from hindsight_core.retrieval.trusted import prefer_trusted
from hindsight_core.safety.trust import TRUST
from hindsight_core.testing import FrozenClock, HashingEmbedder

QUESTION = "how many episodes has season four of the show"
TRUE = "The answer to how many episodes has season four of the show is 23"
FALSE = "Season four of the show has 24 episodes in all, how many fans know"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def h(tmp_path: Path, clock: FrozenClock) -> Hindsight:
    return Hindsight.open(
        tmp_path / "memory", namespace="acme", embedder=HashingEmbedder(), clock=clock
    )


def status(h: Hindsight, memory_id: str) -> str:
    memory = h.get(memory_id)
    return memory.status if memory else "gone"


def terms(text: str) -> frozenset[int]:
    return frozenset(hash(word) for word in text.lower().split() if len(word) > 3)


def result(content: str, source: Source, score: float, h: Hindsight, **more: str) -> Retrieved:
    now = FrozenClock()()
    memory = Memory(
        id=f"{source} {content}", namespace=h.namespace, content=content, kind="semantic",
        category="experience" if more else "fact", event_time=now, created_at=now,
        updated_at=now, source=source,
    )  # fmt: skip
    return Retrieved(memory, score, {"similarity": score})


def test_every_source_has_a_rank() -> None:
    assert set(TRUST) == set(SOURCES)


@pytest.mark.parametrize("source", ["validator", "user_feedback"])
def test_a_proven_statement_comes_before_many_newer_ones_from_elsewhere(
    h: Hindsight, clock: FrozenClock, source: Source
) -> None:
    with h:
        known = h.store(TRUE, source=source)
        for number in range(5):
            clock.advance(days=1)
            h.store(f"{QUESTION}. {FALSE} take {number}", source="import")
        found = h.retrieve(QUESTION)
        assert found[0].memory.id == known.id
        assert found[0].score >= found[1].score
        assert sum(found[0].factors.values()) == pytest.approx(found[0].score)


def test_what_is_brought_in_replaces_nothing_that_a_person_or_a_validator_said(
    h: Hindsight, clock: FrozenClock
) -> None:
    with h:
        for source in ("user_feedback", "validator"):
            known = h.store(f"The {source} port of the server is 8080", source=source)
            clock.advance(days=1)
            h.store(f"The {source} port of the server is 9090", source="import")
            h.store(f"The {source} port of the server is 7070", source="agent_inference")
            assert status(h, known.id) == "active"


def test_a_person_replaces_what_was_brought_in(h: Hindsight, clock: FrozenClock) -> None:
    with h:
        known = h.store("The port of the server is 9090", source="import")
        clock.advance(days=1)
        h.store("The port of the server is 8080")
        assert status(h, known.id) == "superseded"


def test_a_statement_said_again_has_the_more_trusted_source(h: Hindsight) -> None:
    with h:
        known = h.store("The port of the server is 9090", source="import")
        assert h.store("The port of the server is 9090").source == "user_feedback"
        again = h.store("The port of the server is 9090", source="import")
        assert (again.id, again.source) == (known.id, "user_feedback")


def test_newer_goes_first_only_among_equals(h: Hindsight, clock: FrozenClock) -> None:
    with h:
        old = h.store("The office has a red door in the east wing")
        clock.advance(days=1)
        h.store("The office has a blue door in the west wing", source="agent_inference")
        assert h.retrieve("what door does the office have")[0].memory.id == old.id


def test_what_is_hardly_relevant_or_unrelated_moves_nothing(h: Hindsight) -> None:
    with h:
        far = [result(FALSE, "import", 1.0, h), result(TRUE, "validator", 0.4, h)]
        assert prefer_trusted(far, QUESTION, terms) == far
        other = result("Bananas are yellow", "validator", 0.9, h)
        unrelated = [result(FALSE, "import", 1.0, h), other]
        assert prefer_trusted(unrelated, QUESTION, terms) == unrelated


def test_answers_that_share_only_the_question_are_about_the_same(h: Hindsight) -> None:
    with h:
        false = "Somebody called Newton, wonderful poet, certainly wrote that song about children"
        true = "Song about children William Chatterton Dix, Bristol insurance clerk, anno 1865"
        ranked = [result(false, "import", 1.0, h), result(true, "validator", 0.9, h)]
        moved = prefer_trusted(ranked, "who made the song about children", terms)
        assert [one.memory.source for one in moved] == ["validator", "import"]
        assert moved[0].factors["trusted"] == pytest.approx(0.1)


def test_runs_keep_their_places_and_one_source_is_left_as_it_is(h: Hindsight) -> None:
    with h:
        run = result(FALSE, "rule", 1.0, h, category="experience")
        ranked = [run, result(TRUE, "validator", 0.9, h)]
        assert prefer_trusted(ranked, QUESTION, terms) == ranked
        assert prefer_trusted([], QUESTION, terms) == []


def test_scores_fall_and_runs_stay_when_a_statement_passes_several_others(h: Hindsight) -> None:
    with h:
        story = result("Load the show and count", "rule", 0.8, h, category="experience")
        false = [result(f"{FALSE} take {n}", "import", 1.0 - n / 10, h) for n in range(2)]
        ranked = [
            *false,
            story,
            result(FALSE, "import", 0.75, h),
            result(TRUE, "validator", 0.7, h),
        ]
        moved = prefer_trusted(ranked, QUESTION, terms)
        assert moved[0].memory.content == TRUE
        assert moved[2].memory == story.memory
        scores = [one.score for one in moved]
        assert scores == sorted(scores, reverse=True)
        assert [moved[place].memory for place in (1, 3)] == [one.memory for one in false]


def test_a_question_without_content_moves_nothing_by_it(h: Hindsight) -> None:
    with h:
        ranked = [result(FALSE, "import", 1.0, h), result("So is he", "validator", 0.9, h)]
        assert prefer_trusted(ranked, "is it?", terms) == ranked


@pytest.mark.parametrize(
    ("query", "mark", "heading"),
    [
        ("which port has the server", "unverified", "What the user told us"),
        ("服务器的端口是什么", "未经核实", "用户说过的"),
    ],
)
def test_a_brief_marks_what_came_from_elsewhere_and_gives_it_not_as_the_user_s_word(
    h: Hindsight, query: str, mark: str, heading: str
) -> None:
    said = f"{query}: 8080"
    with h:
        h.store(said, source="import", category="preference")
        brief = h.brief(query, abstain=False).text
        assert mark in brief
        assert heading not in brief
        h.store(said, category="preference")
        brief = h.brief(query, abstain=False).text
        assert mark not in brief
        assert heading in brief


def test_event_times_in_the_future_buy_no_trust(h: Hindsight, clock: FrozenClock) -> None:
    with h:
        known = h.store(TRUE, source="validator")
        later = clock() + timedelta(days=300)
        h.store(f"{QUESTION}: 24", source="import", event_time=later, confidence=1.0)
        assert h.retrieve(QUESTION)[0].memory.id == known.id


def test_what_says_less_about_the_question_is_not_moved_up_for_its_source(h: Hindsight) -> None:
    with h:
        answer = result("Staging deploys need the gateway", "agent_inference", 1.0, h)
        beside = result("Staging deploys take long on Mondays", "user_feedback", 0.8, h)
        query = "what do staging deploys need"
        assert prefer_trusted([answer, beside], query, terms) == [answer, beside]
