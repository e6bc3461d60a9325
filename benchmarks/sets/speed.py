"""`speed`: what remembering costs, beside the bare embedder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from benchmarks.context import Context
from benchmarks.metrics import Measure, mean_of, quantile_of
from benchmarks.progress import track
from benchmarks.report import Report, Row
from benchmarks.synthetic import NOW, points, questions, statements
from benchmarks.systems.timed import Spent, TimedEmbedder, TimedStore, spent_on
from hindsight_core import Hindsight
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.settings import Settings
from hindsight_core.store.base import Put, Schema
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.payload import stored_payload

__all__ = ["run_speed"]

T = TypeVar("T")

MEMORIES = 10_000
NAMESPACES = 20
QUERIES = 300
WARM_UP = 200
"""Queries before those that count: ten for each namespace, as in a process that has run a while."""
BATCHES = 12
BATCH = 64
OPENINGS = 7
IMPORT = (
    "import time; start = time.perf_counter(); import hindsight_core; "
    "print(time.perf_counter() - start)"
)


def run_speed(context: Context) -> Report:
    """Time retrieval, writing, opening and importing."""
    bare = context.embedder.inner
    queries = questions((context.limit or QUERIES) + WARM_UP)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="hindsight-benchmark-") as folder:
        many = Path(folder, "many")
        body = _fill(many, bare, NAMESPACES)
        first, asked = _retrievals(many, bare, queries, NAMESPACES)
        rows.append(Row(context.system("embedder"), _spread(asked.bare)))
        rows.append(Row(context.system("hindsight"), asked.measures()))
        rows += [Row(f"· {name}", _part(part)) for name, part in asked.parts.items()]
        stored = _writing(many, bare)
        rows[0] = Row(rows[0].system, {**rows[0].measures, **stored["embedder"]})
        more = stored["hindsight"] | {
            "open_s": quantile_of(_openings(many, bare), 0.5),
            "import_s": quantile_of(_imports(), 0.5),
            "brief_tokens": mean_of(_brief_tokens(many, bare, queries)),
        }
        rows[1] = Row(rows[1].system, {**rows[1].measures, **more})
        one = Path(folder, "one")
        _fill(one, bare, 1)
        _, single = _retrievals(one, bare, queries, 1)
        rows.append(Row(context.system("hindsight, first queries"), first.measures()))
        rows.append(Row(context.system("hindsight, one namespace"), single.measures()))
    context.notes += _notes(body)
    settings = context.settings(
        memories=MEMORIES, namespaces=NAMESPACES, payload_bytes=body, active=0.5, queries=QUERIES
    )
    count = len(queries) - WARM_UP
    return Report("speed", count, tuple(rows), tuple(context.notes), settings, decimals=2)


def _notes(body: int) -> list[str]:
    return f"""\
{MEMORIES:,} memories of {body} bytes over {NAMESPACES} namespaces, half superseded or archived; \
their dense vectors are random, since only the store's speed depends on them
queries are all different, so that no cache answers; each is embedded by the bare embedder and \
retrieved in turn, and `added` is the difference query by query
{WARM_UP} queries come before those that count, as in a process that has run a while: memories \
that were read lately are kept; `first queries` are the first to each namespace after opening
rows with a dot say where the time of `hindsight` goes; `added_cpu_ms` is the median processor \
time of the calling thread outside the embedder, which a busy machine changes less than the clock
writing: batches of {BATCH} new texts, really embedded, each by the bare embedder and by \
`store_many` into the full store; `store_ratio` is batch by batch""".splitlines()


@dataclass(slots=True)
class _Asked:
    """What each query took.

    Attributes:
        bare: The bare embedding.
        total: The retrieval.
        parts: Where the retrieval's time went.
    """

    bare: list[Spent] = field(default_factory=list)
    total: list[Spent] = field(default_factory=list)
    parts: dict[str, list[Spent]] = field(
        default_factory=lambda: {"embedding": [], "words": [], "store": [], "scoring": []}
    )

    def note(self, bare: Spent, total: Spent, embedding: Spent, words: Spent, store: Spent) -> None:
        """Take in one query; what is in none of the parts is scoring."""
        self.bare.append(bare)
        self.total.append(total)
        rest = total - embedding - words - store
        for name, part in zip(self.parts, (embedding, words, store, rest), strict=True):
            self.parts[name].append(part)

    def measures(self) -> dict[str, Measure]:
        """Return the retrieval's figures."""
        pairs = list(zip(self.total, self.bare, strict=True))
        added = [total.wall - bare.wall for total, bare in pairs]
        own = [
            total.own - embedding.own
            for total, embedding in zip(self.total, self.parts["embedding"], strict=True)
        ]
        return {
            **_spread(self.total),
            "added_p50_ms": quantile_of(added, 0.5),
            "added_p95_ms": quantile_of(added, 0.95),
            "added_cpu_ms": quantile_of(own, 0.5),
            "query_ratio": quantile_of([total.wall / bare.wall for total, bare in pairs], 0.5),
        }


