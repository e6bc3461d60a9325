"""Progress bars on standard error, so that standard output holds the tables alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["track"]

T = TypeVar("T")


def track(items: Sequence[T] | Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield `items` while a bar shows how far they are.

    Args:
        items: What is worked through.
        what: What is being done, in words.
        total: How many there are, where they have no length.
    """
    count = len(items) if total is None and isinstance(items, Sequence) else total
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(what, total=count)
        for item in items:
            yield item
            progress.advance(task)
