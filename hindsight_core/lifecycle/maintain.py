"""Maintenance: what has expired, grown cold, proved wrong or is there twice leaves.

Goes through a namespace a page at a time and writes each page's changes as one set that is
planned in the journal first. So it needs little memory at any size, can be killed at any
point, and run again: what was done stays done, and the rest is found again.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

from hindsight_core.lifecycle.cold import Leaving, leaving, left, worth
from hindsight_core.lifecycle.merge import (
    Cluster,
    cluster_revisions,
    cluster_steps,
    waits_for_words,
)
from hindsight_core.lifecycle.parameters import Lifecycle
from hindsight_core.lifecycle.partners import Clusters, read_vectors
from hindsight_core.lifecycle.tended import Action, Tended
from hindsight_core.lifecycle.twins import Sketches
from hindsight_core.models import Memory, is_statement
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, ask
from hindsight_core.reconcile.writer import Revision, Writer
from hindsight_core.store.base import Count, Get, MemoryFilter, Scroll

__all__ = ["KEPT_STEPS", "Maintained", "Maintenance", "Progress", "Stage"]

R = TypeVar("R")
Stage: TypeAlias = Literal["leaving", "comparing", "merging", "capacity"]
"""What maintenance is at: who leaves by age and credit, who may be there twice, who is there
twice, who is too many."""

_Taken: TypeAlias = tuple[list[Revision], list[Tended]]

PAGE = 256
"""Memories read, and at most changed, at once."""
COMPARED_SHARE = 1 / 16
"""Share of the memories from which on all are compared with all before the store is asked for
neighbors; for fewer it is quicker to ask about each."""
KEPT_STEPS = 1_000
"""Steps that a report keeps; all of them are counted and handed to `on_step`."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far maintenance is.

    Attributes:
        stage: What it is at.
        done: Memories looked at in this stage.
        total: Memories that there were to look at when the stage began.
    """

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did, or would do.

    Attributes:
        examined: Active memories looked at.
        counts: How many memories each action was done to.
        steps: What was done to which memory and why, at most `KEPT_STEPS` of them.
        dry_run: Whether nothing was changed.
        waiting: Merged memories that wait for words that say all of it, at most `KEPT_STEPS`.
        notes: Why merged memories kept the words of the rule, for people.
        tokens_in: Tokens sent to a model.
        tokens_out: Tokens that it answered.
    """

    examined: int
    counts: Mapping[str, int]
    steps: tuple[Tended, ...]
    dry_run: bool = False
    waiting: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def changed(self) -> int:
        """How many memories were changed."""
        return sum(self.counts.values())


