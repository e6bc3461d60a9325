"""What one open memory is made of.

Everything that uses its rooms takes an `Engine`; `hindsight_core.wiring` makes one. Several
facades may share one engine, each for its namespace.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hindsight_core.clock import Clock
from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder, TokenCounter
from hindsight_core.errors import JournalError, StoreError
from hindsight_core.learning import Learner
from hindsight_core.lifecycle.access import count_accesses
from hindsight_core.models import Reflection
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, run
from hindsight_core.reconcile.writer import Writer
from hindsight_core.reflection.base import ReflectionModel
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.retrieval.recall import Recall
from hindsight_core.runs.backlog import Backlog
from hindsight_core.runs.journal import Journal, JournaledRun
from hindsight_core.runs.pending import PendingRecalls, access_counts
from hindsight_core.runs.retention import Retention
from hindsight_core.runs.worker import ReflectionWorker
from hindsight_core.runs.working import WorkingMemory
from hindsight_core.safety.redact import Redactor
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore

__all__ = ["Engine", "Location"]

logger = logging.getLogger(__name__)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Location:
    """Where memory lives.

    Attributes:
        path: Folder of the journal, and of the embedded store unless there is a `url`.
        url: A Qdrant server, or `:memory:`; `""` for the embedded store.
        api_key: Key of the server.
        is_temporary: Whether the folder is removed when memory is closed.
    """

    path: Path
    url: str = ""
    api_key: str = ""
    is_temporary: bool = False

    def release(self) -> None:
        """Remove the folder if it was made for this one memory."""
        if self.is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Engine:
    """One open memory.

    Attributes:
        location: Where it lives.
        settings: How it behaves.
        profile: Scoring and lifecycle parameters.
        clock: Tells the time.
        store: What was learned.
        journal: What happened.
        dense: Embeds texts.
        sparse: Indexes texts for BM25.
        count_tokens: Counts tokens for budgets.
        recall: Answers queries.
        writer: Writes memories.
        learner: Works through runs.
        worker: Does so in the background.
        redactor: Takes out secrets.
        recalls: Recalls not yet in the journal.
        retention: Drops old logs.
        backlog: Tells when too many runs wait.
        working: The current sessions' steps and notes.
        model: The reflection model, `None` where rules work alone.
        after_runs: Called by the worker, with the run's namespace, after each run that it
            reflected on.
    """

    location: Location
    settings: Settings
    profile: Profile
    clock: Clock
    store: MemoryStore
    journal: Journal
    dense: DenseEmbedder
    sparse: SparseEmbedder
    count_tokens: TokenCounter
    recall: Recall
    writer: Writer
    learner: Learner
    worker: ReflectionWorker
    redactor: Redactor
    recalls: PendingRecalls
    retention: Retention
    backlog: Backlog
    working: WorkingMemory
    model: ReflectionModel | None = None
    after_runs: list[Callable[[Namespace], None]] = field(default_factory=list)

    def run(self, plan: Plan[R]) -> R:
        """Run `plan` in the calling thread."""
        return run(plan, self.store)

    def learn(self, journaled: JournaledRun) -> Reflection:
        """Reflect on a run that is leased; what it was given to read is known by then."""
        self.note_recalls()
        self.retention.apply(self.clock())
        return self.run(self.learner.plan(journaled, self.clock()))

    def note_recalls(self) -> None:
        """Write recalls to the journal and count them on the memories.

        The counters serve ranking only: when the store is out of reach they are let go.
        """
        counts = access_counts(self.recalls.flush())
        if not counts:
            return
        try:
            with self.writer.lock:
                self.run(count_accesses(counts, self.clock()))
        except StoreError as error:
            logger.warning("recalls were not counted: %s", error)

    def is_ready(self) -> bool:
        """Whether the store can be worked with; what was left half done is finished by then."""
        if not self.store.is_ready():
            return False
        try:
            if self.journal.unapplied():
                with self.writer.lock:
                    self.run(self.writer.redo(self.clock()))
        except (StoreError, JournalError) as error:
            logger.warning("what was planned can't be finished for now: %s", error)
            return False
        return True

    def close(self) -> None:
        """Drain the worker within its time, then release everything.

        A run that was being reflected on when the time was up goes back into the queue.
        """
        self.worker.close()
        own = self.worker.owner
        self.journal.release_dead_leases(lambda owner: owner != own)
        self.note_recalls()
        self.store.close()
        self.journal.close()
        self.location.release()
