"""The folder of the embedded store: who holds it, and what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from store_values import ALICE, SCHEMA, memory, point, within

from hindsight_core.errors import (
    ClosedError,
    SchemaMismatchError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
)
from hindsight_core.store.base import FORMAT_VERSION, Count, Get, Patch, Put, Schema, Scroll
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.folder import recorded_schema
from hindsight_core.store.seal import broken_file, checksums

CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from store_values import SCHEMA, point, within
from hindsight_core.errors import StoreError
from hindsight_core.store.base import FORMAT_VERSION, Count, Put
from hindsight_core.store.edge import EdgeStore
folder = {folder!r}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def in_child(folder: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Run code in another process; it sees `folder` and the values of these tests."""
    children: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        head = CHILD.format(tests=str(Path(__file__).parent), folder=str(folder))
        child = subprocess.Popen(
            [sys.executable, "-c", head + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.communicate()


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file that may not change when a store is refused."""
    free = {"hindsight.lock", "hindsight.holder.json"}
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in free
    }


def test_what_was_stored_is_there_after_reopening(folder: Path) -> None:
    store = EdgeStore.open(folder, SCHEMA, sync_writes=True)
    store.execute(Put((point("kept", content="stays"), point("changed"))))
    store.execute(Patch(memory("changed", version=2), ()))
    before = store.execute(Scroll(within()))
    store.close()

    with_again = EdgeStore.open(str(folder), SCHEMA)

    assert with_again.execute(Scroll(within())) == before
    with_again.close()


def test_two_stores_of_one_process_share_one_engine(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    first = EdgeStore.open(folder, SCHEMA)
    second = EdgeStore.open(tmp_path / "link", SCHEMA)
    first.execute(Put((point(),)))

    assert second.execute(Count(within())) == 1
    first.close()
    assert second.execute(Count(within())) == 1
    second.close()
    third = EdgeStore.open(folder, SCHEMA)
    assert third.execute(Count(within())) == 1
    third.close()


def test_a_closed_store_says_so(folder: Path) -> None:
    store = EdgeStore.open(folder, SCHEMA)
    other = EdgeStore.open(folder, SCHEMA)
    store.close()
    store.close()

    with pytest.raises(ClosedError, match=r"store was closed; open it again"):
        store.execute(Count(within()))
    with pytest.raises(ClosedError):
        asyncio.run(store.aexecute(Count(within())))
    other.close()
    with pytest.raises(ClosedError):
        other.stats()


def test_a_second_process_is_told_who_holds_the_store(
    folder: Path, in_child: Callable[[str], subprocess.Popen[str]]
) -> None:
    child = in_child(
        "store = EdgeStore.open(folder, SCHEMA)\n"
        "store.execute(Put((point(),)))\n"
        "print('open', flush=True)\n"
        "sys.stdin.readline()\n"
        "store.execute(Put((point('second'),)))\n"
        "store.close()\n"
        "print('closed', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    assert line_of(child.stdout) == "open"

    with pytest.raises(StoreLockedError) as caught:
        EdgeStore.open(folder, SCHEMA)

    said = str(caught.value)
    assert str(folder) in said
    assert f"process {child.pid} on host" in said
    assert "HINDSIGHT_MEMORY_URL" in said
    child.stdin.write("\n")  # type: ignore[union-attr]
    child.stdin.flush()  # type: ignore[union-attr]
    assert line_of(child.stdout) == "closed"
    store = EdgeStore.open(folder, SCHEMA)
    assert store.execute(Count(within())) == 2
    store.close()
    assert (folder / "hindsight.lock").exists()


def test_a_holder_that_left_no_name_is_another_process(
    folder: Path, in_child: Callable[[str], subprocess.Popen[str]]
) -> None:
    child = in_child(
        "store = EdgeStore.open(folder, SCHEMA)\nprint('open', flush=True)\nsys.stdin.readline()\n"
    )
    assert line_of(child.stdout) == "open"
    (folder / "hindsight.holder.json").write_text("{")

    with pytest.raises(StoreLockedError, match="is held by another process;"):
        EdgeStore.open(folder, SCHEMA)


def test_everything_acknowledged_survives_a_kill(
    folder: Path, in_child: Callable[[str], subprocess.Popen[str]]
) -> None:
    child = in_child(
        "store = EdgeStore.open(folder, SCHEMA)\n"
        "for i in range(10_000):\n"
        "    store.execute(Put((point(f'm{i}'),)))\n"
        "    print(i, flush=True)\n"
    )
    for _ in range(40):
        last = int(line_of(child.stdout))
    child.send_signal(signal.SIGKILL)
    child.wait()
    acknowledged = [*range(last + 1), *(int(i) for i in (child.stdout or ()) if i.endswith("\n"))]

    store = EdgeStore.open(folder, SCHEMA)

    wanted = tuple(f"m{i}" for i in acknowledged)
    assert len(wanted) >= 40
    assert [r.memory.id for r in store.execute(Get((ALICE,), wanted))] == list(wanted)
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_leaves_the_parent_alone(
    folder: Path, in_child: Callable[[str], subprocess.Popen[str]]
) -> None:
    child = in_child(
        "import os\n"
        "store = EdgeStore.open(folder, SCHEMA)\n"
        "store.execute(Put((point('before'),)))\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    for attempt in (lambda: store.execute(Count(within())),\n"
        "                    lambda: EdgeStore.open(folder, SCHEMA)):\n"
        "        try:\n"
        "            attempt()\n"
        "        except StoreError as error:\n"
        "            print(type(error).__name__, 'its fork' in str(error), flush=True)\n"
        "    store.close()\n"
        "    sys.exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "store.execute(Put((point('after'),)))\n"
        "print(store.execute(Count(within())), flush=True)\n"
        "sys.stdin.readline()\n"
        "store.close()\n"
        "print('closed', flush=True)\n"
        "sys.stdin.readline()\n"
    )

    assert line_of(child.stdout) == "StoreError True"
    assert line_of(child.stdout) == "StoreLockedError False"
    assert line_of(child.stdout) == "2"
    with pytest.raises(StoreLockedError):
        EdgeStore.open(folder, SCHEMA)
    child.stdin.write("\n")  # type: ignore[union-attr]
    child.stdin.flush()  # type: ignore[union-attr]
    assert line_of(child.stdout) == "closed"
    store = EdgeStore.open(folder, SCHEMA)
    assert store.execute(Count(within())) == 2
    store.close()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            Schema("hashing", 8),
            r"'hashing' of 4 dimensions, but 'hashing' of 8 .*another folder .* reflect",
        ),
        (
            Schema("another", 4),
            r"'hashing' of 4 dimensions, but 'another' of 4 .*another folder .* reflect",
        ),
        (
            Schema("hashing", 4, format_version=FORMAT_VERSION + 1),
            f"has format {FORMAT_VERSION}, .* reads format {FORMAT_VERSION + 1}.*that wrote it",
        ),
    ],
)
def test_another_schema_is_refused_and_the_data_untouched(
    folder: Path, other: Schema, said: str
) -> None:
    store = EdgeStore.open(folder, SCHEMA)
    store.execute(Put((point(),)))
    with pytest.raises(SchemaMismatchError, match=said):
        EdgeStore.open(folder, other)
    store.close()
    before = stamps(folder)

    with pytest.raises(SchemaMismatchError, match=said):
        EdgeStore.open(folder, other)

    assert stamps(folder) == before
    again = EdgeStore.open(folder, SCHEMA)
    assert again.execute(Count(within())) == 1
    again.close()


def test_the_recorded_schema_can_be_read_while_the_store_is_open(folder: Path) -> None:
    assert recorded_schema(folder) is None
    store = EdgeStore.open(folder, SCHEMA)
    assert recorded_schema(folder) == SCHEMA
    store.close()


def test_a_folder_of_something_else_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.doc").write_text("years of work")

    with pytest.raises(StoreCorruptError, match=r"no Hindsight store \(it holds 'thesis.doc'\)"):
        EdgeStore.open(folder, SCHEMA)

    assert [p.name for p in folder.iterdir()] == ["thesis.doc"]


def test_a_file_in_place_of_the_folder_is_refused(folder: Path) -> None:
    folder.write_text("a file")

    with pytest.raises(StoreCorruptError, match="can't be used"):
        EdgeStore.open(folder, SCHEMA)

    assert folder.read_text() == "a file"


def test_a_folder_that_cannot_be_written_is_refused(folder: Path) -> None:
    folder.mkdir()
    (folder / "hindsight.lock").mkdir()

    with pytest.raises(StoreCorruptError, match=r"can't be used|can't be"):
        EdgeStore.open(folder, SCHEMA)

    assert [p.name for p in folder.iterdir()] == ["hindsight.lock"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to anything"
)
def test_a_read_only_folder_is_refused(folder: Path) -> None:
    EdgeStore.open(folder, SCHEMA).close()
    folder.chmod(0o500)
    try:
        with pytest.raises(StoreCorruptError, match="can't be used"):
            EdgeStore.open(folder, SCHEMA)
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "\x00\x01", '{"model": "hashing"}', "null"],
)
def test_a_damaged_sidecar_is_refused_and_nothing_made_anew(folder: Path, text: str) -> None:
    store = EdgeStore.open(folder, SCHEMA)
    store.execute(Put((point(),)))
    store.close()
    sidecar = folder / "hindsight.json"
    whole = sidecar.read_bytes()
    sidecar.write_text(text)
    before = stamps(folder)

    with pytest.raises(StoreCorruptError, match=r"hindsight\.json is damaged.*backup"):
        EdgeStore.open(folder, SCHEMA)

    assert stamps(folder) == before
    sidecar.write_bytes(whole)
    again = EdgeStore.open(folder, SCHEMA)
    assert again.execute(Count(within())) == 1
    again.close()


def test_bytes_that_are_no_text_in_the_sidecar_are_refused(folder: Path) -> None:
    EdgeStore.open(folder, SCHEMA).close()
    (folder / "hindsight.json").write_bytes(b"\xff\xfe\xff")

    with pytest.raises(StoreCorruptError, match="is damaged"):
        EdgeStore.open(folder, SCHEMA)


@pytest.mark.parametrize(("field", "value"), [("state", "odd"), ("dimension", 0)])
def test_a_sidecar_with_impossible_values_is_refused(
    folder: Path, field: str, value: object
) -> None:
    EdgeStore.open(folder, SCHEMA).close()
    sidecar = folder / "hindsight.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), field: value}))

    with pytest.raises(StoreCorruptError, match="is damaged"):
        EdgeStore.open(folder, SCHEMA)


@pytest.mark.parametrize("lost", ["hindsight.json", "shard"])
def test_a_store_that_lost_a_part_is_refused_and_not_made_anew(folder: Path, lost: str) -> None:
    EdgeStore.open(folder, SCHEMA).close()
    target = folder / lost
    shutil.rmtree(target) if target.is_dir() else target.unlink()

    with pytest.raises(StoreCorruptError, match=f"has lost its {lost}"):
        EdgeStore.open(folder, SCHEMA)

    assert not target.exists()


def unfinished_store(folder: Path) -> None:
    """Make a store and leave it as a crash before its last step would have."""
    EdgeStore.open(folder, SCHEMA).close()
    (folder / "hindsight.seal.json").unlink()
    sidecar = folder / "hindsight.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "state": "creating"}))


def test_a_crash_while_the_store_was_made_is_recovered_from(folder: Path) -> None:
    unfinished_store(folder)
    shutil.rmtree(folder / "shard" / "segments")

    store = EdgeStore.open(folder, SCHEMA)

    store.execute(Put((point(),)))
    assert store.execute(Count(within())) == 1
    store.close()


def test_a_crash_before_the_engine_made_its_files_is_recovered_from(folder: Path) -> None:
    unfinished_store(folder)
    shutil.rmtree(folder / "shard")

    store = EdgeStore.open(folder, SCHEMA)

    assert store.execute(Count(within())) == 0
    store.close()


def test_optimizing_keeps_every_memory(folder: Path) -> None:
    store = EdgeStore.open(folder, SCHEMA)
    store.execute(Put(tuple(point(f"m{i}", content=f"fact {i}") for i in range(300))))
    before = sorted(r.memory.id for r in store.execute(Scroll(within(), 300)).records)

    store.optimize()

    assert sorted(r.memory.id for r in store.execute(Scroll(within(), 300)).records) == before
    store.close()


def test_an_error_of_the_engine_names_the_store_and_what_was_being_done(folder: Path) -> None:
    store = EdgeStore.open(folder, SCHEMA)
    with pytest.raises(StoreError, match=r"Scroll failed in the store at .*store"):
        store.execute(Scroll(within(), limit=2**70))
    store.close()


def closed_store(folder: Path) -> dict[str, Path]:
    """Make a store of 200 memories and return one of the engine's files of each name."""
    store = EdgeStore.open(folder, SCHEMA)
    store.execute(Put(tuple(point(f"m{i}", content=f"fact {i}") for i in range(200))))
    store.close()
    return {
        path.name: path
        for path in sorted((folder / "shard").rglob("*"))
        if path.is_file() and path.stat().st_size
    }


def overwritten(data: bytes) -> bytes:
    start = min(len(data) // 3, max(0, len(data) - 100))
    return data[:start] + bytes(b ^ 0x5A for b in data[start : start + 100]) + data[start + 100 :]


def test_damage_to_a_closed_store_is_found_before_the_engine_reads_it(folder: Path) -> None:
    files = closed_store(folder)
    assert {"mutable_id_tracker.mappings", "edge_config.json", "page_0.dat"} <= set(files)
    for path in files.values():
        whole = path.read_bytes()
        damages = [whole[: len(whole) // 2]]
        if len(whole) <= 2**16:
            damages.append(overwritten(whole))
        for damaged in damages:
            path.write_bytes(damaged)
            before = stamps(folder)

            with pytest.raises(StoreCorruptError, match=f"{path.name} was damaged or lost"):
                EdgeStore.open(folder, SCHEMA)

            assert stamps(folder) == before
        path.write_bytes(whole)
    store = EdgeStore.open(folder, SCHEMA)
    assert store.execute(Count(within())) == 200
    store.close()


def test_a_lost_file_is_found(folder: Path) -> None:
    closed_store(folder)["mutable_id_tracker.versions"].unlink()

    with pytest.raises(StoreCorruptError, match="versions was damaged or lost"):
        EdgeStore.open(folder, SCHEMA)


@pytest.mark.parametrize("name", ["edge_config.json", "segment.json", "payload_index/config.json"])
def test_damage_that_the_engine_finds_itself_is_told_with_the_path(folder: Path, name: str) -> None:
    closed_store(folder)
    (folder / "hindsight.seal.json").unlink()
    (path,) = (folder / "shard").rglob(name)
    path.write_bytes(overwritten(path.read_bytes()))

    with pytest.raises(StoreCorruptError, match=f"store at {folder} can't be opened"):
        EdgeStore.open(folder, SCHEMA)

    store = EdgeStore.open(folder.parent / "elsewhere", SCHEMA)
    store.close()


def test_a_panic_of_the_engine_is_told_as_damage(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    closed_store(folder)
    (folder / "hindsight.seal.json").unlink()
    status = next((folder / "shard").rglob("*-null/is_null/status.dat"))
    status.write_bytes(status.read_bytes()[:8])

    with pytest.raises(StoreCorruptError, match="can't be opened"):
        EdgeStore.open(folder, SCHEMA)

    capfd.readouterr()


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}'])
def test_a_damaged_seal_is_told_as_damage(folder: Path, text: str) -> None:
    closed_store(folder)
    (folder / "hindsight.seal.json").write_text(text)

    with pytest.raises(StoreCorruptError, match=r"seal\.json is damaged|was damaged or lost"):
        EdgeStore.open(folder, SCHEMA)


def test_large_files_are_compared_by_their_ends_and_tables_of_ids_whole(tmp_path: Path) -> None:
    for name in ("page.dat", "id_tracker.dat"):
        (tmp_path / name).write_bytes(b"a" * 300_000)
    seal = checksums(tmp_path)
    assert broken_file(tmp_path, seal) is None

    for name, place in (("page.dat", -1), ("id_tracker.dat", -150_000)):
        with (tmp_path / name).open("r+b") as file:
            file.seek(place, os.SEEK_END)
            file.write(b"b")
        assert broken_file(tmp_path, seal) == name
        (tmp_path / name).write_bytes(b"a" * 300_000)
