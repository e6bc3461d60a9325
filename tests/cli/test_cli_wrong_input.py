"""What a command says of input that it can't use: what happened, with which value, what next."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from commands import Command

from hindsight_core.errors import StoreError

NINES = "9" * 5_000
USAGE = [
    (["retrieve", "x", "--top-k", NINES], "is not a whole number in 1–1000"),
    (["retrieve", "x", "--since", "0001-01-01T00:00:00+14:00"], "is not a date such as 2026-01-31"),
    (["store", "x", "--valid-until", "9999-12-31T23:00:00-14:00"], "is not a date such as"),
    (["consolidate", "--token-limit", NINES], "is not a whole number of 1 or more"),
    (["consolidate", "--token-limit", "0"], "'0' is not a whole number of 1 or more"),
    (["review", "--seed", "abc"], "'abc' is not a whole number"),
    (["rollback", "mem_x", "--to", "99999999"], "is not the number of a version"),
    (["rollback", "mem_x", "--to", "99999999"], "is not a date such as"),
    (["contradictions", "x", "--least", "7"], "'7' is not a number in 0–1"),
    (["feedback", "--memory", "mem_x", "--outcome", "success"], "--memory with --helpful"),
    (["feedback", "--run", "run_x", "--helpful"], "--run goes with --outcome"),
    (["lst"], "invalid choice: 'lst'"),
    (["list", "extra", "words"], "list takes no 'extra words'; `hindsight list --help`"),
    (["stats", "--everything"], "stats takes no '--everything'; `hindsight stats --help`"),
]
BLANK = [
    ["retrieve", ""],
    ["retrieve", "x", "--task-type", ""],
    ["forethought", " "],
    ["contradictions", ""],
    ["show", ""],
    ["why", ""],
    ["history", ""],
    ["release", ""],
    ["forget", ""],
    ["forget", "--run", ""],
    ["rollback", "--run", ""],
    ["feedback", "--memory", "", "--helpful"],
    ["reflect", "--from", ""],
    ["review", "--verdicts", ""],
    ["list", "--run", ""],
    ["list", "--tag", ""],
    ["store", "x", "--tag", ""],
    ["list", "--path", ""],
    ["list", "--url", ""],
]


@pytest.mark.parametrize(("words", "says"), USAGE)
def test_wrong_usage_is_one_line_with_the_value_and_exit_code_two(
    hindsight: Command, folder: Path, words: list[str], says: str
) -> None:
    done = hindsight(*words)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert not (folder / "store").exists()


@pytest.mark.parametrize("words", BLANK, ids=" ".join)
def test_what_is_blank_as_an_unset_variable_of_a_shell_is_refused(
    hindsight: Command, folder: Path, words: list[str]
) -> None:
    done = hindsight(*words)
    assert done.code == 2
    assert "is blank; `hindsight" in done.err
    assert "--help` shows how it is used" in done.err
    assert not folder.exists()


def test_blanks_around_an_id_do_not_count(hindsight: Command, taught: Path) -> None:
    stored = hindsight("store", "Paris lies on the Seine", "--json").json["memory"]
    assert hindsight("show", f" {stored['id']}\n", "--json").json["memory"] == stored
    assert hindsight("forget", "--run", " run_csv ").out


def test_wrong_usage_is_an_object_too_where_json_is_wanted(hindsight: Command) -> None:
    done = hindsight("list", "--limit", "0", "--json")
    error = json.loads(done.err)["error"]
    assert (done.code, error["type"]) == (2, "UsageError")
    assert "'0' is not a whole number in 1–1000" in error["message"]


def test_a_moment_with_a_zone_is_the_same_moment(hindsight: Command) -> None:
    words = ("store", "The lease of the office ends", "--valid-until", "2099-01-31T02:00:00+03:00")
    assert hindsight(*words, "--json").json["memory"]["valid_until"] == "2099-01-30T23:00:00+00:00"


def test_a_mistyped_folder_is_noticed_by_verbs_that_read(hindsight: Command, folder: Path) -> None:
    done = hindsight("list")
    assert done.code == 0
    assert f"there was no memory at {str(folder)!r}; --path names another folder" in done.err
    assert "there was no memory" not in hindsight("list").err


def test_a_mistyped_folder_is_told_behind_the_error_that_it_leads_to(hindsight: Command) -> None:
    lines = hindsight("show", "mem_none").err.splitlines()
    assert lines[0].startswith("hindsight: there is no memory 'mem_none'")
    assert lines[1].startswith("there was no memory at")


def test_what_writes_into_a_new_folder_is_not_told_of_it(hindsight: Command) -> None:
    assert hindsight("store", "Paris lies on the Seine").err == ""


def test_storing_what_is_known_already_is_told(hindsight: Command) -> None:
    hindsight("store", "Paris lies on the Seine")
    done = hindsight("store", "Paris lies on the Seine")
    assert "known already" in done.err


def test_storing_what_no_longer_holds_is_told(hindsight: Command) -> None:
    done = hindsight("store", "The sale is on", "--valid-until", "2020-01-31")
    assert "it held until 2020-01-31, so no retrieval finds it" in done.err
    assert hindsight("retrieve", "The sale is on", "--json").json["results"] == []


def test_a_run_that_nobody_knows_can_not_be_rolled_back(hindsight: Command, taught: Path) -> None:
    done = hindsight("rollback", "--run", "run_none", "--dry-run")
    assert done.code == 4
    assert "'run_none'" in done.err
    assert hindsight("rollback", "--run", "run_csv", "--dry-run").code == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "can't be read: No such file or directory; check the path"),
        (b"\xa2\x00\xff", "is no text in UTF-8"),
        (b"[\x00]", r"is no text in UTF-8: '\x00' at character 1"),
        (b"", "are no JSON"),
        (b"[" * 100_000, "are no JSON"),
        (b"[1]", "1 is no verdict"),
        (b"3", "are no list under 'verdicts'"),
    ],
)
def test_a_file_of_verdicts_that_can_not_be_used_is_told(
    hindsight: Command, tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "verdicts.json"
    if content is not None:
        file.write_bytes(content)
    done = hindsight("review", "--verdicts", str(file))
    assert done.code == 2
    assert says in done.err
    assert "should not happen" not in done.err


def test_a_folder_instead_of_a_file_of_verdicts_is_told(hindsight: Command, tmp_path: Path) -> None:
    done = hindsight("review", "--verdicts", str(tmp_path))
    assert done.code == 2
    assert "can't be read: Is a directory" in done.err


def test_verdicts_may_begin_with_a_byte_order_mark(hindsight: Command, tmp_path: Path) -> None:
    stored = hindsight("store", "Paris lies on the Seine", "--json").json["memory"]
    verdicts = json.dumps([{"memory_id": stored["id"], "verdict": "right"}])
    (tmp_path / "verdicts.json").write_text(verdicts, "utf-8-sig")
    done = hindsight("review", "--verdicts", str(tmp_path / "verdicts.json"))
    assert (done.code, done.err) == (0, "1 verdict\n")


@pytest.mark.parametrize("text", ["PNG\0\0", "caf\udce9"])
def test_bytes_that_are_no_text_are_not_stored(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, text: str, folder: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    done = hindsight("store", "-")
    assert done.code == 2
    assert "the text in standard input is no text in UTF-8" in done.err
    assert not folder.exists()


def test_standard_input_that_is_not_utf_8_is_told(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8", errors="strict")
    monkeypatch.setattr("sys.stdin", strict)
    done = hindsight("store", "-")
    assert done.code == 2
    assert "at byte 3" in done.err


def test_a_closed_standard_input_is_told_and_nobody_is_asked(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    done = hindsight("store", "-")
    assert done.code == 2
    assert "standard input can't be read: it is closed" in done.err
    hindsight("store", "Paris lies on the Seine")
    assert "1 to review" in hindsight("review").err


def test_a_closed_standard_output_is_no_failure(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert hindsight("list", "--json").code == 0
    assert hindsight("list").code == 0


@pytest.mark.parametrize("kind", ["file", "folder", "nothing"])
def test_a_file_of_runs_that_holds_none_is_named_once(
    hindsight: Command, tmp_path: Path, kind: str
) -> None:
    source = tmp_path / "runs"
    if kind == "file":
        source.write_bytes(b"")
    elif kind == "folder":
        source.mkdir()
    done = hindsight("reflect", "--from", str(source))
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith(f"skipped: {source}: ")
    assert line.count(str(source)) == 1


@pytest.mark.parametrize("below", ["", "below"])
def test_the_doctor_fails_where_no_folder_can_be(
    hindsight: Command, folder: Path, below: str
) -> None:
    folder.write_text("a file")
    done = hindsight("doctor", "--json", "--path", str(folder / below))
    found = done.check("folder")
    assert (done.code, found["level"]) == (1, "fail")
    assert f"{folder} is a file" in found["detail"]
    assert "--path" in found["remedy"]
    assert "store" not in {check["name"] for check in done.json["checks"]}


def test_the_doctor_fails_where_nothing_may_be_written(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    found = hindsight("doctor", "--json").check("folder")
    assert found["level"] == "fail"
    assert f"{folder.parent} can't be written by this user" in found["detail"]


def test_the_doctor_fails_on_a_name_that_no_file_system_takes(
    hindsight: Command, folder: Path
) -> None:
    done = hindsight("doctor", "--json", "--path", str(folder / ("a" * 5_000)))
    assert done.code == 1
    assert done.check("folder")["detail"].startswith("File name too long")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_an_output_that_is_full_is_told(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.fdopen(os.open("/dev/full", os.O_WRONLY), "w", encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", full)
        done = hindsight("stats", "--json")
    with pytest.raises(OSError, match="No space"):
        full.close()
    assert done.code == 1
    assert "no space is left" in done.err


def test_an_error_of_many_lines_is_told_in_one(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise StoreError("the server answered\n<html>\n  nothing")

    monkeypatch.setattr("hindsight_core.cli.entry.COMMANDS", {"list": broken})
    assert hindsight("list").err == "hindsight: the server answered <html> nothing\n"


def test_verdicts_before_ctrl_c_stand_and_are_counted(
    hindsight: Command, monkeypatch: pytest.MonkeyPatch, taught: Path
) -> None:
    class Keys(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = iter(["r"])

    def answer(*_: object) -> str:
        for given in answers:
            return given
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Keys())
    monkeypatch.setattr("builtins.input", answer)
    done = hindsight("review")
    assert done.code == 130
    assert done.err.splitlines()[-2:] == ["1 verdict", "hindsight: interrupted"]
