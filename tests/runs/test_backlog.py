"""When too many runs wait for reflection."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hindsight_core.namespaces import Namespace
from hindsight_core.runs import backlog as room
from hindsight_core.runs.backlog import Backlog
from hindsight_core.runs.journal import Journal
from hindsight_core.testing import csv_run

NOW = datetime(2026, 1, 5, tzinfo=UTC)
ACME, OTHER = Namespace.of("acme"), Namespace.of("other")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.open(tmp_path)


def submit(journal: Journal, backlog: Backlog, number: int, namespace: Namespace = ACME) -> bool:
    full = backlog.is_full(namespace)
    if not full:
        journal.append_run(namespace, csv_run(run_id=f"run_{number}"), now=NOW)
    return full


@pytest.mark.parametrize("most", [1, 2, 3, 7, 8])
def test_exactly_as_many_wait_as_may(journal: Journal, most: int) -> None:
    backlog = Backlog(journal, most)
    said = [submit(journal, backlog, number) for number in range(most + 3)]
    assert said == [False] * most + [True] * 3
    assert not submit(journal, backlog, 100, OTHER)
    journal.close()


def test_it_is_counted_again_only_when_it_could_be_half_full(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    count = Journal.backlog

    def noted(self: Journal, *args: object, **kwargs: object) -> int:
        counted.append(1)
        return count(self, *args, **kwargs)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Journal, "backlog", noted)
    backlog = Backlog(journal, 40)
    for number in range(19):
        submit(journal, backlog, number)
    assert len(counted) == 1
    submit(journal, backlog, 19)
    assert len(counted) == 2
    journal.close()


def test_what_has_been_reflected_on_makes_room(journal: Journal) -> None:
    backlog = Backlog(journal, 2)
    assert [submit(journal, backlog, n) for n in range(3)] == [False, False, True]
    journal.fail(ACME, "run_0", reason="gone", now=NOW)
    assert not submit(journal, backlog, 3)
    journal.close()


def test_no_more_than_so_many_namespaces_are_remembered(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_NAMESPACES", 2)
    backlog = Backlog(journal, 10)
    for number in range(5):
        backlog.is_full(Namespace.of(f"user-{number}"))
    assert len(backlog._waiting) <= 2
    journal.close()
