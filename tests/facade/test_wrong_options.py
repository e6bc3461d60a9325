"""What a verb does not take is refused by name, before anything is read, written or forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import ConfigurationError, JournalError, TrajectoryError
from hindsight_core.hindsight import Hindsight


def test_a_misspelled_filter_forgets_nothing(h: Hindsight) -> None:
    wrong: dict[str, Any] = {"kind": "episodic"}
    h.store("The user drinks tea")
    with pytest.raises(
        ConfigurationError, match=r"forget takes no option 'kind'; it takes .*kinds"
    ):
        h.forget(**wrong)
    with pytest.raises(ConfigurationError, match="nothing was forgotten"):
        h.forget(kinds=[])
    assert len(h.list().memories) == 1


@pytest.mark.parametrize("verb", ["retrieve", "brief", "forethought"])
def test_recall_refuses_an_option_it_does_not_know(h: Hindsight, verb: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{verb} takes no option 'topk'"):
        getattr(h, verb)("tea", topk=3)


def test_a_listing_and_feedback_refuse_an_option_they_do_not_know(h: Hindsight) -> None:
    wrong: dict[str, Any] = {"kind": "episodic"}
    with pytest.raises(ConfigurationError, match="list takes no option 'kind'"):
        h.list(**wrong)
    with pytest.raises(ConfigurationError, match="feedback takes no option 'kind'"):
        h.feedback(run_id="run-1", outcome="success", **wrong)


def test_an_option_that_is_none_is_left_out(h: Hindsight) -> None:
    nothing: dict[str, Any] = {"kinds": None, "since": None, "min_confidence": None}
    h.store("The user drinks tea")
    assert len(h.list(**nothing).memories) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": "semantic"}, r"kinds 'semantic' is one text; give a list"),
        ({"keywords": "a b"}, r"keywords 'a b' is one text"),
        ({"tags": 5}, r"tags 5 is no list"),
        ({"tags": [1]}, r"tags has the item 1 of type int"),
        ({"task_type": 5}, r"task_type 5 is int; give it text"),
        ({"since": "yesterday"}, r"since 'yesterday' is str, not a datetime"),
    ],
)
def test_recall_refuses_values_of_another_kind(
    h: Hindsight, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        h.retrieve("tea", **options)


@pytest.mark.parametrize("budget", [0, -5, "a", 2.5, True])
def test_a_brief_refuses_a_budget_that_is_none(h: Hindsight, budget: Any) -> None:
    h.store("The user drinks tea")
    with pytest.raises(ConfigurationError, match=r"token_budget .* is not a whole number above 0"):
        h.brief("The user drinks tea", token_budget=budget)
    assert h.stats().failures == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metadata": 5}, r"metadata 5 is no mapping"),
        ({"applies_when": 5}, r"applies_when 5 is int; give it text"),
        ({"task_type": 5}, r"task_type 5 is int"),
        ({"tags": [1]}, r"tags has the item 1"),
        ({"confidence": "high"}, r"confidence 'high' is not in 0–1"),
        ({"valid_until": "tomorrow"}, r"valid_until 'tomorrow' is str, not a datetime"),
    ],
)
def test_store_refuses_what_could_not_be_read_again(
    h: Hindsight, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        h.store("The user drinks tea", **options)
    assert h.list().memories == ()
    assert h.retrieve("tea") == []


def test_content_that_is_no_text_is_told_by_its_type(h: Hindsight) -> None:
    wrong: Any = 5
    with pytest.raises(ConfigurationError, match=r"memory content 5 is int; give it text"):
        h.store(wrong)


@pytest.mark.parametrize("run", [None, [{"role": "user", "content": "Hello"}], {}])
def test_bare_messages_are_no_run(h: Hindsight, run: Any) -> None:
    for verb in (h.reflect, h.submit):
        with pytest.raises(TrajectoryError, match=r"not a Trajectory; .*from_messages"):
            verb(run)


def test_a_path_that_is_no_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    with pytest.raises(JournalError, match=r"notes\.txt.*choose another path"):
        Hindsight.open(file, namespace="acme")
    assert file.read_text() == "mine"
    wrong: Any = 5
    with pytest.raises(ConfigurationError, match="path 5 is int"):
        Hindsight.open(wrong, namespace="acme")
