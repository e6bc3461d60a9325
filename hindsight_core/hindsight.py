"""The facade: every verb, sync and with the prefix `a` async, and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack
from uuid import UUID

from hindsight_core.asking_verbs import AskingVerbs
from hindsight_core.async_verbs import AsyncVerbs
from hindsight_core.clock import Clock, system_clock
from hindsight_core.engine import Engine, Location
from hindsight_core.errors import ConfigurationError
from hindsight_core.models import Brief, Change, Memory, Page, Reflection, Retrieved
from hindsight_core.namespaces import Namespace, NamespaceLike
from hindsight_core.options import (
    BriefOptions,
    FeedbackOptions,
    FilterOptions,
    ListOptions,
    RetrieveOptions,
    StoreOptions,
)
from hindsight_core.reflection.base import Reflector
from hindsight_core.retrieval.profiles import Profile
from hindsight_core.runs.journal import LogHit
from hindsight_core.settings import Settings
from hindsight_core.store.base import MemoryStore
from hindsight_core.tending_verbs import TendingVerbs
from hindsight_core.trajectory import Trajectory
from hindsight_core.verbs.consolidating import schedule_tending
from hindsight_core.verbs.reading import (
    Stats,
    Why,
    plan_get,
    plan_history,
    plan_list,
    plan_stats,
    plan_why,
)
from hindsight_core.verbs.recalling import plan_brief, plan_retrieve
from hindsight_core.verbs.runs import reflect_now, retry_runs, search_runs, submit_run
from hindsight_core.verbs.scope import Health, Scope
from hindsight_core.verbs.writing import plan_feedback, plan_forget, store_all, store_batch
from hindsight_core.wiring import open_engine

__all__ = ["Hindsight"]


class Hindsight(AsyncVerbs, TendingVerbs, AskingVerbs):
    """Memory that an agent earns by looking back at its finished runs.

    ```python
    from hindsight_core import Hindsight

    with Hindsight.open("./memory", namespace=("acme", "alice")) as h:
        h.store("The user prefers metric units", category="preference")
        print(h.brief("convert the recipe"))
    ```

    Safe to use from several threads and event loops. One object is bound to one namespace;
    `scoped` gives a view of another one on the same engine.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        namespace: NamespaceLike,
        url: str | None = None,
        api_key: str | None = None,
        read_namespaces: Iterable[NamespaceLike] = (),
        settings: Settings | None = None,
        profile: Profile | None = None,
        embedder: Any = None,
        model: Any = None,
        reflector: Reflector | None = None,
        clock: Clock = system_clock,
        store: MemoryStore | None = None,
        wait_for_store: bool = False,
    ) -> Hindsight:
        """Open a memory, or make a new one.

        Args:
            path: Folder of the journal and the embedded store; `HINDSIGHT_MEMORY_PATH` or
                `./memory` by default, a temporary folder with `url=":memory:"`.
            namespace: Whose memory it is; see `hindsight_core.namespaces`.
            url: A Qdrant server instead of the embedded engine, or `:memory:`;
                `HINDSIGHT_MEMORY_URL` by default when no path is given.
            api_key: Key of the server.
            read_namespaces: Shared namespaces that are read after the own one.
            settings: How it behaves, by default read from the environment.
            profile: A profile of your own instead of the one that the settings name.
            embedder: Anything with LangChain's or LlamaIndex's embedding methods.
            model: Reflection model: a LangChain chat model, a LlamaIndex LLM, a callable.
            reflector: A reflector of your own instead of rules and model.
            clock: Tells the time.
            store: A store of your own.
            wait_for_store: Open without the store when it is locked or out of reach: runs
                are journaled, recall says that it is unavailable, and the store is used as
                soon as it is there.

        Raises:
            NamespaceError: If the namespace can't be used.
            StoreLockedError: If another process owns the embedded store.
            StoreUnavailableError: If the server can't be reached.
            SchemaMismatchError: If the store was written with another embedding model.
            StoreCorruptError: If the files are damaged or foreign; nothing is changed.
            ModelUnavailableError: If no embedding model is at hand.
        """
        own = Namespace.of(namespace)
        shared = tuple(Namespace.of(other) for other in read_namespaces)
        settings = settings or Settings.from_env()
        location = _location(path, url, api_key)
        try:
            engine = open_engine(
                location,
                settings=settings,
                profile=profile,
                embedder=embedder,
                model=model,
                reflector=reflector,
                clock=clock,
                store=store,
                wait_for_store=wait_for_store,
            )
        except BaseException:
            location.release()
            raise
        scope = Scope(engine, own, shared, Health(own))
        schedule_tending(scope)
        return cls(scope)

    @property
    def namespace(self) -> Namespace:
        """The namespace that is written to and read first."""
        return self._scope.namespace

    @property
    def read_namespaces(self) -> tuple[Namespace, ...]:
        """The shared namespaces that are read after the own one, in order."""
        return self._scope.shared

    @property
    def location(self) -> Location:
        """Where memory lives, with the key of its server."""
        return self._engine.location

    @property
    def is_closed(self) -> bool:
        """Whether it was closed; then every verb refuses."""
        return self._scope.health.closed

    @property
    def settings(self) -> Settings:
        """How this memory behaves."""
        return self._engine.settings

    def count_tokens(self, text: str) -> int:
        """Return the tokens of `text`, as budgets count them."""
        return self._engine.count_tokens(text)

    @property
    def _engine(self) -> Engine:
        return self._scope.engine

    def scoped(
        self, namespace: NamespaceLike, *, read_namespaces: Iterable[NamespaceLike] = ()
    ) -> Hindsight:
        """Return a view of another namespace on the same engine; closing it closes both.

        Raises:
            NamespaceError: If the namespace can't be used.
        """
        scope, own = self._scope, Namespace.of(namespace)
        shared = tuple(Namespace.of(other) for other in read_namespaces)
        return Hindsight(Scope(scope.engine, own, shared, scope.health.of(own)))

    def for_user(self, user_id: str | int | UUID) -> Hindsight:
        """Return the view of one user: the own namespace with the user's id as a further part.

        What is shared with this memory is shared with that user. The id of the user whom the
        own namespace ends with already changes nothing.

        Raises:
            NamespaceError: If the id can't be part of a namespace.
        """
        (part,) = Namespace.of((user_id,)).parts
        own = self.namespace.parts
        parts = own if own[-1] == part else (*own, part)
        return self.scoped(parts, read_namespaces=self.read_namespaces)

    def note_failure(self, what: str, error: BaseException, run_id: str = "") -> None:
        """Count and log once what went wrong quietly beside a run, as an adapter's hook.

        `stats().failures` shows it under `what`.
        """
        self._scope.health.note(what, error, run_id)

    def store(self, content: str, **options: Unpack[StoreOptions]) -> Memory:
        """Write one memory by hand; durable when this returns.

        The same statement again strengthens the known memory, and a newer statement about
        the same thing replaces the older one; the memory that it ended in is returned.

        Raises:
            ConfigurationError: If the content is blank or an option can't be used.
            StoreError: If it could not be written.
        """
        return store_batch(self._scope, [(content, options)])[0]

    def store_many(self, items: Iterable[Mapping[str, Any]]) -> list[Memory]:
        """Write many memories, embedded in batches.

        Args:
            items: For each memory its `content` and any option of `store`.

        Returns:
            For each item the memory that it ended in.
        """
        return store_all(self._scope, items)

    def retrieve(self, query: str | None, **options: Unpack[RetrieveOptions]) -> list[Retrieved]:
        """Return ranked memories, each with its score broken down by factor.

        A blank query embeds nothing and gives the most recent memories.

        Raises:
            ConfigurationError: If an option can't be used.
            StoreError: If the store can't be asked.
        """
        return list(self._scope.run(plan_retrieve(self._scope, query, options)))

    def brief(self, query: str | None, **options: Unpack[BriefOptions]) -> Brief:
        """Return a block for a prompt, empty when nothing is relevant enough.

        Failures make it empty and `available` false; they are logged and counted, and
        raised only with `Settings(strict=True)`.
        """
        return self._scope.run(plan_brief(self._scope, query, options))

    def reflect(self, trajectory: Trajectory) -> Reflection:
        """Turn a finished run into lessons now; idempotent by its run id."""
        return reflect_now(self._scope, trajectory)

    def submit(self, trajectory: Trajectory) -> str:
        """Take in a finished run and return its id; durable at once, reflected on later."""
        return submit_run(self._scope, trajectory)

    def feedback(self, **options: Unpack[FeedbackOptions]) -> tuple[Memory, ...]:
        """Tell how a run, or a named memory, turned out; return the memories this changed.

        A verdict about a run credits what the run was given to read, and sets the outcome of
        its own experience unless a more trusted source has judged the run.

        Raises:
            ConfigurationError: If it is about nothing.
            MemoryNotFoundError: If there is no such memory.
        """
        return self._scope.write(plan_feedback(self._scope, options))

    def forget(
        self,
        memory_id: str = "",
        *,
        run_id: str = "",
        reason: str = "forgotten by hand",
        **filters: Unpack[FilterOptions],
    ) -> tuple[str, ...]:
        """Soft-delete by id, by run or by filter, in the own namespace only.

        Returns:
            The ids that are forgotten by this call; `()` if there was nothing to forget.

        Raises:
            ConfigurationError: If neither an id nor a run nor a filter is given.
        """
        plan = plan_forget(
            self._scope,
            memory_id=memory_id,
            run_id=run_id,
            filters=filters,
            reason=reason,
        )
        return self._scope.write(plan)

    def list(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[ListOptions]
    ) -> Page:
        """Page through memories; pass the page's `cursor` to get the next one."""
        return self._scope.run(plan_list(self._scope, limit, cursor, filters))

    def get(self, memory_id: str) -> Memory | None:
        """Return one memory, `None` if there is none or it is forgotten."""
        return self._scope.run(plan_get(self._scope, memory_id))

    def history(self, memory_id: str) -> tuple[Change, ...]:
        """Return the changes of a memory, oldest first.

        Raises:
            MemoryNotFoundError: If there is no such memory.
        """
        return self._scope.run(plan_history(self._scope, memory_id))

    def why(self, memory_id: str) -> Why:
        """Return the runs and steps that a memory comes from, and what became of it.

        Raises:
            MemoryNotFoundError: If there is no such memory.
        """
        return self._scope.run(plan_why(self._scope, memory_id))

    def search_log(self, text: str, *, limit: int = 20) -> tuple[LogHit, ...]:
        """Search the raw logs of this namespace's runs, newest first, on this host.

        Args:
            text: What to look for, as it stands in the log, in any case.
            limit: Most hits.
        """
        return search_runs(self._scope, text, limit)

    def retry(self, run_ids: Sequence[str] = ()) -> int:
        """Queue failed and shed runs of this namespace again, and return how many.

        Args:
            run_ids: Only these, `()` for all.
        """
        return retry_runs(self._scope, run_ids)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until no run is due for reflection; `False` if that took longer.

        Args:
            timeout: Most seconds to wait.
        """
        return self._scope.flush(timeout)

    def stats(self) -> Stats:
        """Return how memory is doing; works while the store is out of reach as well."""
        return self._scope.run(plan_stats(self._scope))

    def close(self) -> None:
        """Give reflections under way their time, then release everything.

        What is not done stays in the journal. Closing twice is harmless.
        """
        self._scope.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Hindsight(namespace={self.namespace.parts!r}, at={self._engine.location.path})"


def _location(path: str | Path | None, url: str | None, api_key: str | None) -> Location:
    """Return where memory lives: as given, else from the environment, else `./memory`."""
    env_path, env_url, env_key = Settings.location_from_env()
    if path is None and not url:
        path, url, api_key = env_path or None, env_url, api_key or env_key
    if path is not None and not isinstance(path, str | Path):
        raise ConfigurationError(f"path {path!r} is {type(path).__name__}; give a folder's path")
    if path is None and url == ":memory:":
        return Location(Path(tempfile.mkdtemp(prefix="hindsight-")), url, "", is_temporary=True)
    return Location(Path(path or "memory").expanduser(), url or "", api_key or "")