def _spread(spent: Sequence[Spent]) -> dict[str, Measure]:
    wall = [one.wall for one in spent]
    return {"query_p50_ms": quantile_of(wall, 0.5), "query_p95_ms": quantile_of(wall, 0.95)}


def _part(spent: Sequence[Spent]) -> dict[str, Measure]:
    return {**_spread(spent), "added_cpu_ms": quantile_of([one.own for one in spent], 0.5)}


def _fill(folder: Path, bare: DenseEmbedder, namespaces: int) -> int:
    """Fill a store, and return the median size of a memory's payload in bytes."""
    store = EdgeStore.open(folder / "store", Schema(bare.name, bare.dimension))
    every = points(MEMORIES, namespaces=namespaces, dimension=bare.dimension)
    sizes: list[int] = []
    try:
        batches = _batches(every, 500)
        for batch in track(batches, "filling the store", MEMORIES // 500):
            store.execute(Put(batch))
            sizes += [len(stored_payload(point.memory, ())["body"]) for point in batch[:5]]
    finally:
        store.close()
    return sorted(sizes)[len(sizes) // 2]


def _retrievals(
    folder: Path, bare: DenseEmbedder, queries: Sequence[str], namespaces: int
) -> tuple[_Asked, _Asked]:
    """Return what the first query to each namespace took, and what those after warming up did."""
    dense = TimedEmbedder(bare)
    store = TimedStore(EdgeStore.open(folder / "store", Schema(bare.name, bare.dimension)))
    words = Bm25Embedder()
    first, asked = _Asked(), _Asked()
    with _opened(folder, dense, store) as memory:
        scoped = [memory.scoped(("benchmark", f"user-{i}")) for i in range(namespaces)]
        for place, query in enumerate(track(queries, "retrieving")):
            here = scoped[place % namespaces]
            # In turn, so that neither is always the first to meet a query.
            order: list[Callable[[], object]] = [
                partial(bare.embed_query, query),
                partial(here.retrieve, query),
            ]
            bare_spent, total = _in_turn(order, backwards=place % 2 == 1)
            embedding, storing = dense.watch.take(), store.watch.take()
            _, wording = spent_on(partial(words.embed_query, query))
            if place >= WARM_UP:
                asked.note(bare_spent, total, embedding, wording, storing)
            elif place < namespaces:
                first.note(bare_spent, total, embedding, wording, storing)
    return first, asked


def _in_turn(calls: Sequence[Callable[[], object]], *, backwards: bool) -> list[Spent]:
    places = range(len(calls))
    spent = [Spent()] * len(calls)
    for place in reversed(places) if backwards else places:
        _, spent[place] = spent_on(calls[place])
    return spent


def _writing(folder: Path, bare: DenseEmbedder) -> Mapping[str, dict[str, Measure]]:
    texts = statements(BATCH * BATCHES, seed=7)
    alone: list[float] = []
    kept: list[float] = []
    with _opened(folder, bare, None) as memory:
        here = memory.scoped(("benchmark", "user-0"))
        for place, batch in enumerate(track(list(_batches(texts, BATCH)), "writing")):
            items = [{"content": text} for text in batch]
            order: list[Callable[[], object]] = [
                partial(bare.embed_documents, batch),
                partial(here.store_many, items),
            ]
            bare_spent, total = _in_turn(order, backwards=place % 2 == 1)
            alone.append(BATCH / bare_spent.wall * 1e3)
            kept.append(BATCH / total.wall * 1e3)
    ratios = [mine / theirs for mine, theirs in zip(kept, alone, strict=True)]
    return {
        "embedder": {"store_per_s": quantile_of(alone, 0.5)},
        "hindsight": {
            "store_per_s": quantile_of(kept, 0.5),
            "store_ratio": quantile_of(ratios, 0.5),
        },
    }


def _batches(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    every = iter(items)
    while batch := tuple(islice(every, size)):
        yield batch


def _openings(folder: Path, bare: DenseEmbedder) -> list[float]:
    seconds = []
    for _ in range(OPENINGS):
        start = time.perf_counter()
        memory = _opened(folder, bare, None)
        seconds.append(time.perf_counter() - start)
        memory.close()
    return seconds


def _imports() -> list[float]:
    command = [sys.executable, "-c", IMPORT]
    return [
        float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        for _ in range(OPENINGS)
    ]


def _brief_tokens(folder: Path, bare: DenseEmbedder, queries: Sequence[str]) -> list[float]:
    with _opened(folder, bare, None) as memory:
        here = memory.scoped(("benchmark", "user-1"))
        return [here.brief(query, abstain=False).tokens for query in queries[:50]]


def _opened(folder: Path, embedder: DenseEmbedder, store: TimedStore | None) -> Hindsight:
    return Hindsight.open(
        folder,
        namespace="benchmark",
        settings=Settings(),
        embedder=embedder,
        store=store,
        clock=lambda: NOW,
    )
