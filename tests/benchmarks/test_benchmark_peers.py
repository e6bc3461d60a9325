"""The peers: how they are asked, the table, and what is said when something goes wrong.

The peers themselves are not installed here. A tiny stand-in answers for them, and LangGraph's
store, which the integrations need anyway, is run by the real worker. With
`HINDSIGHT_TEST_PEERS=1` the real ones are installed and run.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.cli import main
from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder, default_cache
from benchmarks.errors import PeersMissingError
from benchmarks.peers import speed
from benchmarks.peers.compare import compare
from benchmarks.peers.environment import (
    PEERS,
    PYTHON,
    REQUIREMENTS,
    peer_commands,
    peers_python,
)
from benchmarks.peers.process import PeerFailedError, PeerProcess
from benchmarks.peers.worker.__main__ import PEERS as SERVED
from benchmarks.report import Report, Row
from hindsight_core.testing import HashingEmbedder

STAND_IN = """
import json, sys
import numpy
mode, asked, kept, known = sys.argv[1], 0, [], {"document": {}, "query": {}}

def answer(request):
    global asked
    op = request["op"]
    if op == "open":
        if mode == "absent":
            raise SystemExit("no module named stand_in")
        return {"versions": {"stand-in": "1.0"}}
    if op == "vectors":
        with open(request["texts"], encoding="utf-8") as texts:
            pairs = zip(json.load(texts), numpy.load(request["matrix"]), strict=True)
        known[request["use"]].update(pairs)
        return {"count": 0}
    if op in ("fill", "store"):
        kept.extend(request["memories"])
        return {"count": len(request["memories"]), "ms": 2.0, "cpu_ms": 1.0}
    if op == "close":
        return {"refused": ["collector.example"] if mode == "nosy" else []}
    asked += 1
    if mode == "tires" and asked > 4:
        return {"error": "ValueError: enough"}
    query = known["query"][request["text"]]
    scores = [
        (-float(known["document"][memory["text"]] @ query), place, memory["place"])
        for place, memory in enumerate(kept)
        if memory["namespace"] == request["namespace"] and memory["metadata"]["status"] == "active"
    ]
    return {"places": [place for *_, place in sorted(scores)[: request["k"]]],
            "ms": 50.0, "cpu_ms": 40.0}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(answer(request)), flush=True)
    if request["op"] == "close":
        break
"""
"""A peer that ranks by the vectors it is given, and says what each mode has it say."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MEMORIES": 120, "QUERIES": 6, "WARM_UP": 2, "BATCHES": 2, "BATCH": 4,
                        "NAMESPACES": 3, "FILL": 50}.items():  # fmt: skip
        monkeypatch.setattr(speed, name, value)


@pytest.fixture
def context(data: Path, tmp_path: Path) -> Iterator[Context]:
    with KeptEmbedder(HashingEmbedder(), tmp_path / "cache") as kept:
        yield Context(data, kept)


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    path = tmp_path / "stand_in.py"
    path.write_text(STAND_IN, "utf-8")
    return path


def commands(stand_in: Path, **modes: str) -> Mapping[str, Sequence[str]]:
    return {name: (sys.executable, str(stand_in), mode) for name, mode in modes.items()}


def by_system(report: Report) -> Mapping[str, Row]:
    return {row.system: row for row in report.rows}


