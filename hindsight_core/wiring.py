"""The rooms wired together: which store, journal, embedder and reflector an open memory has."""

from __future__ import annotations

import logging
from typing import Any

from hindsight_core.clock import Clock
from hindsight_core.embedding.base import DenseEmbedder, TokenCounter
from hindsight_core.embedding.bm25 import Bm25Embedder
from hindsight_core.embedding.cache import CachedQueries
from hindsight_core.embedding.duck import as_embedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.embedding.tokens import open_token_counter
from hindsight_core.engine import Engine, Location
from hindsight_core.errors import SchemaMismatchError, StoreError
from hindsight_core.learning import Learner
from hindsight_core.lifecycle.granularity import SubTaskReflector
from hindsight_core.locks import ForkSafeLock
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
from hindsight_core.runs.pending import PendingRecalls
from hindsight_core.runs.retention import Retention
from hindsight_core.runs.worker import ReflectionWorker
from hindsight_core.runs.working import WorkingMemory
from hindsight_core.safety.redact import Redactor
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore, Schema
from hindsight_core.store.deferred import DeferredStore
from hindsight_core.store.edge import EdgeStore
from hindsight_core.store.qdrant import QdrantStore

__all__ = ["open_engine"]

logger = logging.getLogger(__name__)

_locks: dict[str, ForkSafeLock] = {}
_locks_guard = ForkSafeLock()


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
    reflector = _reflector(reflector, asked, settings, count_tokens)
    dense = _dense(embedder, settings)
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
    engine_slot: list[Engine] = []
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
        learner=Learner(dense, sparse, reflector, writer, recall, profile),
        worker=_worker(journal, engine_slot, settings, clock),
        redactor=Redactor(settings.redact_patterns),
        recalls=PendingRecalls(journal),
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
    engine.worker.notify()
    return engine


def _worker(
    journal: Journal, engine_slot: list[Engine], settings: Settings, clock: Clock
) -> ReflectionWorker:
    """Return a worker for the engine that will be put into `engine_slot` before it starts."""

    def process(journaled: JournaledRun) -> None:
        engine_slot[0].learn(journaled)
        for call in engine_slot[0].after_runs:
            call(journaled.namespace)

    return ReflectionWorker(
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


def _dense(embedder: Any, settings: Settings) -> DenseEmbedder:
    chosen = open_embedder(settings) if embedder is None else as_embedder(embedder)
    return CachedQueries(chosen, settings.query_cache_size)


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
    given: Reflector | None,
    model: ReflectionModel | None,
    settings: Settings,
    count_tokens: TokenCounter,
) -> Reflector:
    reflector = given or _own_reflector(model, settings, count_tokens)
    return SubTaskReflector(reflector) if settings.sub_tasks else reflector


def _own_reflector(
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