@dataclass(slots=True)
class _Report:
    on_step: Callable[[Tended], None] | None
    counts: Counter[str] = field(default_factory=Counter)
    steps: list[Tended] = field(default_factory=list)
    waiting: dict[str, None] = field(default_factory=dict)

    def wait(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            if len(self.waiting) < KEPT_STEPS:
                self.waiting.setdefault(memory.id)

    def add(self, steps: Sequence[Tended]) -> None:
        for step in steps:
            self.counts[step.action] += 1
            if len(self.steps) < KEPT_STEPS:
                self.steps.append(step)
            if self.on_step is not None:
                self.on_step(step)


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Maintains one namespace.

    Attributes:
        namespace: Whose memories.
        lifecycle: The profile's thresholds.
        writer: Puts changes into the store.
        run: Executes a plan on the store.
        on_progress: Told how far it is, after each page.
        on_step: Told each step as it is taken.
    """

    namespace: Namespace
    lifecycle: Lifecycle
    writer: Writer
    run: Callable[[Plan[R]], R]
    on_progress: Callable[[Progress], None] | None = None
    on_step: Callable[[Tended], None] | None = None

    def maintain(
        self, now: datetime, *, dry_run: bool = False, merge_since: datetime | None = None
    ) -> Maintained:
        """Go through the namespace once.

        Args:
            now: The present moment.
            dry_run: Whether only to say what would be done.
            merge_since: Look for partners only of what was written since, `None` for of
                everything; to compare each with all takes time.

        Raises:
            StoreError: If the store can't be read or written; what was done by then stays.
        """
        with self.writer.lock:
            self.run(self.writer.redo(now))
        report = _Report(self.on_step)
        gone: set[str] = set()
        examined = self._count()

        asking = 0

        def is_recent(memory: Memory) -> bool:
            return is_statement(memory) and (
                merge_since is None or memory.updated_at >= merge_since
            )

        def leave(page: Sequence[Memory]) -> Iterator[_Taken]:
            nonlocal asking
            asking += sum(is_recent(memory) for memory in page)
            report.wait(memory for memory in page if waits_for_words(memory))
            return self._leave(page, now)

        self._stage("leaving", examined, now, dry_run, report, leave)
        remaining = self._count()
        may_have_twin = self._compare(asking, remaining, is_recent)

        def merge(page: Sequence[Memory]) -> Iterator[_Taken]:
            asked = [m for m in page if is_recent(m) and may_have_twin(m.id)]
            return self._merge(asked, now, gone, report)

        self._stage("merging", remaining, now, dry_run, report, merge)
        remaining = examined - sum(report.counts.values())
        excess = remaining - self.lifecycle.capacity if self.lifecycle.capacity else 0
        if excess > 0:
            self._shrink(excess, now, dry_run, report, gone)
        counts, waiting = dict(report.counts), tuple(report.waiting)
        return Maintained(examined, counts, tuple(report.steps), dry_run, waiting)

    def _stage(
        self,
        stage: Stage,
        total: int,
        now: datetime,
        dry_run: bool,
        report: _Report,
        decide: Callable[[Sequence[Memory]], Iterator[_Taken]],
    ) -> None:
        done = 0
        for page in self._pages():
            for revisions, steps in decide(page):
                if not dry_run:
                    self._write(revisions, now)
                report.add(steps)
            done += len(page)
            self._tell(stage, done, max(total, done))

    def _leave(self, page: Sequence[Memory], now: datetime) -> Iterator[_Taken]:
        verdicts = [(memory, leaving(memory, now, self.lifecycle)) for memory in page]
        taken = [_leave(memory, verdict) for memory, verdict in verdicts if verdict is not None]
        yield [revision for revision, _ in taken], [step for _, step in taken]

    def _compare(
        self, asking: int, total: int, is_recent: Callable[[Memory], bool]
    ) -> Callable[[str], bool]:
        """Return whether the memory with an id may have a twin, told from all vectors at once."""
        if asking <= total * COMPARED_SHARE:
            return lambda _: True
        sketches = Sketches(self.lifecycle.duplicate_similarity)
        for page in self._pages():
            hits = self.run(read_vectors(page, self.namespace))
            sketches.add(
                [hit.memory.id for hit in hits],
                [hit.dense for hit in hits],
                [is_recent(hit.memory) for hit in hits],
            )
        for done in sketches.compare():
            self._tell("comparing", done, len(sketches))
        return sketches.may_have_twin

    def _merge(
        self, page: Sequence[Memory], now: datetime, gone: set[str], report: _Report
    ) -> Iterator[_Taken]:
        """Yield clusters until there are none.

        In a dry run what would have left or been merged is still there, and is no partner.
        """

        def is_out(memory: Memory) -> bool:
            return memory.id in gone or self._leaves(memory, now)

        clusters = Clusters(self.namespace, self.lifecycle, is_out)
        asked = page
        while asked:
            found, asked = self.run(clusters.find(asked))
            gone.update(memory.id for cluster in found for memory in cluster.gone)
            report.wait(cluster.kept for cluster in found)
            for batch in _batches(found):
                revisions = [
                    revision
                    for cluster in batch
                    for revision in cluster_revisions(cluster, now, self.lifecycle)
                ]
                yield revisions, [step for cluster in batch for step in cluster_steps(cluster)]

    def _leaves(self, memory: Memory, now: datetime) -> bool:
        return leaving(memory, now, self.lifecycle) is not None

    def _shrink(
        self, excess: int, now: datetime, dry_run: bool, report: _Report, gone: set[str]
    ) -> None:
        """Archive the `excess` memories that are worth least."""
        heap: list[tuple[float, str]] = []
        for page in self._pages():
            for memory in page:
                if memory.id in gone or self._leaves(memory, now):
                    continue
                item = (-worth(memory, now, self.lifecycle), memory.id)
                (heapq.heappush if len(heap) < excess else heapq.heappushpop)(heap, item)
        chosen = [memory_id for _, memory_id in sorted(heap, reverse=True)]
        reason = f"more than {self.lifecycle.capacity} memories, and worth less than the others"
        for start in range(0, len(chosen), PAGE):
            ids = tuple(chosen[start : start + PAGE])
            records = self.run(ask(Get((self.namespace,), ids)))
            taken = [_leave(record.memory, Leaving("archived", reason)) for record in records]
            if not dry_run:
                self._write([revision for revision, _ in taken], now)
            report.add([step for _, step in taken])
            self._tell("capacity", start + len(ids), len(chosen))

    def _write(self, revisions: list[Revision], now: datetime) -> None:
        """Write one page's changes, on top of how the memories stand by now."""
        if not revisions:
            return
        with self.writer.lock:
            self.run(
                self.writer.write(self.namespace, [], revisions, lifecycle=self.lifecycle, now=now)
            )

    def _pages(self) -> Iterator[list[Memory]]:
        where = MemoryFilter(namespaces=(self.namespace,))
        cursor: str | None = None
        while True:
            page = self.run(ask(Scroll(where, PAGE, cursor)))
            if page.records:
                yield [record.memory for record in page.records]
            cursor = page.cursor
            if cursor is None:
                return

    def _count(self) -> int:
        return self.run(ask(Count(MemoryFilter(namespaces=(self.namespace,)))))

    def _tell(self, stage: Stage, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress(stage, done, total))


def _leave(memory: Memory, verdict: Leaving) -> tuple[Revision, Tended]:
    action: Action = verdict.status
    revision = Revision(memory, left(memory, verdict), action, verdict.reason)
    return revision, Tended.of(memory, action, verdict.reason)


def _batches(clusters: Sequence[Cluster]) -> Iterator[list[Cluster]]:
    """Yield clusters that together change about a page, each of them whole."""
    batch: list[Cluster] = []
    changes = 0
    for cluster in clusters:
        batch.append(cluster)
        changes += 1 + len(cluster.dropped)
        if changes >= PAGE:
            yield batch
            batch, changes = [], 0
    if batch:
        yield batch
