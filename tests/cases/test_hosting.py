"""How people host memory: one object for all, servers away and back, clocks, `:memory:`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_core.errors import (
    ConfigurationError,
    JournalError,
    ModelUnavailableError,
    StoreCorruptError,
    StoreError,
)
from hindsight_core.hindsight import Hindsight
from hindsight_core.settings import Settings
from hindsight_core.testing import FrozenClock, HashingEmbedder, csv_run

Opener = Callable[..., Hindsight]
TASK = "Load orders.csv and tell me the total"


def test_everything_works_in_memory_alone() -> None:
    with Hindsight.open(url=":memory:", namespace="a", embedder=HashingEmbedder()) as h:
        h.store("The deploy needs the VPN", metadata={"odd": "a\ud800b", "nan": float("nan")})
        h.reflect(csv_run())
        h.submit(csv_run("run_2", task="Load table 2 and tell me the total"))
        assert h.flush(30)
        assert h.brief(TASK)
        assert h.stats().journal.learned == 2


def test_memory_alone_leaves_no_folder_behind() -> None:
    with Hindsight.open(url=":memory:", namespace="a", embedder=HashingEmbedder()) as h:
        h.reflect(csv_run())
        folder = h.location.path
        assert folder.is_dir()
    assert not folder.exists()


def test_memory_alone_that_fails_to_open_leaves_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ConfigurationError):
        Hindsight.open(url=":memory:", namespace="a", embedder=HashingEmbedder(), model=3)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_ones_own_stays_when_memory_alone_is_closed(folder: Path) -> None:
    with Hindsight.open(folder, url=":memory:", namespace="a", embedder=HashingEmbedder()) as h:
        h.reflect(csv_run())
    assert folder.is_dir()


def test_two_in_memory_share_nothing() -> None:
    with (
        Hindsight.open(url=":memory:", namespace="a", embedder=HashingEmbedder()) as one,
        Hindsight.open(url=":memory:", namespace="a", embedder=HashingEmbedder()) as two,
    ):
        one.store("The deploy needs the VPN")
        assert two.list().memories == ()


def test_a_server_that_is_not_there_is_told_at_open_or_waited_for(folder: Path) -> None:
    url = "http://127.0.0.1:9"
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9"):
        Hindsight.open(folder, url=url, namespace="a", embedder=HashingEmbedder())
    with Hindsight.open(
        folder, url=url, namespace="a", embedder=HashingEmbedder(), wait_for_store=True
    ) as h:
        h.submit(csv_run())
        brief = h.brief(TASK)
        assert (brief.text, brief.available) == ("", False)
        stats = h.stats()
        assert stats.journal.pending == 1
        assert "127.0.0.1:9" in stats.last_failures["recall"]
    # The run is there when the store is; here another one.
    with Hindsight.open(folder, namespace="a", embedder=HashingEmbedder()) as h:
        assert h.flush(30)
        assert h.brief(TASK)


def test_closing_does_not_wait_for_a_store_that_is_away(folder: Path) -> None:
    h = Hindsight.open(
        folder,
        url="http://127.0.0.1:9",
        namespace="a",
        embedder=HashingEmbedder(),
        wait_for_store=True,
        settings=Settings(drain_seconds=60),
    )
    h.submit(csv_run())
    started = time.monotonic()
    h.close()
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("damage", ["sidecar", "shard", "journal"])
def test_a_damaged_memory_is_refused_with_its_path_and_left_as_it_is(
    folder: Path, damage: str
) -> None:
    with Hindsight.open(folder, namespace="a", embedder=HashingEmbedder()) as h:
        h.store_many({"content": f"Machine {n} has serial {n * 7919}"} for n in range(20))
    files = {
        "sidecar": folder / "store" / "hindsight.json",
        "shard": max((folder / "store" / "shard").rglob("*.dat"), key=lambda p: p.stat().st_size),
        "journal": folder / "journal.sqlite3",
    }
    target = files[damage]
    whole = target.read_bytes()
    target.write_bytes(whole[: len(whole) // 3] if damage == "sidecar" else b"\x00" * 100)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises((StoreCorruptError, JournalError), match=str(folder)):
        Hindsight.open(folder, namespace="a", embedder=HashingEmbedder())
    after = {path: path.read_bytes() for path in before}
    changed = {path.name for path in before if before[path] != after[path]}
    assert changed <= {"hindsight.holder.json"}
    target.write_bytes(whole)
    with Hindsight.open(folder, namespace="a", embedder=HashingEmbedder()) as h:
        assert len(h.list().memories) == 20


def test_an_embedder_that_is_away_costs_no_answer_and_no_run(
    folder: Path, clock: FrozenClock
) -> None:
    class Away(HashingEmbedder):
        away = False

        def embed_documents(self, texts: Any) -> Any:
            self._check()
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> Any:
            self._check()
            return super().embed_query(text)

        def _check(self) -> None:
            if self.away:
                raise ModelUnavailableError("the model is not at hand")

    embedder = Away()
    with Hindsight.open(folder, namespace="a", embedder=embedder, clock=clock) as h:
        embedder.away = True
        brief = h.brief(TASK)
        assert (brief.text, brief.available) == ("", False)
        h.submit(csv_run())
        h.flush(10)
        assert h.reflect(csv_run("run_2", task="Load table 2 and tell me the total")).status == (
            "failed"
        )
        assert h.stats().journal.failed == 0
        embedder.away = False
        clock.advance(minutes=10)
        while h.stats().journal.learned < 2:
            assert h.flush(30)
        assert h.brief(TASK)


def test_importing_opens_nothing_and_asks_no_network() -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "import hindsight_core\n"
        "heavy = {'qdrant_client', 'fastembed', 'onnxruntime', 'numpy', 'tiktoken'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout == "[]\n"


def test_a_clock_that_was_set_back_breaks_nothing(opened: Opener, clock: FrozenClock) -> None:
    h = opened()
    h.store("The deploy needs the VPN")
    h.reflect(csv_run())
    clock.advance(days=-400)
    h.store("The build needs Python 3.12")
    h.reflect(csv_run("run_2", task="Load table 2 and tell me the total"))
    assert h.brief("what does the deploy need")
    assert h.stats().journal.learned == 2
    for memory in h.list().memories:
        assert all(change.version > 1 for change in h.history(memory.id))
