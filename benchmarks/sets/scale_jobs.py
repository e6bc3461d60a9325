"""What `scale` does to its stores; each job runs in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.progress import track
from benchmarks.sets.scale_process import Footprint, footprint
from benchmarks.synthetic import NOW, points
from benchmarks.systems.timed import TimedEmbedder, TimedStore, spent_on
from hindsight_core import Hindsight
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import FastEmbedder, open_embedder
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore, Put, Schema, Vector

__all__ = ["Asked", "Filled", "Held", "Home", "Model", "ask", "fill", "hold"]

BATCH = 500


@dataclass(frozen=True, slots=True)
class Home:
    """A store of the benchmark.

    Attributes:
        folder: Of its own.
        memories: How many it holds, half of them active.
        namespaces: How many they are spread over.
    """

    folder: Path
    memories: int
    namespaces: int

    def space(self, place: int) -> tuple[str, str]:
        """Return the namespace that the query at `place` asks."""
        return "benchmark", f"user-{place % self.namespaces}"


@dataclass(frozen=True, slots=True)
class Model:
    """An embedder that can be handed to another process.

    Attributes:
        name: Of the model.
        dimension: Width of its vectors.
        ready: The embedder itself, `None` for one that every process opens anew because it
            holds locks and sessions.
    """

    name: str
    dimension: int
    ready: DenseEmbedder | None

    @classmethod
    def of(cls, embedder: DenseEmbedder) -> Model:
        """Return `embedder` in a form that can be handed over."""
        alone = isinstance(embedder, FastEmbedder)
        return cls(embedder.name, embedder.dimension, None if alone else embedder)

    def open(self) -> DenseEmbedder:
        """Return the embedder."""
        return self.ready or open_embedder(Settings(embedding_model=self.name))


@dataclass(frozen=True, slots=True)
class Filled:
    """What it took to fill a store.

    Attributes:
        seconds: Within the store; making up the memories is left out.
        grown: MB by which the filling process grew.
        body: Median size of a memory's JSON text in bytes.
    """

    seconds: float
    grown: float
    body: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a process that opens a store and asks it holds in memory.

    Attributes:
        bare: With the embedder alone, after every query was embedded once.
        opened: After opening.
        asked: After asking every query.
        seconds: That opening took.
    """

    bare: Footprint
    opened: Footprint
    asked: Footprint
    seconds: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What each query took, in milliseconds.

    Attributes:
        outside: All of `retrieve` but the embedding, by the clock.
        store: The part of it that is spent in the store.
        processor: Processor time of all threads outside the embedding.
    """

    outside: list[float] = field(default_factory=list)
    store: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def fill(home: Home, model: Model) -> Filled:
    """Fill a store with made-up memories."""
    from hindsight_core.store.edge import EdgeStore
    from hindsight_core.store.payload import stored_payload

    every = points(home.memories, namespaces=home.namespaces, dimension=model.dimension)
    batch = tuple(islice(every, BATCH))
    sizes: list[int] = []
    seconds = 0.0
    store = EdgeStore.open(home.folder / "store", Schema(model.name, model.dimension))
    before = footprint()
    try:
        for _ in track(range(0, home.memories, BATCH), f"filling {home.folder.name}"):
            _, spent = spent_on(partial(store.execute, Put(batch)))
            seconds += spent.wall / 1e3
            sizes += [len(stored_payload(point.memory, ())["body"]) for point in batch[:5]]
            batch = tuple(islice(every, BATCH))
        after = footprint()
    finally:
        _, closing = spent_on(store.close)
    grown = after.resident - before.resident
    return Filled(seconds + closing.wall / 1e3, grown, sorted(sizes)[len(sizes) // 2])


def hold(home: Home, model: Model, queries: Sequence[str]) -> Held:
    """Open a store and ask it, as a program would that does nothing else."""
    embedder = model.open()
    for query in queries:
        embedder.embed_query(query)
    bare = footprint()
    start = time.perf_counter()
    with _opened(home, embedder, None) as memory:
        seconds = time.perf_counter() - start
        opened = footprint()
        for place, query in enumerate(queries):
            memory.scoped(home.space(place)).retrieve(query)
        return Held(bare, opened, footprint(), seconds)


def ask(homes: Sequence[Home], model: Model, queries: Sequence[str], warm_up: int) -> list[Asked]:
    """Ask the stores each query in turn, so that whatever else runs slows all of them.

    Args:
        homes: The stores.
        model: Embeds the queries.
        queries: What is asked.
        warm_up: How many of them are not counted.
    """
    embedder = model.open()
    counters = [_Counter(home, model, embedder) for home in homes]
    try:
        for place, query in enumerate(track(queries, "retrieving")):
            if place == warm_up:
                for counter in counters:
                    counter.asked = Asked()
            first = place % len(counters)
            for counter in counters[first:] + counters[:first]:
                counter.serve(place, query)
    finally:
        for counter in counters:
            counter.memory.close()
    return [counter.asked for counter in counters]


class _Metered(TimedEmbedder):
    """Notes the processor time of all threads besides that of its own."""

    processor = 0.0

    def embed_query(self, text: str) -> Vector:
        start = time.process_time()
        vector = super().embed_query(text)
        self.processor += time.process_time() - start
        return vector


class _Counter:
    """An open store, and what queries took there."""

    def __init__(self, home: Home, model: Model, embedder: DenseEmbedder) -> None:
        from hindsight_core.store.edge import EdgeStore

        schema = Schema(model.name, model.dimension)
        self._home = home
        self._dense = _Metered(embedder)
        self._store = TimedStore(EdgeStore.open(home.folder / "store", schema))
        self.memory = _opened(home, self._dense, self._store)
        self.asked = Asked()

    def serve(self, place: int, query: str) -> None:
        """Answer the query at `place` and note what it took."""
        here = self.memory.scoped(self._home.space(place))
        start, embedding = time.process_time(), self._dense.processor
        _, total = spent_on(partial(here.retrieve, query))
        used = time.process_time() - start - (self._dense.processor - embedding)
        self.asked.outside.append((total - self._dense.watch.take()).wall)
        self.asked.store.append(self._store.watch.take().wall)
        self.asked.processor.append(used * 1e3)


def _opened(home: Home, embedder: DenseEmbedder, store: MemoryStore | None) -> Hindsight:
    return Hindsight.open(
        home.folder,
        namespace="benchmark",
        settings=Settings(),
        embedder=embedder,
        store=store,
        clock=lambda: NOW,
    )
