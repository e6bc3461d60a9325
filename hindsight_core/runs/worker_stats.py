"""What a worker has done so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, Unpack

__all__ = ["Counts", "WorkerStats"]


class Counts(TypedDict, total=False):
    """What happened; what is left out is 0, and a worker to which something happens runs."""

    processed: int
    retried: int
    failed: int
    paused_until: datetime
    running: bool


@dataclass(frozen=True, slots=True)
class WorkerStats:
    """What a worker did since it was made.

    Attributes:
        processed: Runs that ended without an error.
        retried: Failures after which a run was put back.
        failed: Failures after which a run was failed.
        paused_until: Until when no run is taken after a failure that may pass.
        running: Whether a run is being worked on.
    """

    processed: int = 0
    retried: int = 0
    failed: int = 0
    paused_until: datetime | None = None
    running: bool = False

    def counted(self, **counts: Unpack[Counts]) -> WorkerStats:
        """Return these with more counted; a run that ended without an error ends a pause."""
        processed = counts.get("processed", 0)
        paused_until = counts.get("paused_until") or self.paused_until
        return WorkerStats(
            processed=self.processed + processed,
            retried=self.retried + counts.get("retried", 0),
            failed=self.failed + counts.get("failed", 0),
            paused_until=None if processed else paused_until,
            running=counts.get("running", True),
        )