@pytest.mark.usefixtures("small", "locomo", "pairs", "tau")
def test_a_peer_stands_beside_hindsight_with_speed_and_quality(
    context: Context, stand_in: Path
) -> None:
    report = compare(context, commands(stand_in, peer="good"))
    rows = by_system(report)
    ours, theirs, dense = (rows[name].measures for name in ("hindsight", "peer", "dense"))
    assert theirs["added_p50_ms"].value == theirs["added_p95_ms"].value == 50.0
    assert theirs["added_cpu_ms"].value == 40.0
    assert theirs["added_p50_ms"].n == theirs["ratio"].n == 6
    assert theirs["store_per_s"].value == 2_000.0
    assert theirs["store_per_s"].n == 2
    assert theirs["store_cpu_ms"].value == 0.25
    assert ours["added_p50_ms"].value > 0
    assert ours["store_per_s"].value > 0
    assert "ratio" not in ours
    assert theirs["ratio"].value > 0
    for name in ("R@10", "new_first", "success_first"):
        assert theirs[name] == dense[name]
        assert ours[name].n == dense[name].n
    assert theirs["as_dense@10"].value == 1.0
    assert report.settings["peers"] == {"peer": {"stand-in": "1.0"}}
    assert 200 < report.settings["payload_bytes"] < 500
    assert "peer: stand-in 1.0" in report.notes


@pytest.mark.usefixtures("small")
def test_sets_that_are_absent_are_named_and_speed_is_measured_all_the_same(
    context: Context, stand_in: Path
) -> None:
    report = compare(context, commands(stand_in, peer="good"))
    rows = by_system(report)
    assert set(rows) == {"hindsight", "peer"}
    assert "ratio" in rows["peer"].measures
    assert [note.split()[0] for note in report.notes if " is left out: no data" in note] == [
        "locomo", "currency", "success-first",
    ]  # fmt: skip


@pytest.mark.usefixtures("small", "locomo", "pairs")
def test_a_peer_that_fails_lacks_figures_and_the_others_keep_theirs(
    context: Context, stand_in: Path
) -> None:
    report = compare(context, commands(stand_in, absent="absent", tires="tires", good="good"))
    rows = by_system(report)
    assert "absent" not in rows
    assert rows["tires"].measures["added_p50_ms"].n == 2
    assert "store_per_s" not in rows["tires"].measures
    assert rows["good"].measures["added_p50_ms"].n == 6
    assert "R@10" in rows["good"].measures
    notes = "\n".join(report.notes)
    assert "no module named stand_in" in notes
    assert "tires: search: ValueError: enough" in notes
    # One note for each, however many parts of the benchmark it fails in.
    assert notes.count("absent failed") == 1


@pytest.mark.usefixtures("small")
def test_whoever_wanted_to_reach_a_host_is_named(context: Context, stand_in: Path) -> None:
    report = compare(context, commands(stand_in, one="nosy", other="good"))
    assert "one wanted to reach collector.example, and was not let" in report.notes
    assert not any(note.startswith("other wanted") for note in report.notes)


@pytest.mark.usefixtures("small")
def test_without_any_peer_there_is_no_table(context: Context, stand_in: Path) -> None:
    nowhere = str(stand_in.with_name("nowhere"))
    every = {**commands(stand_in, absent="absent"), "other": (nowhere,)}
    with pytest.raises(PeersMissingError) as raised:
        compare(context, every)
    assert "no module named stand_in" in str(raised.value)
    assert f"other: {nowhere} can't be run" in str(raised.value)


def test_a_limit_stands_in_the_rows_names(
    context: Context, stand_in: Path, small: None, locomo: Path
) -> None:
    limited = Context(context.data, context.embedder, limit=2)
    rows = by_system(compare(limited, commands(stand_in, peer="good")))
    assert rows["peer (limit 2)"].measures["R@10"].n == 2


def test_the_command_says_what_to_do_without_peers_and_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PYTHON, str(tmp_path / "python"))
    arguments = ["peers", "--data", str(tmp_path), "--cache", str(tmp_path / "cache")]
    assert main(arguments, embedder=HashingEmbedder()) == 2
    said = capsys.readouterr().err
    assert PYTHON in said
    assert str(tmp_path / "python") in said


