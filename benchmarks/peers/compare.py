"""`peers`: the figures of speed and of quality in one table."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.context import Context
from benchmarks.errors import DataMissingError, PeersMissingError
from benchmarks.metrics import Measure
from benchmarks.peers import speed
from benchmarks.peers.environment import peer_commands, peers_python
from benchmarks.peers.process import Peers
from benchmarks.peers.quality import (
    QUESTIONS,
    measure_currency,
    measure_locomo,
    measure_success,
)
from benchmarks.report import Report, Row

__all__ = ["compare", "run_peers"]

SETS = (
    ("locomo", measure_locomo),
    ("currency", measure_currency),
    ("success-first", measure_success),
)


def run_peers(context: Context) -> Report:
    """Measure the real peers, in the environment that they are installed in.

    Raises:
        PeersMissingError: If they can't be installed, or none of them runs.
    """
    return compare(context, peer_commands(peers_python(context.embedder.folder)))


def compare(context: Context, commands: Mapping[str, Sequence[str]]) -> Report:
    """Measure Hindsight and those who answer to commands, each in its row.

    Args:
        context: What every benchmark is given.
        commands: The program of every peer by name; it speaks as the worker does.

    Raises:
        PeersMissingError: If none of them runs.
    """
    rows: dict[str, dict[str, Measure]] = {name: {} for name in ("hindsight", *commands, "dense")}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="hindsight-benchmark-") as folder:
        figures, peers, payload = speed.measure_speed(context, commands, Path(folder, "speed"))
        if not peers.names:
            raise PeersMissingError(f"no peer could be run: {'; '.join(peers.failed.values())}")
        _take(rows, figures, failed, peers, context)
        versions = dict(peers.versions)
        for name, measure in SETS:
            try:
                found, peers = measure(context, commands, Path(folder, name))
            except DataMissingError as error:
                context.notes.append(f"{name} is left out: {error}")
                continue
            _take(rows, found, failed, peers, context)
    context.notes += _notes(payload, versions)
    settings = context.settings(
        memories=speed.MEMORIES,
        namespaces=speed.NAMESPACES,
        payload_bytes=payload,
        active=0.5,
        top_k=speed.TOP_K,
        peers={name: dict(of) for name, of in versions.items()},
    )
    done = tuple(Row(context.system(name), of) for name, of in rows.items() if of)
    count = context.limit or speed.QUERIES
    return Report("peers", count, done, tuple(context.notes), settings)


def _take(
    rows: dict[str, dict[str, Measure]],
    figures: Mapping[str, Mapping[str, Measure]],
    failed: dict[str, str],
    peers: Peers,
    context: Context,
) -> None:
    """Add figures to the rows, and what went wrong to the notes."""
    for name, measures in figures.items():
        rows[name] |= measures
    for name, reason in peers.failed.items():
        if failed.get(name) != reason:
            failed[name] = reason
            context.notes.append(f"{name} failed and lacks figures: {reason}")
    for name, hosts in peers.refused.items():
        if hosts:
            context.notes.append(f"{name} wanted to reach {', '.join(hosts)}, and was not let")


def _notes(payload: int, versions: Mapping[str, Mapping[str, str]]) -> list[str]:
    text = f"""\
speed: {speed.MEMORIES:,} memories of {payload} bytes over {speed.NAMESPACES} namespaces, half \
superseded or archived, with random vectors; the best {speed.TOP_K} of the active ones of a \
namespace (a filter of two keys); every query to all systems in turn, a process each
`added_…_ms` is the time outside the embedder, whose vectors were made beforehand and are the \
same for all; `ratio` is a peer's time over that of `hindsight`, the median query by query; \
`added_cpu_ms` and `cpu_ratio` are the same in processor time, of all threads of a process, which \
a busy machine changes less
`store_per_s`: {speed.BATCHES} batches of {speed.BATCH} new memories into the full store, outside \
the embedder, and the processor time of one as `store_cpu_ms`; only QdrantVectorStore and \
hindsight take a batch at once, and only hindsight looks for what says the same or is superseded
quality: `R@10` on at most {QUESTIONS} questions of locomo; `as_dense@10` is the share of the ten \
first by cosine that is among the first ten; `new_first` as in currency; `success_first` as in \
success-first, for which hindsight reflects on the runs and the others store their tasks
QdrantVectorStore, VectorMemoryBlock and mem0 keep their memories in Qdrant's local mode on a \
path, InMemoryStore in the process alone; mem0 with infer=False and its default threshold"""
    return text.splitlines() + [
        f"{name}: {', '.join(f'{one} {version}' for one, version in of.items())}"
        for name, of in versions.items()
    ]
