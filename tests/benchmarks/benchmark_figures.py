"""What the tests of the benchmarks say about figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["UPDATES", "Figures", "Runner", "rows_of"]

Figures: TypeAlias = dict[str, Any]
Runner: TypeAlias = Callable[..., Figures]

UPDATES = {
    "page": (
        "The login page takes 300 ms to load.",
        "Since the rework the login page takes about 120 ms to load, as it should.",
        "How long does the login page take to load?",
    ),
    "export": (
        "Orders are exported every 6 hours.",
        "As I asked for it, orders are exported every 2 hours since June.",
        "How often are orders exported?",
    ),
}
"""The older statement, the newer one, and the question about both."""


def rows_of(figures: Figures) -> Mapping[str, Figures]:
    """Return the rows by system."""
    return {row["system"]: row for row in figures["rows"]}
