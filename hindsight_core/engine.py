"""The rooms wired together: what one open memory is made of.

`open_engine` decides which store, journal, embedder and reflector there are; everything that
uses them takes an `Engine`. Several facades may share one engine, each for its namespace.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hindsight_core.clock import Clock
from hindsight_core.embedding.base import DenseEmbedder, SparseEmbedder, TokenCounter
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.embedding.cache import CachedQueries
from hindsight_core.embedding.duck import as_embedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.embedding.tokens import open_token_counter
from hindsight_core.errors import JournalError, SchemaMismatchError, StoreError
from hindsight_core.learning import Learner
from hindsight_core.lifecycle.access import count_accesses
from hindsight_core.lifecycle.granularity import SubTaskReflector
from hindsight_core.locks import ForkSafeLock
from hindsight_core.models import Reflection
from hindsight_core.namespaces import Namespace
from hindsight_core.plans import Plan, run
from hindsight_core.reconcile.writer import Writer
from hindsight_core.reflection.base import ReflectionModel, Reflector
from hindsight_core.reflection.llm import ModelReflector
from hindsight_core.reflection.model_clients import OpenAICompatibleModel, as_reflection_model
from hindsight_core.reflection.rules import RuleReflector
from hindsight_core.retrieval.profiles import Profile, profile_named
from hindsight_core.retrieval.recall import Recall
from hindsight_core.runs.backlog import Backlog
from hindsight_core.runs.journal import Journal, JournaledRun
from hindsight_core.runs.journal_owner import new_owner, owner_is_alive
from hindsight_core.runs.pending import PendingRecalls, access_counts
from hindsight_core.runs.retention import Retention
from hindsight_core.runs.worker import ReflectionWorker
from hindsight_core.runs.working import WorkingMemory
from hindsight_core.safety.redact import Redactor
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore, Schema
from hindsight_core.store.deferred import DeferredStore
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.qdrant import QdrantStore

__all__ = ["Engine", "Location", "open_engine"]

logger = logging.getLogger(__name__)
R = TypeVar("R")

_locks: dict[str, ForkSafeLock] = {}
_locks_guard = ForkSafeLock()


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


def open_engine(
    location: Location,
    *,
    settings: Settings,
    profile: Profile | None,
    embedder: Any,
    model: Any,
    reflector: Reflector | None,
    clock: Clock,
    store: MemoryStore | None,
    wait_for_store: bool,
) -> Engine:
    """Open everything, the journal before the store, so that nothing that happens is lost.

    Raises:
        StoreError: If the store can't be opened, unless `wait_for_store`.
        JournalError: If the journal can't be opened.
        ConfigurationError: If an embedder, model or profile can't be used.
    """
    profile = profile or profile_named(settings.profile)
    count_tokens = open_token_counter(
        settings.token_encoding,
        cache_dir=settings.cache_dir,
        allow_download=settings.allow_download,
    )
    asked = _model(model, settings)
    reflector = reflector or _reflector(asked, settings, count_tokens)
    if settings.sub_tasks:
        reflector = SubTaskReflector(reflector)
    dense = CachedQueries(
        open_embedder(settings) if embedder is None else as_embedder(embedder),
        settings.query_cache_size,
    )
    sparse = Bm25Embedder()
    journal = Journal.open(
        location.path / "journal.sqlite3",
        retention_days=settings.log_retention_days,
        sync=settings.sync_writes,
    )
    try:
        store = store or _open_store(location, dense, settings, wait_for_store)
    except BaseException:
        journal.close()
        raise
    recall = Recall(dense, sparse, reads_every_script=_reads_every_script(dense.name))
    writer = Writer(journal, "hindsight", _lock_for(location))
    learner = Learner(dense, sparse, reflector, writer, recall, profile)
    recalls = PendingRecalls(journal)
    engine_slot: list[Engine] = []

    def process(journaled: JournaledRun) -> None:
        engine_slot[0].learn(journaled)
        for call in engine_slot[0].after_runs:
            call(journaled.namespace)

    worker = ReflectionWorker(
        journal,
        process,
        owner=new_owner(),
        clock=clock,
        lease_seconds=settings.lease_seconds,
        poll_seconds=settings.poll_seconds,
        drain_seconds=settings.drain_seconds,
        on_failure=_note_failure,
        ready=lambda: engine_slot[0].is_ready(),
    )
    engine = Engine(
        location=location,
        settings=settings,
        profile=profile,
        clock=clock,
        store=store,
        journal=journal,
        dense=dense,
        sparse=sparse,
        count_tokens=count_tokens,
        recall=recall,
        writer=writer,
        learner=learner,
        worker=worker,
        redactor=Redactor(settings.redact_patterns),
        recalls=recalls,
        retention=Retention(journal),
        backlog=Backlog(journal, settings.max_backlog),
        working=WorkingMemory(
            clock=clock,
            ttl_seconds=settings.working_ttl_seconds,
            token_limit=settings.working_token_limit,
            count_tokens=count_tokens,
        ),
        model=asked,
    )
    engine_slot.append(engine)
    journal.release_dead_leases(owner_is_alive)
    engine.is_ready()
    worker.notify()
    return engine


def _open_store(
    location: Location, dense: DenseEmbedder, settings: Settings, wait_for_store: bool
) -> MemoryStore:
    schema = Schema(dense.name, dense.dimension)

    def opened() -> MemoryStore:
        if location.url:
            return QdrantStore.open(
                location.url, schema, api_key=location.api_key or None, layout=settings.server
            )
        return EdgeStore.open(location.path / "store", schema, sync_writes=settings.sync_writes)

    try:
        return opened()
    except SchemaMismatchError:
        raise  # waiting does not help
    except StoreError as error:
        if not wait_for_store:
            raise
        logger.warning("working without memory for now: %s", error)
        return DeferredStore(opened, schema, str(location.url or location.path))


def _model(model: Any, settings: Settings) -> ReflectionModel | None:
    if model is None and settings.model.model:
        model = OpenAICompatibleModel(settings.model)
    return None if model is None else as_reflection_model(model, settings=settings.model)


def _reflector(
    model: ReflectionModel | None, settings: Settings, count_tokens: TokenCounter
) -> Reflector:
    rules = RuleReflector(settings.task_types)
    if model is None:
        return rules
    return ModelReflector(
        model,
        rules,
        task_types=settings.task_types,
        count_tokens=count_tokens,
        settings=settings.model,
    )


def _reads_every_script(model_name: str) -> bool:
    """Whether a model knows other scripts than Latin; only known English ones do not."""
    name = model_name.lower()
    if "multilingual" in name or "-m3" in name:
        return True
    return not any(mark in name for mark in ("minilm", "-en", "potion-base", "hashing"))


def _lock_for(location: Location) -> ForkSafeLock:
    key = location.url if location.url and location.url != ":memory:" else ""
    key = key or str(location.path.resolve())
    with _locks_guard:
        return _locks.setdefault(key, ForkSafeLock())


def _note_failure(journaled: JournaledRun, error: Exception) -> None:
    logger.debug("run %s is kept for a retry: %s", journaled.run_id, error)
