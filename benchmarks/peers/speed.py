"""How long retrieval and storing take, outside the embedding, each query to all in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.context import Context
from benchmarks.metrics import Measure, quantile_of
from benchmarks.peers.process import Answer, Peers
from benchmarks.peers.vectors import GivenEmbedder, VectorFiles
from benchmarks.peers.worker.given import Given, spent_on
from benchmarks.progress import track
from benchmarks.synthetic import NOW, points, questions, statements
from hindsight_core import Hindsight
from hindsight_core.models import Memory
from hindsight_core.settings import Settings
from hindsight_core.store.base import Point, Put, Schema
from hindsight_core.store.edge import EdgeStore

__all__ = ["MEMORIES", "NAMESPACES", "QUERIES", "Timed", "measure_speed"]

MEMORIES = 10_000
NAMESPACES = 20
QUERIES = 100
WARM_UP = 5
TOP_K = 5
FILL = 500
BATCHES = 6
BATCH = 64
OURS = "hindsight"

PeerMemory: TypeAlias = dict[str, Any]
Call: TypeAlias = Callable[[], Answer | None]


@dataclass(slots=True)
class Timed:
    """What each call of one system took, outside the embedder.

    Attributes:
        queries: Milliseconds of every query by its number.
        cpu: Milliseconds of processor time of all threads, likewise.
        stored: Memories a second, batch by batch.
        stored_cpu: Milliseconds of processor time for a memory, likewise.
    """

    queries: dict[int, float] = field(default_factory=dict)
    cpu: dict[int, float] = field(default_factory=dict)
    stored: list[float] = field(default_factory=list)
    stored_cpu: list[float] = field(default_factory=list)

    def measures(self, ours: Timed) -> dict[str, Measure]:
        """Return the figures, with the ratio to `ours` query by query."""
        if not self.queries:
            return {}
        wall, cpu = list(self.queries.values()), list(self.cpu.values())
        figures = {
            "added_p50_ms": quantile_of(wall, 0.5),
            "added_p95_ms": quantile_of(wall, 0.95),
            "added_cpu_ms": quantile_of(cpu, 0.5),
        }
        if self is not ours:
            figures["ratio"] = _ratio(self.queries, ours.queries)
            figures["cpu_ratio"] = _ratio(self.cpu, ours.cpu)
        if self.stored:
            figures["store_per_s"] = quantile_of(self.stored, 0.5)
            figures["store_cpu_ms"] = quantile_of(self.stored_cpu, 0.5)
        return figures


def _ratio(theirs: Mapping[int, float], ours: Mapping[int, float]) -> Measure:
    """Return the median of the ratios, query by query."""
    return quantile_of([theirs[n] / max(ours[n], 1e-6) for n in theirs if n in ours], 0.5)


def measure_speed(
    context: Context, commands: Mapping[str, Sequence[str]], folder: Path
) -> tuple[dict[str, dict[str, Measure]], Peers, int]:
    """Fill every system with the same memories and ask all of them the same.

    Args:
        context: What every benchmark is given.
        commands: The peers' commands.
        folder: Where everything is kept.

    Returns:
        The figures by system, the peers, which are closed, and the bytes of a payload.
    """
    asked = questions((context.limit or QUERIES) + WARM_UP)
    files = VectorFiles(folder / "vectors")
    files.write("query", asked, context.embedder.queries(asked, "questions"))
    more = statements(BATCH * BATCHES, seed=7)
    files.write("document", more, context.embedder.documents(more, "statements"))
    own = folder / OURS
    memories = _fill_ours(own, context, files)
    timed = {name: Timed() for name in (OURS, *commands)}
    with Peers(commands, folder) as peers:
        _fill_theirs(peers, context.embedder.dimension, files, memories)
        given = files.given()
        with _opened(own, given, context) as memory:
            _ask(asked, memory, given, peers, timed)
            _store(more, memory, given, peers, timed)
    sizes = sorted(len(json.dumps(memory)) for memory in memories)
    figures = {name: one.measures(timed[OURS]) for name, one in timed.items()}
    return figures, peers, sizes[len(sizes) // 2]


def _fill_ours(folder: Path, context: Context, files: VectorFiles) -> list[PeerMemory]:
    """Fill a store of Hindsight and return its memories in the peers' form."""
    embedder = context.embedder
    store = EdgeStore.open(folder / "store", Schema(embedder.name, embedder.dimension))
    memories: list[PeerMemory] = []
    rows: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    try:
        every = points(MEMORIES, namespaces=NAMESPACES, dimension=embedder.dimension)
        for batch in track(_batches(every), "filling hindsight", -(-MEMORIES // FILL)):
            store.execute(Put(batch))
            rows += [np.asarray(point.dense, dtype=np.float32) for point in batch]
            memories += [_as_theirs(p.memory, len(memories) + i) for i, p in enumerate(batch)]
    finally:
        store.close()
    files.write("document", [memory["text"] for memory in memories], [tuple(r) for r in rows])
    return memories


def _batches(every: Iterator[Point]) -> Iterator[tuple[Point, ...]]:
    while batch := tuple(islice(every, FILL)):
        yield batch


def _as_theirs(memory: Memory, place: int) -> PeerMemory:
    """Return what a peer is given of a memory: the same text and about as much beside it."""
    evidence = memory.evidence[0]
    metadata = {
        "status": memory.status,
        "kind": memory.kind,
        "category": memory.category,
        "task_type": memory.task_type,
        "run_id": evidence.run_id,
        "step": evidence.steps[0],
        "event_time": memory.event_time.isoformat() if memory.event_time else "",
        "learned_at": memory.created_at.isoformat(),
    }
    return {
        "place": place,
        "text": memory.content,
        "namespace": memory.namespace.parts[-1],
        "metadata": metadata,
    }


def _fill_theirs(
    peers: Peers, dimension: int, files: VectorFiles, memories: Sequence[PeerMemory]
) -> None:
    peers.open(dimension)
    for request in files.requests():
        for _ in peers.ask_all(**request):
            pass
    for name in peers.names:
        for start in track(range(0, len(memories), FILL), f"filling {name}"):
            peers.ask(name, op="fill", memories=memories[start : start + FILL])


def _ask(
    asked: Sequence[str], memory: Hindsight, given: Given, peers: Peers, timed: dict[str, Timed]
) -> None:
    scoped = [memory.scoped(("benchmark", f"user-{i}")) for i in range(NAMESPACES)]
    for number, text in enumerate(track(asked, "retrieving")):
        place = number % NAMESPACES
        call = partial(scoped[place].retrieve, text, top_k=TOP_K)
        search = partial(peers.ask, op="search", text=text, namespace=f"user-{place}", k=TOP_K)
        calls: dict[str, Call] = {OURS: partial(_outside, given, call)}
        calls |= {name: partial(search, name) for name in peers.names}
        for name, answer in _in_turn(calls, number):
            if number >= WARM_UP:
                timed[name].queries[number] = answer["ms"]
                timed[name].cpu[number] = answer["cpu_ms"]


def _store(
    texts: Sequence[str], memory: Hindsight, given: Given, peers: Peers, timed: dict[str, Timed]
) -> None:
    here = memory.scoped(("benchmark", "user-0"))
    for number in track(range(BATCHES), "storing"):
        batch = texts[number * BATCH : (number + 1) * BATCH]
        theirs = [
            {"place": MEMORIES + number * BATCH + i, "text": text, "namespace": "user-0",
             "metadata": {"status": "active", "kind": "semantic", "category": "fact"}}
            for i, text in enumerate(batch)
        ]  # fmt: skip
        call = partial(here.store_many, [{"content": text} for text in batch])
        calls: dict[str, Call] = {OURS: partial(_outside, given, call)}
        for name in peers.names:
            calls[name] = partial(peers.ask, name, op="store", memories=theirs)
        for name, answer in _in_turn(calls, number):
            timed[name].stored.append(len(batch) / answer["ms"] * 1e3)
            timed[name].stored_cpu.append(answer["cpu_ms"] / len(batch))


def _in_turn(calls: Mapping[str, Call], number: int) -> Iterator[tuple[str, Answer]]:
    """Yield the answers; another system is the first each time, so that none always is."""
    names = list(calls)
    first = number % len(names)
    for name in names[first:] + names[:first]:
        answer = calls[name]()
        if answer is not None:
            yield name, answer


def _outside(given: Given, call: Callable[[], object]) -> Answer:
    """Return what a call took outside the embedder, as the peers say it of theirs."""
    given.take()
    _, spent = spent_on(call)
    inside = given.take()
    return {"ms": spent.wall - inside.wall, "cpu_ms": max(0.0, spent.cpu - inside.cpu)}


def _opened(folder: Path, given: Given, context: Context) -> Hindsight:
    return Hindsight.open(
        folder,
        namespace="benchmark",
        settings=Settings(),
        embedder=GivenEmbedder(given, context.embedder.name, context.embedder.dimension),
        clock=lambda: NOW,
    )
