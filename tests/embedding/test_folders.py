from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path

import pytest

from hindsight_core.embedding import folders
from hindsight_core.embedding.folders import cache_folder, default_cache_folder, ensure_folder
from hindsight_core.errors import ModelUnavailableError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a temporary folder of its own beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    folders._temporary_folder.cache_clear()
    return tmp_path / "home"


@pytest.fixture
def unwritable(home: Path) -> Path:
    """A path under which nobody, root included, can make a folder."""
    (home / "file").write_text("in the way")
    return home / "file" / "cache"


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_each_platform_has_its_cache_folder(
    platform: str, place: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert default_cache_folder() == home / place / "hindsight-memory"


def test_the_folder_is_made_and_is_not_temporary(home: Path) -> None:
    folder = cache_folder()
    assert folder == default_cache_folder()
    assert folder.is_dir()


def test_the_configured_folder_is_taken(tmp_path: Path) -> None:
    assert cache_folder(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_where_nothing_can_be_written_a_private_folder_serves_and_the_log_says_so_once(
    unwritable: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        first, second = cache_folder(unwritable), cache_folder(unwritable)
    assert first == second
    assert first.parent == tmp_path / "tmp"
    assert first.stat().st_mode & 0o077 == 0
    [line] = caplog.messages
    assert str(unwritable) in line
    assert "HINDSIGHT_MEMORY_CACHE_DIR" in line


def test_without_a_home_a_temporary_folder_serves(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder().parent == tmp_path / "tmp"


def test_a_temporary_folder_that_somebody_else_made_is_not_trusted(
    unwritable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "tmp" / f"hindsight-memory-{os.getuid()}"
    planted.symlink_to(tmp_path)
    assert cache_folder(unwritable) not in {planted, tmp_path}


def test_where_the_temporary_folder_can_not_be_made_another_name_serves(
    unwritable: Path, tmp_path: Path
) -> None:
    (tmp_path / "tmp" / f"hindsight-memory-{os.getuid()}").write_text("in the way")
    assert cache_folder(unwritable).is_dir()


def fill(folder: Path) -> None:
    (folder / "model").write_text("good")


def is_valid(folder: Path) -> bool:
    return (folder / "model").is_file() and (folder / "model").read_text() == "good"


def test_a_valid_folder_is_left_alone(tmp_path: Path) -> None:
    fill(tmp_path)

    def must_not_fill(folder: Path) -> None:
        raise AssertionError("filled again")

    assert ensure_folder(tmp_path, must_not_fill, is_valid) == tmp_path


def test_a_damaged_folder_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "m"
    target.mkdir()
    (target / "model").write_text("half")
    ensure_folder(target, fill, is_valid)
    assert is_valid(target)
    assert list(tmp_path.iterdir()) == [target]


def test_many_at_once_agree_on_one_folder(tmp_path: Path) -> None:
    target = tmp_path / "m"
    together = threading.Barrier(6)
    failures: list[BaseException] = []

    def fill_together(folder: Path) -> None:
        fill(folder)
        together.wait(10)

    def run() -> None:
        try:
            ensure_folder(target, fill_together, is_valid)
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert is_valid(target)
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_can_not_be_filled_is_reported(tmp_path: Path) -> None:
    def disk_full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(ModelUnavailableError, match="No space left"):
        ensure_folder(tmp_path / "m", disk_full, is_valid)
    assert list(tmp_path.iterdir()) == []


def test_contents_that_never_become_valid_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="does not hold valid files"):
        ensure_folder(tmp_path / "m", lambda folder: None, is_valid)


def test_a_folder_that_another_process_builds_meanwhile_is_taken(tmp_path: Path) -> None:
    target = tmp_path / "m"

    def overtaken(folder: Path) -> None:
        fill(folder)
        (folder / "late").touch()
        target.mkdir()
        fill(target)

    assert ensure_folder(target, overtaken, is_valid) == target
    assert [path.name for path in target.iterdir()] == ["model"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_in_the_way_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("not a folder")
    assert is_valid(ensure_folder(tmp_path / "m", fill, is_valid))


def test_a_folder_that_stays_in_the_way_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(ModelUnavailableError, match=r"does not hold valid files.*denied"):
        ensure_folder(tmp_path / "m", fill, is_valid)
    assert list(tmp_path.iterdir()) == []
