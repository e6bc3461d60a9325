"""Each benchmark on a tiny data set, from the command line to the figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_figures import UPDATES, Figures, Runner, rows_of

from benchmarks.loaders.beam import LONGEST, load_beam
from benchmarks.loaders.locomo import load_locomo
from benchmarks.loaders.pairs import load_pairs
from benchmarks.loaders.reflexion import load_trials
from benchmarks.loaders.runs import load_alfworld, load_tau_bench

SYSTEMS = ["dense", "bm25", "hindsight"]


def check_rows(figures: Figures, metrics: list[str], systems: list[str] = SYSTEMS) -> None:
    """Every row has every metric, in 0–1, within its interval."""
    assert [row["system"] for row in figures["rows"]] == systems
    for row in figures["rows"]:
        for metric in metrics:
            low, high = row[f"{metric}_ci"]
            assert 0.0 <= low <= row[metric] <= high <= 1.0
            assert row[f"{metric}_n"] > 0
    assert figures["n"] > 0
    assert {"settings", "versions", "machine", "date", "notes"} <= set(figures)


def test_locomo_finds_the_turn_that_answers(run: Runner, locomo: Path) -> None:
    figures = run("locomo")
    check_rows(figures, ["R@1", "R@5", "R@10", "R@20"])
    assert figures["n"] == 3
    assert figures["settings"]["memories"] == 12
    for row in figures["rows"]:
        assert row["R@20"] == 1.0
    assert rows_of(figures)["bm25"]["R@1"] >= 0.5


def test_locomo_turns_are_read_in_the_order_of_sessions(data: Path, locomo: Path) -> None:
    (corpus,) = load_locomo(data)
    assert corpus.documents[0].text == (
        "Ann: 1: I spent the summer in Lisbon. [shares a photo of a tram]"
    )
    assert [d.position for d in corpus.documents] == [*range(6), *range(6)]
    assert corpus.documents[5].session != corpus.documents[6].session
    assert corpus.documents[6].event_time > corpus.documents[5].event_time
    assert [set(q.gold) for q in corpus.questions] == [{1, 7}, {0}, {3}]


def test_beam_reads_both_forms_of_gold_and_cuts_long_messages(
    run: Runner, data: Path, beam: Path
) -> None:
    (corpus,) = load_beam(data)
    assert corpus.documents[1].text == "My trip to Oslo is planned."
    assert [set(q.gold) for q in corpus.questions] == [{1}, {3, 4}]
    assert len(corpus.documents[-1].text) == LONGEST
    figures = run("beam", "--limit", "1")
    check_rows(figures, ["R@1", "R@10"], [f"{system} (limit 1)" for system in SYSTEMS])
    assert figures["n"] == 1
    assert "1 messages are cut to 20,000 characters, for all systems" in figures["notes"]


def test_pairs_stand_in_one_store_in_time_order(data: Path, pairs: Path) -> None:
    loaded = load_pairs(data, "knowledge_update", keep_same_message=False)
    texts = [document.text for document in loaded.documents]
    assert texts == [*UPDATES["export"][:2], *UPDATES["page"][:2]]
    assert [(set(p.old), set(p.new)) for p in loaded.pairs] == [({2}, {3}), ({0}, {1})]
    times = [document.event_time for document in loaded.documents]
    assert times == sorted(set(times))


def test_currency_puts_the_newer_statement_first(run: Runner, pairs: Path) -> None:
    figures = run("currency")
    check_rows(figures, ["new_first", "new@1", "new@5"])
    assert figures["n"] == 2
    assert rows_of(figures)["hindsight"]["new_first"] == 1.0
    assert any("superseded at write" in note for note in figures["notes"])


def test_contradiction_looks_for_both_statements(run: Runner, pairs: Path) -> None:
    figures = run("contradiction")
    check_rows(figures, ["both@5", "auc"])
    assert rows_of(figures)["dense"]["both@5"] == 1.0


def test_same_task_leaves_the_asking_task_out(run: Runner, webarena: Path) -> None:
    figures = run("same-task")
    check_rows(figures, ["P@1", "MRR", "MAP"])
    assert figures["n"] == 6
    assert figures["notes"] == ["7 intents, of which 6 share a template"]
    assert rows_of(figures)["hindsight"]["MAP"] == 1.0


def test_success_first_reflects_on_trials_and_brings_the_successful_one(
    run: Runner, data: Path, tau: Path
) -> None:
    runs = load_tau_bench(data)
    assert [run_.succeeded for run_ in runs] == [False, False, True, True, *[False] * 4]
    assert len({run_.group for run_ in runs}) == 2
    figures = run("success-first")
    check_rows(figures, ["same_task@1", "same_task@5", "success_first"])
    hindsight = rows_of(figures)["hindsight"]
    assert hindsight["success_first"] == 1.0
    assert hindsight["success_first_n"] == 6
    assert hindsight["same_task@5"] == 1.0


def test_experience_counts_successful_runs_of_the_same_type(
    run: Runner, data: Path, alfworld: Path
) -> None:
    assert {run_.group for run_ in load_alfworld(data)} == {"pick_cool", "look_at"}
    figures = run("experience")
    check_rows(figures, ["P@5", "type_P@5"])
    for row in figures["rows"]:
        # Five others, two of the same type; of these one or two succeeded.
        assert row["type_P@5"] == pytest.approx(2 / 5)
        assert row["P@5"] == pytest.approx(8 / 6 / 5, abs=1e-6)


def test_chinese_asks_within_and_across_languages(run: Runner, xquad: Path) -> None:
    figures = run("chinese")
    names = [f"{d}_{m}" for d in ("zh", "en", "en_zh") for m in ("R@1", "R@5", "MRR@10")]
    check_rows(figures, names)
    assert rows_of(figures)["hindsight"]["zh_R@1"] == 1.0


def test_a_missing_language_is_left_out_and_named(run: Runner, xquad: Path) -> None:
    (xquad / "xquad.zh.json").unlink()
    figures = run("chinese")
    check_rows(figures, ["en_R@1"])
    assert "zh_R@1" not in figures["rows"][0]
    assert "xquad.zh.json is absent; what needs it was left out" in figures["notes"]


def test_replay_gives_each_run_the_lessons_that_were_once_written(
    run: Runner, data: Path, reflexion: Path
) -> None:
    trials = load_trials(data)
    assert [trial.number for trial in trials] == [1, 1, 2, 2, 3, 3]
    assert [len(trial.reflections) for trial in trials] == [1, 1, 1, 0, 0, 0]
    assert [trial.later for trial in trials][:3] == ["incorrect", "incorrect", "correct"]
    figures = run("replay")
    check_rows(figures, ["own@1", "newest_first"])
    hindsight = rows_of(figures)["hindsight"]
    assert hindsight["newest_first"] == 1.0
    assert hindsight["confidence_gap"] > 0
    assert hindsight["token_ratio"] > 0
    assert min(hindsight["brief_tokens"], hindsight["run_tokens"]) > 0
    assert hindsight["duplicates"] == 0.0
    assert any("bookkeeping" in note for note in figures["notes"])


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("currency", ["new_first", "new@1", "new@5"]),
        ("contradiction", ["both@5", "auc"]),
        ("replay", ["own@1", "newest_first"]),
    ],
)
def test_every_profile_gets_a_row_where_that_is_asked_for(
    run: Runner, pairs: Path, reflexion: Path, name: str, metrics: list[str]
) -> None:
    others = ["experience", "layered", "three-lane", "reranked", "assistant"]
    rows = [*SYSTEMS, *(f"hindsight, profile={profile}" for profile in others)]
    check_rows(run(name, "--profiles"), metrics, rows)


def test_the_policies_of_credit_get_a_row_for_every_profile(run: Runner) -> None:
    rows = rows_of(run("credit", "--profiles", "--limit", "2"))
    assert "hindsight, profile=layered (limit 2)" in rows
    # This profile neither gains nor loses by outcomes, so that it retires nothing.
    never = rows["hindsight, profile=three-lane (limit 2)"]["regret"]
    assert never > 2 * rows["beta, last outcomes (balanced) (limit 2)"]["regret"]
