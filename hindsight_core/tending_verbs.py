"""The verbs that tend memory after it was written, sync and async."""

from __future__ import annotations

import asyncio
from datetime import datetime

from hindsight_core.lifecycle.rollback import RolledBack
from hindsight_core.models import Memory
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.tending import plan_restore, plan_rollback

__all__ = ["TendingVerbs"]


class TendingVerbs:
    """Undo, restore, maintenance, consolidation and review; a part of `Hindsight`."""

    _scope: Scope

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
