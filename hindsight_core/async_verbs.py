"""The async twins of the facade's verbs.

What reads awaits the store itself; what writes, reflects or waits is moved to a thread, where
it holds the writer's lock. Either way the event loop goes on, and no object is bound to one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

from hindsight_core.models import Brief, Change, Memory, Page, Reflection, Retrieved
from hindsight_core.options import (
    BriefOptions,
    FeedbackOptions,
    FilterOptions,
    ListOptions,
    RetrieveOptions,
    StoreOptions,
)
from hindsight_core.runs.journal import LogHit
from hindsight_core.trajectory import Trajectory
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
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.writing import plan_feedback, plan_forget, store_all, store_batch

__all__ = ["AsyncVerbs"]


class AsyncVerbs:
    """Every verb with the prefix `a`; see the verb without it in `Hindsight`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    async def astore(self, content: str, **options: Unpack[StoreOptions]) -> Memory:
        """Async twin of `store`."""
        return (await asyncio.to_thread(store_batch, self._scope, [(content, options)]))[0]

    async def astore_many(self, items: Iterable[Mapping[str, Any]]) -> list[Memory]:
        """Async twin of `store_many`."""
        return await asyncio.to_thread(store_all, self._scope, items)

    async def aretrieve(
        self, query: str | None, **options: Unpack[RetrieveOptions]
    ) -> list[Retrieved]:
        """Async twin of `retrieve`."""
        return list(await self._scope.arun(plan_retrieve(self._scope, query, options)))

    async def abrief(self, query: str | None, **options: Unpack[BriefOptions]) -> Brief:
        """Async twin of `brief`."""
        return await self._scope.arun(plan_brief(self._scope, query, options))

    async def areflect(self, trajectory: Trajectory) -> Reflection:
        """Async twin of `reflect`."""
        return await asyncio.to_thread(reflect_now, self._scope, trajectory)

    async def asubmit(self, trajectory: Trajectory) -> str:
        """Async twin of `submit`."""
        return await asyncio.to_thread(submit_run, self._scope, trajectory)

    async def afeedback(self, **options: Unpack[FeedbackOptions]) -> tuple[Memory, ...]:
        """Async twin of `feedback`."""
        return await asyncio.to_thread(self._scope.write, plan_feedback(self._scope, options))

    async def aforget(
        self,
        memory_id: str = "",
        *,
        run_id: str = "",
        reason: str = "forgotten by hand",
        **filters: Unpack[FilterOptions],
    ) -> tuple[str, ...]:
        """Async twin of `forget`."""
        plan = plan_forget(
            self._scope, memory_id=memory_id, run_id=run_id, filters=filters, reason=reason
        )
        return await asyncio.to_thread(self._scope.write, plan)

    async def alist(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[ListOptions]
    ) -> Page:
        """Async twin of `list`."""
        return await self._scope.arun(plan_list(self._scope, limit, cursor, filters))

    async def aget(self, memory_id: str) -> Memory | None:
        """Async twin of `get`."""
        return await self._scope.arun(plan_get(self._scope, memory_id))

    async def ahistory(self, memory_id: str) -> tuple[Change, ...]:
        """Async twin of `history`."""
        return await self._scope.arun(plan_history(self._scope, memory_id))

    async def awhy(self, memory_id: str) -> Why:
        """Async twin of `why`."""
        return await asyncio.to_thread(self._scope.run, plan_why(self._scope, memory_id))

    async def asearch_log(self, text: str, *, limit: int = 20) -> tuple[LogHit, ...]:
        """Async twin of `search_log`."""
        return await asyncio.to_thread(search_runs, self._scope, text, limit)

    async def aretry(self, run_ids: Sequence[str] = ()) -> int:
        """Async twin of `retry`."""
        return await asyncio.to_thread(retry_runs, self._scope, run_ids)

    async def aflush(self, timeout: float = 30.0) -> bool:  # noqa: ASYNC109 - twin of `flush`
        """Async twin of `flush`."""
        return await asyncio.to_thread(self._scope.flush, timeout)

    async def astats(self) -> Stats:
        """Async twin of `stats`."""
        return await asyncio.to_thread(self._scope.run, plan_stats(self._scope))

    async def aclose(self) -> None:
        """Async twin of `close`."""
        await asyncio.to_thread(self._scope.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
