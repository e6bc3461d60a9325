"""`scale`: what ten times as many memories cost in time, memory and disk."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.context import Context
from benchmarks.metrics import Measure, quantile_of
from benchmarks.report import Report, Row
from benchmarks.sets.scale_disk import bytes_by_part, filesystem_of
from benchmarks.sets.scale_jobs import Asked, Filled, Held, Home, Model, ask, fill, hold
from benchmarks.sets.scale_process import in_own_process
from benchmarks.synthetic import questions

__all__ = ["run_scale"]

MEMORIES = 100_000
NAMESPACES = 20
QUERIES = 300
WARM_UP = 20
STORES = ("small", "few", "many", "one")
"""A tenth of the memories in 20 namespaces, then all in 20, in a fifth as many, and in one."""


def run_scale(context: Context) -> Report:
    """Fill stores of two sizes, and ask, open and weigh them.

    `--limit` sets the size of the larger ones, and with it the number of queries.
    """
    model = Model.of(context.embedder.inner)
    memories = context.limit or MEMORIES
    queries = questions(min(QUERIES, memories) + WARM_UP)
    with tempfile.TemporaryDirectory(prefix="hindsight-benchmark-") as folder:
        homes = _homes(Path(folder), memories)
        filled = [in_own_process(fill, home, model) for home in homes]
        disk = [bytes_by_part(home.folder / "store") for home in homes]
        held = [in_own_process(hold, home, model, queries) for home in homes]
        pairs = [
            in_own_process(ask, [homes[0], home], model, queries, WARM_UP) for home in homes[1:]
        ]
        kind = filesystem_of(Path(folder))
    asked = [pairs[0][0], *(large for _, large in pairs)]
    beside = [pairs[0][0], *(small for small, _ in pairs)]
    every = zip(homes, filled, disk, held, asked, beside, strict=True)
    rows = [Row(context.system(_name(one[0])), _measures(*one)) for one in every]
    context.notes += _notes(filled[-1].body, kind)
    settings = context.settings(
        memories=memories,
        namespaces=[home.namespaces for home in homes],
        payload_bytes=filled[-1].body,
        active=0.5,
        queries=len(queries) - WARM_UP,
        file_system=kind,
    )
    count = len(queries) - WARM_UP
    return Report("scale", count, tuple(rows), tuple(context.notes), settings, decimals=2)


def _homes(folder: Path, memories: int) -> list[Home]:
    """Return the stores; growth is measured from the first."""
    few, many = min(NAMESPACES, memories), max(memories // 5, 1)
    shapes = {
        "small": (max(memories // 10, 1), few),
        "few": (memories, few),
        "many": (memories, many),
        "one": (memories, 1),
    }
    return [Home(folder / name, *shapes[name]) for name in STORES]


def _name(home: Home) -> str:
    where = "1 namespace" if home.namespaces == 1 else f"{home.namespaces:,} namespaces"
    return f"{home.memories:,} in {where}"


def _measures(
    home: Home,
    filled: Filled,
    disk: Mapping[str, int],
    held: Held,
    asked: Asked,
    small: Asked,
) -> dict[str, Measure]:
    bare = held.bare.resident
    return {
        "outside_p50_ms": quantile_of(asked.outside, 0.5),
        "outside_p95_ms": quantile_of(asked.outside, 0.95),
        "store_p50_ms": quantile_of(asked.store, 0.5),
        "growth": _growth(asked.outside, small.outside),
        "processor_ms": quantile_of(asked.processor, 0.5),
        "processor_growth": _growth(asked.processor, small.processor),
        "opened_mb": _one(held.opened.resident - bare),
        "asked_mb": _one(held.asked.resident - bare),
        "asked_anonymous_mb": _one(held.asked.anonymous - held.bare.anonymous),
        "peak_mb": _one(held.asked.peak - bare),
        "embedder_mb": _one(bare),
        "disk_bytes": _one(sum(disk.values()) / home.memories),
        **{f"disk_{part}_bytes": _one(disk[part] / home.memories) for part in sorted(disk)},
        "open_s": _one(held.seconds),
        "fill_s": _one(filled.seconds),
        "fill_mb": _one(filled.grown),
    }


def _growth(now: Sequence[float], before: Sequence[float]) -> Measure:
    """Return the median, query by query, of how many times as long one store took."""
    return quantile_of([mine / small for mine, small in zip(now, before, strict=True)], 0.5)


def _one(value: float) -> Measure:
    """Return a figure that was taken once, and so has no interval."""
    return Measure(value, value, value, 1)


def _notes(body: int, kind: str) -> list[str]:
    return f"""\
memories of {body} bytes, half superseded or archived (2 of 5 where a namespace has 5); their \
dense vectors are random unit vectors, none of them was embedded: exact search takes as long \
whatever they mean
`outside` is `retrieve` without its embedding, of queries that are really embedded; a process \
for each store asks it and the small one each query in turn; `processor` is the time of all \
threads, which a busy machine changes less
`growth` is over the small store in the same process, query by query; the goal of 3 or less is \
for as many namespaces
memory in MB above the embedder alone, in a process of its own that opens the store and asks \
each query once: resident with the mapped files, and the most there was; goal: 600 or less
`fill_mb` is what the process that fills a store grows by
`disk_bytes` per memory, altogether and by part: blocks in use ({kind or "unknown file system"})
memory, disk, and the seconds to open and to fill were taken once""".splitlines()
