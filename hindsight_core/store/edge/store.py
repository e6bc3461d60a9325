"""The embedded store: Qdrant's own engine in this process, one folder, no server."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import qdrant_edge as qe

from hindsight_core.errors import ClosedError, StoreError
from hindsight_core.models import Memory
from hindsight_core.store.base import (
    Count,
    Facet,
    Get,
    Hit,
    MemoryFilter,
    MemoryStore,
    Patch,
    Purge,
    Put,
    Record,
    Schema,
    Scroll,
    ScrollPage,
    Search,
    StoreOp,
    StoreStats,
)
from hindsight_core.store.checks import (
    can_match,
    check_page,
    check_points,
)
from hindsight_core.store.edge.engine import Engine, share, translated, unshare
from hindsight_core.store.edge.queries import (
    Found,
    LaneQuery,
    ask_all,
    engine_filter,
    found_by,
    hits_of,
    lane_queries,
    number_of,
    read_exact,
)
from hindsight_core.store.filters import (
    conditions_of,
)
from hindsight_core.store.payload import (
    memory_from_stored,
    point_id,
    record_from_stored,
    stored_payload,
)
from hindsight_core.store.unreadable import Unreadable

__all__ = ["EdgeStore"]

R = TypeVar("R")
_BATCH = 256
"""Points in one write, so that no single entry of the engine's log gets large."""
_ALL_VALUES = 1_000_000


