"""`hindsight contradictions`, with a statement and without one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from commands import Command

from hindsight_core import Hindsight
from hindsight_core.retrieval.profiles import Profile

MET = "I just met Brittney's parents at The French Laundry"
NEVER = "I've never met Brittney's parents, what should I wear?"


@pytest.fixture
def met(folder: Path) -> Path:
    with Hindsight.open(folder, namespace="default") as memory:
        memory.store(MET, event_time=datetime(2026, 3, 7, tzinfo=UTC))
        memory.store("Brittney's parents live by the sea")
    return folder


@pytest.fixture
def disputed(folder: Path) -> tuple[str, str]:
    """Two memories of which nobody has said which is right; the ids of the newer and the older."""
    profile = Profile.from_mapping({"name": "asks", "lifecycle": {"conflict": "unresolved"}})
    march, may = datetime(2026, 3, 7, tzinfo=UTC), datetime(2026, 5, 9, tzinfo=UTC)
    with Hindsight.open(folder, namespace="default", profile=profile) as memory:
        old = memory.store("The deploy takes 10 minutes", event_time=march)
        new = memory.store("The deploy takes 25 minutes", event_time=may)
    return new.id, old.id


def test_what_contradicts_a_statement_is_shown_with_its_score_and_date(
    hindsight: Command, met: Path
) -> None:
    lines = hindsight("contradictions", NEVER).out.splitlines()
    assert lines[0].split() == ["score", "relevance", "difference", "memory", "when"]
    assert MET in lines[1]
    assert lines[1].endswith("2026-03-07")
    assert len(lines) == 3
    (found,) = hindsight("contradictions", NEVER, "--json").json["contradictions"]
    assert found["memory"]["content"] == MET
    assert set(found) == {"memory", "score", "relevance", "difference"}
    assert lines[1].startswith(f"{found['score']:.2f}")


def test_the_least_score_and_the_number_of_results_are_options(
    hindsight: Command, met: Path
) -> None:
    def count(*words: str) -> int:
        return len(hindsight("contradictions", NEVER, *words, "--json").json["contradictions"])

    assert count("--least", "0") == 2
    assert count("--least", "0", "--top-k", "1") == 1
    assert count("--least", "1") == 0


def test_nothing_that_contradicts_is_told_and_no_failure(hindsight: Command, met: Path) -> None:
    done = hindsight("contradictions", "The moon is far away")
    assert (done.code, done.out) == (0, "")
    assert "nothing contradicts it" in done.err


def test_without_a_statement_both_sides_of_what_is_open_are_shown_with_their_dates(
    hindsight: Command, disputed: tuple[str, str]
) -> None:
    done = hindsight("contradictions")
    lines = done.out.splitlines()
    assert lines[0].split() == ["when", "memory", "against", "of"]
    assert lines[1].split("  ")[0] == "2026-05-09"
    assert lines[1].index("25 minutes") < lines[1].index("10 minutes")
    assert lines[1].endswith("2026-03-07")
    assert "hindsight review" in done.err
    (found,) = hindsight("contradictions", "--json").json["contradictions"]
    assert (found["memory"]["id"], [m["id"] for m in found["against"]]) == (
        disputed[0],
        [disputed[1]],
    )


def test_a_contradiction_with_what_is_no_longer_in_use_is_not_open(
    hindsight: Command, disputed: tuple[str, str]
) -> None:
    hindsight("forget", disputed[1])
    done = hindsight("contradictions")
    assert (done.code, done.out) == (0, "")
    assert "no contradiction is open" in done.err
