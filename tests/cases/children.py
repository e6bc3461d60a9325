"""Scripts for other processes, and how to talk with them; the benchmark `soak` has the same."""

from __future__ import annotations

from benchmarks.soak.children import (
    WORKS_FOR_EVER,
    Child,
    Start,
    killed_somewhere,
    line_of,
    start_child,
    tell,
)

__all__ = [
    "WORKS_FOR_EVER",
    "Child",
    "Start",
    "killed_somewhere",
    "line_of",
    "start_child",
    "tell",
]
