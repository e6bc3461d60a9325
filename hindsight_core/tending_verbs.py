"""The verbs that tend memory after it was written, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from hindsight_core.lifecycle.consolidate import Consolidated
from hindsight_core.lifecycle.maintain import Maintained, Progress
from hindsight_core.lifecycle.review import ReviewItem
from hindsight_core.lifecycle.rollback import RolledBack
from hindsight_core.lifecycle.tended import Tended
from hindsight_core.lifecycle.versions import Version
from hindsight_core.models import Memory
from hindsight_core.verbs.consolidating import consolidate_now
from hindsight_core.verbs.maintaining import maintain_now
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.tending import (
    plan_release,
    plan_restore,
    plan_review,
    plan_rollback,
    plan_versions,
)

__all__ = ["TendingVerbs"]


class TendingVerbs:
    """Undo, restore, maintenance, consolidation and review; a part of `Hindsight`."""

    _scope: Scope

    def versions(self, memory_id: str) -> tuple[Version, ...]:
        """Return a memory's life as a line of versions, oldest first.

        Each with when it was made, why, by which run, and what it changed.

        Raises:
            MemoryNotFoundError: If there is no such memory.
        """
        return self._scope.run(plan_versions(self._scope, memory_id))

    async def aversions(self, memory_id: str) -> tuple[Version, ...]:
        """Async twin of `versions`."""
        return await self._scope.arun(plan_versions(self._scope, memory_id))

    def rollback(
        self,
        memory_id: str = "",
        *,
        run_id: str = "",
        to: int | datetime | None = None,
        dry_run: bool = False,
    ) -> RolledBack:
        """Take back one memory to an earlier version, or all that a run taught.

        With a run, what only it taught is forgotten, what it replaced holds again, and what it
        added to other memories is taken out, as far as later runs have not built on it; the
        report says what was left and why. Works on any host, from the store alone.

        Args:
            memory_id: The memory, or
            run_id: the run.
            to: With a memory, a version number or a moment; by default the version before.
            dry_run: Whether only to say what would be done.

        Raises:
            ConfigurationError: If it is about nothing, or there is no such version.
            MemoryNotFoundError: If there is no such memory in the own namespace.
        """
        plan = plan_rollback(
            self._scope, memory_id=memory_id, run_id=run_id, to=to, dry_run=dry_run
        )
        return self._scope.write(plan)

    async def arollback(
        self,
        memory_id: str = "",
        *,
        run_id: str = "",
        to: int | datetime | None = None,
        dry_run: bool = False,
    ) -> RolledBack:
        """Async twin of `rollback`."""
        plan = plan_rollback(
            self._scope, memory_id=memory_id, run_id=run_id, to=to, dry_run=dry_run
        )
        return await asyncio.to_thread(self._scope.write, plan)

    def restore(self, memory_id: str, *, reason: str = "restored by hand") -> Memory:
        """Bring an archived, forgotten or replaced memory back into everyday use.

        Raises:
            ConfigurationError: If it is active or in quarantine.
            MemoryNotFoundError: If there is no such memory in the own namespace.
        """
        return self._scope.write(plan_restore(self._scope, memory_id, reason))

    async def arestore(self, memory_id: str, *, reason: str = "restored by hand") -> Memory:
        """Async twin of `restore`."""
        return await asyncio.to_thread(
            self._scope.write, plan_restore(self._scope, memory_id, reason)
        )

    def release(self, memory_id: str, *, reason: str = "released by hand") -> Memory:
        """Let a memory out of quarantine, once a person has read it and found it harmless.

        Raises:
            ConfigurationError: If it is not in quarantine.
            MemoryNotFoundError: If there is no such memory in the own namespace.
        """
        return self._scope.write(plan_release(self._scope, memory_id, reason))

    async def arelease(self, memory_id: str, *, reason: str = "released by hand") -> Memory:
        """Async twin of `release`."""
        return await asyncio.to_thread(
            self._scope.write, plan_release(self._scope, memory_id, reason)
        )

    def maintain(
        self,
        *,
        dry_run: bool = False,
        everything: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_step: Callable[[Tended], None] | None = None,
    ) -> Maintained:
        """Let go of what has expired, grown cold, proved wrong or is there twice.

        By the profile's thresholds. Nothing is deleted: `restore` brings back what was
        archived or forgotten, `rollback` what was merged. Can be killed and run again.

        Args:
            dry_run: Whether only to say what would go and why.
            everything: Compare all memories for merging, not only what was written since the
                last maintenance on this host.
            on_progress: Told how far it is, after each page.
            on_step: Told each step as it is taken; the report itself keeps the first 1,000.

        Raises:
            StoreError: If the store can't be read or written; what was done by then stays.
        """
        return maintain_now(
            self._scope,
            dry_run=dry_run,
            everything=everything,
            on_progress=on_progress,
            on_step=on_step,
        )

    async def amaintain(
        self,
        *,
        dry_run: bool = False,
        everything: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        on_step: Callable[[Tended], None] | None = None,
    ) -> Maintained:
        """Async twin of `maintain`; the callbacks are called in another thread."""
        return await asyncio.to_thread(
            maintain_now,
            self._scope,
            dry_run=dry_run,
            everything=everything,
            on_progress=on_progress,
            on_step=on_step,
        )

    def consolidate(
        self, *, dry_run: bool = False, everything: bool = False, token_limit: int | None = None
    ) -> Consolidated:
        """Abstract episodes into rules, each with the runs that show it.

        At least two independent runs stand behind a rule, or a validator or a person. With a
        model, it is asked once for each group of one task type and domain, and only evidence
        that it was shown counts; without one, like lessons of different runs become a rule.

        Args:
            dry_run: Whether to write nothing.
            everything: Look at all groups, not only those with something new since the last
                time on this host.
            token_limit: Most tokens to send, by default five prompts; the rest is left for
                the next time.

        Raises:
            StoreError: If the store can't be read or written; what was written stays.
        """
        return consolidate_now(
            self._scope, dry_run=dry_run, everything=everything, token_limit=token_limit
        )

    async def aconsolidate(
        self, *, dry_run: bool = False, everything: bool = False, token_limit: int | None = None
    ) -> Consolidated:
        """Async twin of `consolidate`."""
        return await asyncio.to_thread(
            consolidate_now,
            self._scope,
            dry_run=dry_run,
            everything=everything,
            token_limit=token_limit,
        )

    def review(self, *, limit: int = 20, seed: int = 0) -> tuple[ReviewItem, ...]:
        """Return memories that a person should judge, each with the reason.

        Contradictions that nobody has settled, what is recalled often and never followed by a
        success, what is little trusted, what is never recalled, and a random sample. A verdict
        on one is `feedback`, `forget` or `restore`.

        Args:
            limit: Most memories.
            seed: Of the random sample.
        """
        return self._scope.run(plan_review(self._scope, limit, seed))

    async def areview(self, *, limit: int = 20, seed: int = 0) -> tuple[ReviewItem, ...]:
        """Async twin of `review`."""
        return await self._scope.arun(plan_review(self._scope, limit, seed))
