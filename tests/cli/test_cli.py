"""The command line from its words to its output and exit codes, on the real store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from commands import Command

import hindsight_core.store.edge.store as edge
from hindsight_core import Hindsight, Namespace
from hindsight_core.cli import main
from hindsight_core.clock import system_clock
from hindsight_core.embedding.tokens import EncodingCounter
from hindsight_core.runs.journal import FILE_NAME, Journal
from hindsight_core.store.payload import stored_payload
from hindsight_core.testing import corrected_run


@pytest.fixture
def locked(taught: Path) -> Iterator[Path]:
    """A memory that another process has open."""
    code = (
        "import sys; from hindsight_core import Hindsight\n"
        "with Hindsight.open(sys.argv[1], namespace='default'):\n"
        "    print('open', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(taught)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        yield taught
        holder.communicate("")


def test_a_stored_memory_is_retrieved_listed_and_shown(hindsight: Command) -> None:
    stored = hindsight(
        "store",
        "The user prefers metric units",
        "--category=preference",
        "--tag=units",
        "--importance=0.9",
        "--json",
    ).json["memory"]
    assert (stored["category"], stored["tags"], stored["importance"]) == (
        "preference",
        ["units"],
        0.9,
    )
    assert stored["namespace"] == ["default"]
    found = hindsight("retrieve", "which units does the user like?", "--json").json["results"]
    assert [result["memory"]["id"] for result in found] == [stored["id"]]
    assert found[0]["factors"]
    assert hindsight("list", "--json").json["memories"][0]["id"] == stored["id"]
    assert hindsight("show", stored["id"], "--json").json["memory"] == stored


def test_text_is_read_from_standard_input(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("Backups run at three in the morning\n", "utf-8")
    with (tmp_path / "note").open(encoding="utf-8") as note:
        monkeypatch.setattr("sys.stdin", note)
        stored = hindsight("store", "-", "--json").json["memory"]
    assert stored["content"] == "Backups run at three in the morning"


def test_what_another_program_reads_is_not_folded_nor_padded_and_has_no_colors(
    hindsight: Command, taught: Path
) -> None:
    long = "The nightly export of the billing service " + "needs a signed cookie and " * 7
    hindsight("store", long)
    assert " ".join(long.split()) in hindsight("list").out
    for words in (["retrieve", "Load orders.csv and tell me the total"], ["list"], ["stats"]):
        done = hindsight(*words)
        assert done.code == 0
        assert done.out
        assert all(line == line.rstrip() for line in done.out.splitlines())
        assert "\x1b" not in done.out


def test_retrieve_shows_the_score_with_a_column_for_each_factor(
    hindsight: Command, taught: Path
) -> None:
    words = ("retrieve", "Load orders.csv and tell me the total")
    results = hindsight(*words, "--json").json["results"]
    telling = {n for r in results for n, share in r["factors"].items() if abs(share) >= 0.005}
    lines = hindsight(*words).out.splitlines()
    assert lines[0].split() == ["score", *lines[0].split()[1:-1], "memory"]
    assert set(lines[0].split()[1:-1]) == telling
    assert telling
    assert f"{results[0]['score']:.3f}" in lines[1]


def test_retrieve_says_when_nothing_is_relevant(hindsight: Command) -> None:
    done = hindsight("retrieve", "anything")
    assert (done.code, done.out) == (0, "")
    assert "nothing" in done.err


def test_retrieve_can_leave_out_what_a_brief_would(hindsight: Command, taught: Path) -> None:
    words = ("retrieve", "Suggest a birthday present for my grandmother", "--json")
    assert hindsight(*words).json["results"]
    assert hindsight(*words, "--abstain").json["results"] == []


def test_why_quotes_the_steps_of_the_run(hindsight: Command, taught: Path) -> None:
    memories = hindsight("list", "--json", "--category", "rule").json["memories"]
    shown = hindsight("why", memories[0]["id"]).out
    assert "run_csv" in shown
    assert "can't decode byte 0xd4" in shown
    told = hindsight("why", memories[0]["id"], "--json").json
    assert [run["run_id"] for run in told["runs"]] == ["run_csv"]
    assert told["runs"][0]["steps"]


def test_why_says_that_nothing_taught_a_memory_written_by_hand(hindsight: Command) -> None:
    stored = hindsight("store", "Ports above 1024 are free", "--json").json["memory"]
    assert "by hand" in hindsight("why", stored["id"]).out


def test_show_tells_the_history(hindsight: Command) -> None:
    stored = hindsight("store", "The build takes ten minutes", "--json").json["memory"]
    hindsight("feedback", "--memory", stored["id"], "--harmful", "--reason", "it takes two")
    shown = hindsight("show", stored["id"])
    assert "The build takes ten minutes" in shown.out
    assert "version" in shown.out
    changes = hindsight("show", stored["id"], "--json").json["changes"]
    assert len(changes) == 1


def test_feedback_on_a_run_moves_the_memories_of_its_brief(
    hindsight: Command, taught: Path
) -> None:
    with Hindsight.open(taught, namespace="default") as memory:
        brief = memory.brief("Load orders.csv and tell me the total", run_id="run_next")
    before = {result.memory.id: result.memory.confidence for result in brief.retrieved}
    assert before
    done = hindsight("feedback", "--run", "run_next", "--outcome", "failure", "--json")
    after = {memory["id"]: memory["confidence"] for memory in done.json["memories"]}
    assert set(after) == set(before)
    assert all(after[name] < before[name] for name in before)


def test_forgetting_takes_a_memory_out_of_use_and_twice_is_no_error(
    hindsight: Command, taught: Path
) -> None:
    identity = hindsight("list", "--json").json["memories"][0]["id"]
    assert hindsight("forget", identity, "--json").json == {"forgotten": [identity]}
    assert hindsight("forget", identity, "--json").json == {"forgotten": []}
    listed = hindsight("list", "--json").json["memories"]
    assert identity not in [memory["id"] for memory in listed]
    everything = hindsight("list", "--status=any", "--json").json["memories"]
    assert identity in [memory["id"] for memory in everything]
    assert hindsight("show", identity, "--json").json["memory"]["status"] == "forgotten"


def test_forgetting_a_run_takes_out_all_that_it_taught(hindsight: Command, taught: Path) -> None:
    learned = hindsight("list", "--run", "run_csv", "--json").json["memories"]
    forgotten = hindsight("forget", "--run", "run_csv")
    assert {memory["id"] for memory in learned} == set(forgotten.out.split())
    assert "no memories" in hindsight("list").err


def test_a_list_is_paged_through_with_its_cursor(hindsight: Command) -> None:
    for text in ("Water boils at 100 degrees", "Paris lies on the Seine", "Oak is a hardwood"):
        hindsight("store", text)
    first = hindsight("list", "--limit", "2", "--json").json
    second = hindsight("list", "--limit", "2", "--cursor", first["cursor"], "--json").json
    assert (len(first["memories"]), len(second["memories"])) == (2, 1)
    assert second["cursor"] is None
    assert "--cursor" in hindsight("list", "--limit", "2").err


def test_namespaces_do_not_see_each_other(hindsight: Command) -> None:
    hindsight("store", "The door code is on the fridge", "--namespace", "acme/alice")
    assert hindsight("list", "--namespace", "acme/bob", "--json").json["memories"] == []
    own = hindsight("list", "--namespace", "acme/alice", "--json").json["memories"]
    assert own[0]["namespace"] == ["acme", "alice"]


def test_stats_count_memories_and_runs(hindsight: Command, taught: Path) -> None:
    told = hindsight("stats", "--json").json
    assert told["journal"]["learned"] == 1
    assert told["by_status"]["active"] >= 1
    assert told["store"]["backend"] == "edge"
    assert "journal.learned" in hindsight("stats").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "mem_none"], 4),
        (["why", "mem_none"], 4),
        (["forget", "mem_none"], 4),
        (["feedback", "--memory", "mem_none", "--helpful"], 4),
        (["feedback", "--run", "run_none", "--outcome", "failure"], 4),
        (["forget", "--run", "run_none"], 4),
        (["store", "  "], 2),
        (["retrieve", "x", "--profile", "generous"], 2),
        (["list", "--namespace", "acme/"], 2),
        (["list", "--cursor", "garbage"], 2),
        (["reflect"], 2),
        (["retrieve", "x", "--since", "yesterday"], 2),
        (["retrieve", "x", "--top-k", "0"], 2),
        (["store", "x", "--importance", "2"], 2),
        (["store", "x", "--importance", "high"], 2),
        (["remember", "x"], 2),
        ([], 2),
        (["list"], 0),
        (["--version"], 0),
        (["--help"], 0),
    ],
)
def test_exit_codes_tell_what_happened(hindsight: Command, words: list[str], code: int) -> None:
    done = hindsight(*words)
    assert done.code == code
    if code:
        assert "Traceback" not in done.err
        assert done.err.strip()


def test_an_error_takes_at_most_a_few_lines(hindsight: Command) -> None:
    done = hindsight("show", "mem_none")
    assert done.out == ""
    assert done.err.startswith("hindsight: ")
    assert "mem_none" in done.err
    assert len(done.err.splitlines()) <= 2


def test_with_json_an_error_is_an_object_on_standard_error(hindsight: Command) -> None:
    done = hindsight("show", "mem_none", "--json")
    assert json.loads(done.err)["error"]["type"] == "MemoryNotFoundError"
    assert done.out == ""


def test_the_traceback_is_shown_on_request(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_MEMORY_DEBUG", "1")
    with pytest.raises(LookupError, match="mem_none"):
        hindsight("show", "mem_none")


def test_a_locked_store_is_exit_code_three_and_names_its_holder(
    hindsight: Command, locked: Path
) -> None:
    done = hindsight("list")
    assert done.code == 3
    assert "process" in done.err


def test_the_doctor_works_while_the_store_is_locked(hindsight: Command, locked: Path) -> None:
    done = hindsight("doctor", "--json")
    levels = {check["name"]: check["level"] for check in done.json["checks"]}
    assert done.code == 0
    assert levels["store"] == "warn"
    assert levels["journal"] == "ok"


def test_the_doctor_finds_a_fresh_folder_in_order_and_makes_nothing(
    hindsight: Command, folder: Path
) -> None:
    done = hindsight("doctor")
    assert done.code == 0
    assert not folder.exists()
    assert "none yet" in done.out
    for name in ("python", "engines", "embedding", "tokens", "environment", "store", "journal"):
        assert re.search(rf"^(ok|warn) +{name}\b", done.out, re.M), name


def test_the_doctor_counts_memories_that_can_not_be_read(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    hindsight("store", "The build takes ten minutes")
    with monkeypatch.context() as patched:
        patched.setattr(
            edge, "stored_payload", lambda *given: {**stored_payload(*given), "body": "{"}
        )
        hindsight("store", "Paris lies on the Seine")
    checks = hindsight("doctor", "--json").json["checks"]
    (check,) = [check for check in checks if check["name"] == "store"]
    assert check["level"] == "warn"
    assert "1 of 2 memories can't be read" in check["detail"]
    listed = hindsight("list", "--json").json["memories"]
    assert [memory["content"] for memory in listed] == ["The build takes ten minutes"]


def test_the_doctor_opens_a_store_and_counts_it(hindsight: Command, taught: Path) -> None:
    checks = {check["name"]: check for check in hindsight("doctor", "--json").json["checks"]}
    assert checks["store"]["level"] == "ok"
    assert "edge" in checks["store"]["detail"]
    assert "1 run reflected on" in checks["journal"]["detail"]


def test_the_doctor_points_out_runs_that_failed_or_were_shed(
    hindsight: Command, taught: Path
) -> None:
    shed(taught)
    done = hindsight("doctor", "--json").json
    warned = [check for check in done["checks"] if check["level"] == "warn"]
    assert any("shed" in check["detail"] and "--retry" in check["remedy"] for check in warned)


def test_the_doctor_fails_on_a_damaged_store(hindsight: Command, taught: Path) -> None:
    (taught / "store" / "hindsight.json").write_text("{", "utf-8")
    done = hindsight("doctor", "--json")
    levels = {check["name"]: check["level"] for check in done.json["checks"]}
    assert (done.code, levels["store"]) == (1, "fail")


def test_the_doctor_fails_on_a_damaged_journal(hindsight: Command, taught: Path) -> None:
    (taught / FILE_NAME).write_bytes(b"this is no database" * 100)
    done = hindsight("doctor", "--json")
    levels = {check["name"]: check["level"] for check in done.json["checks"]}
    assert (done.code, levels["journal"]) == (1, "fail")


def test_the_doctor_names_an_unknown_profile(hindsight: Command) -> None:
    done = hindsight("doctor", "--profile", "generous", "--json")
    checks = {check["name"]: check for check in done.json["checks"]}
    assert done.code == 1
    assert "balanced" in checks["profile"]["detail"]


def test_the_doctor_tells_where_the_model_is_missing(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taught: Path
) -> None:
    monkeypatch.setenv("HINDSIGHT_MEMORY_EMBEDDING_PATH", str(tmp_path / "nowhere"))
    done = hindsight("doctor", "--json")
    levels = {check["name"]: check["level"] for check in done.json["checks"]}
    assert (done.code, levels["embedding"], levels["store"]) == (1, "fail", "warn")


def test_the_doctor_says_when_tokens_are_only_estimated(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_at_hand(encoding: str, **_: object) -> EncodingCounter:
        return EncodingCounter(encoding, lambda: None)

    monkeypatch.setattr("hindsight_core.cli.diagnosis.open_token_counter", nothing_at_hand)
    checks = {check["name"]: check for check in hindsight("doctor", "--json").json["checks"]}
    assert checks["tokens"]["level"] == "warn"
    assert "offline" in checks["tokens"]["remedy"]


def test_the_doctor_points_out_a_misspelled_variable(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HINDSIGHT_MEMORY_PROFIL", "layered")
    checks = {check["name"]: check for check in hindsight("doctor", "--json").json["checks"]}
    assert checks["environment"]["level"] == "warn"


def test_the_environment_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, taught: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HINDSIGHT_MEMORY_PATH", str(taught))
    assert main(["stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["journal"]["done"] == 1


def test_an_unreachable_server_is_exit_code_three(hindsight: Command) -> None:
    done = hindsight("list", "--url", "http://127.0.0.1:9")
    assert done.code == 3
    assert "127.0.0.1:9" in done.err


def test_ctrl_c_ends_with_the_shell_s_code(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("hindsight_core.cli.entry.COMMANDS", {"list": interrupted})
    done = hindsight("list")
    assert done.code == 130
    assert "interrupted" in done.err


def test_ctrl_c_while_the_command_line_is_loading_ends_the_same(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "hindsight_core.cli.entry", Loading("entry"))
    done = hindsight("list")
    assert (done.code, done.out, done.err) == (130, "", "hindsight: interrupted\n")


def test_what_nobody_foresaw_is_told_in_lines_and_not_as_a_traceback(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("hindsight_core.cli.entry.COMMANDS", {"list": broken})
    done = hindsight("list")
    assert done.code == 1
    assert "HINDSIGHT_MEMORY_DEBUG" in done.err
    assert "Traceback" not in done.err


def test_control_characters_of_a_memory_do_not_reach_the_terminal(hindsight: Command) -> None:
    hindsight("store", "Beware of \x1b]0;title\x07 and \x1b[31mred")
    shown = hindsight("list").out
    assert "red" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_markup_of_a_memory_is_text(hindsight: Command) -> None:
    hindsight("store", "Use [bold]brackets[/bold] and :smile: as they are")
    assert "[bold]brackets[/bold] and :smile:" in " ".join(hindsight("list").out.split())


@pytest.mark.parametrize(
    "words",
    [["list", "--json"], ["list"], ["demo"], ["list", "--limit=0"]],
    ids=" ".join,
)
def test_a_reader_that_stops_listening_is_no_failure(taught: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code = "import sys; from hindsight_core.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "--path", str(taught), *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    wrong = words[-1] == "--limit=0"
    assert done.returncode == (2 if wrong else 0)
    assert "BrokenPipe" not in done.stderr
    assert ("hindsight:" in done.stderr) == wrong


def shed(folder: Path) -> None:
    """Leave a run in the journal that nobody reflected on."""
    with Journal.open(folder / FILE_NAME) as journal:
        journal.append_run(
            Namespace.of("default"), corrected_run(), now=system_clock(), status="shed"
        )


def test_retry_reflects_on_runs_that_were_shed(hindsight: Command, taught: Path) -> None:
    shed(taught)
    done = hindsight("reflect", "--retry", "--json")
    assert done.code == 0
    assert done.json == {
        "runs_retried": 1,
        "learned": 1,
        "nothing_to_learn": 0,
        "failed": 0,
        "waiting": 0,
    }
    assert re.search(r"runs retried +0", hindsight("reflect", "--retry").out)


def test_the_demo_learns_from_its_first_run(hindsight: Command) -> None:
    done = hindsight("demo", "--json")
    first, second, unrelated = done.json["runs"]
    assert done.code == 0
    assert done.json["learned"] is True
    assert (first["cost"]["failed_calls"], second["cost"]["failed_calls"]) == (2, 0)
    assert "gb18030" in second["brief"]
    assert unrelated["brief"] == ""


def test_the_demo_shows_what_was_saved_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert "scripted" in shown
    assert "UnicodeDecodeError" in shown
    assert re.search(r"failed tool calls +2 +0 +2", shown)
    assert list(tmp_path.iterdir()) == []