class EdgeStore(MemoryStore):
    """Memories in a folder, kept by Qdrant's embedded engine.

    Several stores opened on one folder within a process share one engine. Another process is
    refused with `StoreLockedError`. What a write has returned from survives the death of the
    process; with `sync_writes` it also survives the death of the machine.

    Search is exact. It takes about 1 ms for 10,000 memories and grows in proportion.

    ```python
    store = EdgeStore.open("./memory/store", Schema("hashing", 64))
    store.execute(Count(MemoryFilter(namespaces=(Namespace.of("alice"),))))
    store.close()
    ```
    """

    def __init__(self, engine: Engine, *, sync_writes: bool = False) -> None:
        self._engine = engine
        self._sync_writes = sync_writes
        self._unreadable = Unreadable()
        self._closing = threading.Lock()
        self._closed = False

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema, *, sync_writes: bool = False
    ) -> EdgeStore:
        """Open the store in the folder at `path`, or make one there.

        Args:
            path: A folder of the store's own; it is made if it does not exist.
            schema: What the vectors are made with.
            sync_writes: Whether every write waits for the disk (some 20 ms each).

        Raises:
            StoreLockedError: If another process has it open.
            StoreCorruptError: If the folder is damaged, foreign or can't be written.
            SchemaMismatchError: If it was made with another schema.
        """
        return cls(share(Path(path).expanduser(), schema), sync_writes=sync_writes)

    def execute(self, op: StoreOp[R]) -> R:
        """Execute `op` in the calling thread."""
        if self._closed:
            raise ClosedError(f"the store at {self._engine.folder.path} was closed; open it again")
        perform = _OPERATIONS.get(type(op))
        if perform is None:
            raise StoreError(f"the embedded store does not know {type(op).__name__} operations")
        with translated(type(op).__name__, self._engine.folder.path):
            result: R = perform(self, op)
        return result

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Execute `op` in a thread."""
        return await asyncio.to_thread(self.execute, op)

    def stats(self) -> StoreStats:
        """Describe the store."""
        with self._engine.call("describing") as shard:
            info = shard.info()
        folder = self._engine.folder
        return StoreStats(
            backend="edge",
            location=str(folder.path),
            points=info.points_count,
            schema=folder.schema,
            details={
                "segments": info.segments_count,
                "sync_writes": self._sync_writes,
                "unreadable": len(self._unreadable),
            },
        )

    def is_ready(self) -> bool:
        """Whether it is open, in the process that opened it."""
        return not self._closed and self._engine.is_ours()

    def optimize(self) -> bool:
        """Merge segments and free the space of what was erased; return whether any was done.

        The engine holds the interpreter lock meanwhile, some 30 ms per 1,000 memories, so it
        is left to whoever knows a quiet moment; nothing needs it.
        """
        with self._writing("optimizing") as shard:
            return shard.optimize()

    def close(self) -> None:
        """Give the folder up, when no other store of this process uses it."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        unshare(self._engine)

    @contextmanager
    def _writing(self, what: str, points: Iterable[str] | None = ()) -> Iterator[qe.EdgeShard]:
        """Lend the shard for changing `points`, `None` for any of them, alone among writers."""
        engine = self._engine
        numbers = None if points is None else [number_of(point) for point in points]
        with engine.call(what) as shard, engine.write_lock:
            engine.kept.began_write(numbers)
            try:
                yield shard
            finally:
                engine.kept.ended_write()
            if self._sync_writes:
                shard.flush()

    def _put(self, op: Put) -> None:
        check_points(op.points, self._engine.folder.schema.dimension)
        points = {}
        for point in op.points:
            id_ = point_id(point.memory.namespace, point.memory.id)
            points[id_] = qe.Point(
                id_,
                {
                    "dense": list(point.dense),
                    "sparse": qe.SparseVector(
                        list(point.sparse.indices), list(point.sparse.values)
                    ),
                },
                stored_payload(point.memory, point.changes),
            )
        batch = list(points.values())
        with self._writing("storing", points) as shard:
            for start in range(0, len(batch), _BATCH):
                part = batch[start : start + _BATCH]
                shard.update(qe.UpdateOperation.upsert_points(part))

    def _patch(self, op: Patch) -> bool:
        id_ = point_id(op.memory.namespace, op.memory.id)
        payload = stored_payload(op.memory, op.changes)
        with self._writing("changing", (id_,)) as shard:
            found = shard.retrieve([id_], ["version"], False)
            if not found:
                return False
            version = (found[0].payload or {}).get("version")
            if op.expected_version not in (None, version):
                return False
            shard.update(qe.UpdateOperation.overwrite_payload([id_], payload))
            return True

    def _get(self, op: Get) -> tuple[Record, ...]:
        where = MemoryFilter(namespaces=op.namespaces, statuses=())
        ids = list(dict.fromkeys(point_id(n, id_) for id_ in op.ids for n in where.namespaces))
        if not ids:
            return ()
        with self._engine.call("reading") as shard:
            found = shard.retrieve([*ids], ["body", "history"], False)
        by_id = {str(record.id): record.payload for record in found}
        return tuple(record_from_stored(by_id[id_]) for id_ in ids if id_ in by_id)

    def _search(self, op: Search) -> tuple[tuple[Hit, ...], ...]:
        asked = [i for i, lane in enumerate(op.lanes) if can_match(lane)]
        dimension = self._engine.folder.schema.dimension
        requests = lane_queries([op.lanes[i] for i in asked], op, dimension)
        answers: dict[int, tuple[Hit, ...]] = {}
        if requests:
            hits = self._hits(requests, op)
            answers = dict(zip(asked, hits, strict=True))
        return tuple(answers.get(i, ()) for i in range(len(op.lanes)))

    def _hits(self, requests: list[LaneQuery], op: Search) -> list[tuple[Hit, ...]]:
        """Ask the lanes for ids and scores, then read each memory once, if it is not kept.

        Lanes share many of their hits, and a search shares many with the one before it. If
        anything was written between the two steps, the memories could no longer be what the
        filters asked for; then one step does both.
        """
        kept = self._engine.kept
        with self._engine.call("searching") as shard:
            writes = kept.writes
            found = found_by(ask_all(shard, requests))
            scores = read_exact(shard, requests, found) if op.exact else None
            memories = self._memories(shard, found, writes)
            if not kept.was_quiet_since(writes):
                full = [replace(request, with_payload=True) for request in requests]
                found = found_by(ask_all(shard, full))
                memories = self._readable(
                    {number: point.payload for lane in found.lanes for number, point in lane}
                )
                if op.exact:
                    scores = read_exact(shard, requests, found)
        return [
            hits_of(lane, memories, query, scores)
            for lane, query in zip(found.lanes, requests, strict=True)
        ]

    def _memories(self, shard: qe.EdgeShard, found: Found, writes: int) -> dict[int, Memory]:
        """Return the memories that were found, read since the count of writes was `writes`."""
        memories = self._engine.kept.read(found.ids)
        missing = [id_ for number, id_ in found.ids.items() if number not in memories]
        if missing:
            records = shard.retrieve(missing, ["body"], False)
            read = self._readable({number_of(record.id): record.payload for record in records})
            self._engine.kept.keep(read, writes)
            memories |= read
        return memories

    def _readable(self, stored: Mapping[int, Any]) -> dict[int, Memory]:
        read = {
            number: self._unreadable.read(UUID(int=number), payload, memory_from_stored)
            for number, payload in stored.items()
        }
        return {number: memory for number, memory in read.items() if memory is not None}

    def _scroll(self, op: Scroll) -> ScrollPage:
        check_page(op.limit, op.cursor)
        request = qe.ScrollRequest(
            offset=op.cursor,
            limit=op.limit,
            filter=engine_filter(conditions_of(op.where)),
            with_payload=["body", "history"],
        )
        with self._engine.call("listing") as shard:
            points, following = shard.scroll(request)
        read = [self._unreadable.read(p.id, p.payload, record_from_stored) for p in points]
        records = tuple(record for record in read if record is not None)
        return ScrollPage(records, None if following is None else str(following))

    def _count(self, op: Count) -> int:
        request = qe.CountRequest(exact=True, filter=engine_filter(conditions_of(op.where)))
        with self._engine.call("counting") as shard:
            return shard.count(request)

    def _facet(self, op: Facet) -> Mapping[str, int]:
        request = qe.FacetRequest(
            op.field, limit=_ALL_VALUES, exact=True, filter=engine_filter(conditions_of(op.where))
        )
        with self._engine.call("counting") as shard:
            return {str(hit.value): hit.count for hit in shard.facet(request).hits}

    def _purge(self, op: Purge) -> int:
        where = qe.Filter() if op.where is None else engine_filter(conditions_of(op.where))
        with self._writing("erasing", None) as shard:
            erased = shard.count(qe.CountRequest(exact=True, filter=where))
            if erased:
                shard.update(qe.UpdateOperation.delete_points_by_filter(where))
        return erased


_OPERATIONS: dict[type[Any], Any] = {
    Put: EdgeStore._put,
    Patch: EdgeStore._patch,
    Get: EdgeStore._get,
    Search: EdgeStore._search,
    Scroll: EdgeStore._scroll,
    Count: EdgeStore._count,
    Facet: EdgeStore._facet,
    Purge: EdgeStore._purge,
}