def test_a_python_that_has_the_peers_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PYTHON, sys.executable)
    assert peers_python(tmp_path) == sys.executable
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_environment_is_made_once_and_a_half_made_one_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(PYTHON, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("a-package-that-is-nowhere==1.0\n", "utf-8")
    with pytest.raises(PeersMissingError, match="a-package-that-is-nowhere") as raised:
        peers_python(tmp_path / "cache", wanted)
    assert "exit code 1" in str(raised.value)
    assert PYTHON in str(raised.value)
    assert [path for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []
    package = tmp_path / "tiny"
    package.mkdir()
    wanted.write_text("pip\n", "utf-8")
    python = peers_python(tmp_path / "cache", wanted)
    assert Path(python).is_file()
    assert "once" in capsys.readouterr().err
    assert peers_python(tmp_path / "cache", wanted) == python
    assert capsys.readouterr().err == ""


def test_a_peer_that_says_nothing_in_time_is_given_up(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import sys; sys.stdin.read()")
    peer = PeerProcess("mute", command, tmp_path / "mute", answer_within=0.2)
    with pytest.raises(PeerFailedError, match=r"mute: answered nothing within 0\.2 s to open"):
        peer.ask(op="open")
    peer.end()


def test_a_peer_that_ended_or_answers_no_json_is_quoted(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import sys; print('hello'); sys.exit('out of memory')")
    peer = PeerProcess("gone", command, tmp_path / "gone")
    with pytest.raises(
        PeerFailedError,
        match="gone: answered 'hello' to open and ended with code 1; it said: out of memory",
    ):
        peer.ask(op="open")
    with pytest.raises(PeerFailedError):
        peer.ask(op="open")


def test_a_peer_sees_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    code = "import json, os; input(); print(json.dumps(dict(os.environ)))"
    peer = PeerProcess("looking", (sys.executable, "-c", code), tmp_path / "looking")
    seen = peer.ask(op="open")
    peer.end()
    assert "OPENAI_API_KEY" not in seen
    assert seen["MEM0_TELEMETRY"] == "False"


def memory_of(place: int, text: str, namespace: str, status: str) -> dict[str, Any]:
    return {"place": place, "text": text, "namespace": namespace, "metadata": {"status": status}}


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[PeerProcess]:
    """The real worker, with the one peer that is here."""
    command = peer_commands(sys.executable)["InMemoryStore"]
    peer = PeerProcess("InMemoryStore", command, tmp_path / "peer")
    yield peer
    peer.end()


def give(worker: PeerProcess, tmp_path: Path, use: str, vectors: Mapping[str, list[float]]) -> None:
    texts, matrix = tmp_path / f"{use}.json", tmp_path / f"{use}.npy"
    texts.write_text(json.dumps(list(vectors)), "utf-8")
    np.save(matrix, np.array(list(vectors.values()), dtype=np.float32))
    answer = worker.ask(op="vectors", use=use, texts=str(texts), matrix=str(matrix))
    assert answer == {"count": len(vectors)}


def test_the_worker_finds_active_memories_of_one_namespace_by_the_vectors_it_is_given(
    worker: PeerProcess, tmp_path: Path
) -> None:
    opened = worker.ask(op="open", folder=str(tmp_path / "peer"), dimension=2)
    assert set(opened["versions"]) == {"langgraph", "langgraph-checkpoint", "langchain-core"}
    give(worker, tmp_path, "document", {"east": [1, 0], "north": [0, 1], "north-east ": [0.7, 0.7]})
    give(worker, tmp_path, "query", {"where?": [0.9, 0.1]})
    filled = worker.ask(
        op="fill",
        memories=[
            memory_of(0, "north", "ann", "active"),
            memory_of(1, "east", "ann", "superseded"),
            memory_of(2, "east", "bo", "active"),
        ],
    )
    assert filled == {"count": 3}
    stored = worker.ask(op="store", memories=[memory_of(7, "north-east ", "ann", "active")])
    assert stored["count"] == 1
    assert stored["ms"] > 0
    found = worker.ask(op="search", text="where?", namespace="ann", k=5)
    assert found["places"] == [7, 0]
    assert found["ms"] > 0
    assert found["cpu_ms"] >= 0
    assert worker.ask(op="search", text="where?", namespace="ann", k=1)["places"] == [7]
    assert worker.ask(op="close") == {"refused": []}


def test_the_worker_tells_what_a_peer_raised_and_goes_on(
    worker: PeerProcess, tmp_path: Path
) -> None:
    with pytest.raises(PeerFailedError, match="search: RuntimeError: the peer is not open"):
        worker.ask(op="search", text="x", namespace="ann", k=1)
    worker.ask(op="open", folder=str(tmp_path / "peer"), dimension=2)
    with pytest.raises(PeerFailedError, match="store: KeyError: 'unknown text'"):
        worker.ask(op="store", memories=[memory_of(0, "unknown text", "ann", "active")])
    assert worker.ask(op="close") == {"refused": []}


def test_the_worker_lets_no_peer_reach_another_machine(tmp_path: Path) -> None:
    folder = str(REQUIREMENTS.parent)
    code = f"""
import socket, sys, types
sys.path.append({folder!r})
from worker import __main__ as program

class Nosy:
    def __init__(self, *given):
        print("what a peer prints is no answer")
    def search(self, text, namespace, k):
        with socket.socket() as here:
            here.bind(("127.0.0.1", 0))
            here.listen()
            socket.create_connection(here.getsockname()).close()
        socket.create_connection((text, 443))
    def close(self):
        pass

nosy = types.ModuleType("worker.nosy")
nosy.Peer, nosy.DISTRIBUTIONS = Nosy, ("nothing-of-that-name",)
sys.modules["worker.nosy"] = nosy
program.PEERS["nosy"] = ("nosy", "Peer")
sys.argv = ["worker", "nosy"]
program.main()
"""
    peer = PeerProcess("nosy", (sys.executable, "-c", code), tmp_path / "nosy")
    opened = peer.ask(op="open", folder=str(tmp_path), dimension=2)
    assert opened == {"versions": {"nothing-of-that-name": "unknown"}}
    for host in ("collector.example", "192.0.2.1"):
        with pytest.raises(PeerFailedError, match=f"no connection to '{host}'"):
            peer.ask(op="search", text=host, namespace="ann", k=1)
    assert peer.ask(op="close") == {"refused": ["192.0.2.1", "collector.example"]}
    peer.end()


def test_every_peer_is_served_and_all_that_is_installed_is_pinned() -> None:
    assert set(PEERS) == set(SERVED)
    lines = [line for line in REQUIREMENTS.read_text("utf-8").splitlines() if line.strip()]
    pinned = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    assert all("==" in line for line in lines if not line.startswith("#"))
    for module, _ in SERVED.values():
        names = importlib.import_module(f"benchmarks.peers.worker.{module}").DISTRIBUTIONS
        assert set(names) <= pinned


def test_the_worker_imports_nothing_of_hindsight() -> None:
    for path in REQUIREMENTS.parent.joinpath("worker").glob("*.py"):
        text = path.read_text("utf-8")
        assert "import hindsight" not in text
        assert "from hindsight" not in text
        assert "from benchmarks" not in text


@pytest.mark.skipif(
    os.environ.get("HINDSIGHT_TEST_PEERS") != "1",
    reason="installs the peers, about 400 MB; set HINDSIGHT_TEST_PEERS=1",
)
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("small", "locomo", "pairs", "tau")
def test_the_real_peers_find_what_cosine_finds(context: Context) -> None:
    report = compare(context, peer_commands(peers_python(default_cache())))
    rows = by_system(report)
    assert set(rows) == {"hindsight", "dense", *PEERS}
    assert not [note for note in report.notes if "failed" in note or "wanted to reach" in note]
    for name in PEERS:
        assert rows[name].measures["added_p50_ms"].n == 6
        assert rows[name].measures["store_per_s"].value > 0
        assert 0 < rows[name].measures["as_dense@10"].value <= 1
        # mem0 leaves out what is below its threshold, which hashed vectors often are.
        if name != "mem0":
            assert rows[name].measures["R@10"] == rows["dense"].measures["R@10"]
