"""`hindsight forethought`: what past runs warn of before the next one begins."""

from __future__ import annotations

import argparse

from hindsight_core.cli.output import Output, plain
from hindsight_core.cli.session import Target, open_memory

__all__ = ["forethought"]


def forethought(options: argparse.Namespace, out: Output) -> int:
    """Print what to mind before a task."""
    with open_memory(Target.of(options)) as hindsight:
        found = hindsight.forethought(
            options.task, run_id=options.run_id or "", task_type=options.task_type
        )
    out.show(
        found,
        lambda: [plain(f"{item.text} ({item.confidence:.2f})") for item in found.items],
    )
    if not found.available:
        out.note("memory is not available")
    elif not found:
        out.note("nothing to mind")
    return 0
