"""Checks of operations that every store makes before it asks its engine."""

from __future__ import annotations

import math
from collections.abc import Iterable
from uuid import UUID

from hindsight_core.errors import ConfigurationError, StoreError
from hindsight_core.store.base import Lane, Point, SparseLane, SparseVector, Vector

__all__ = ["can_match", "check_dense", "check_page", "check_points", "check_sparse"]

_UINT32 = 2**32


def check_points(points: Iterable[Point], dimension: int) -> None:
    """Refuse points whose vectors an engine would not take, or take and never find again.

    Raises:
        StoreError: Naming the memory and what is wrong; nothing was stored.
    """
    for point in points:
        subject = f"memory {point.memory.id!r}"
        check_dense(point.dense, dimension, subject)
        check_sparse(point.sparse, subject)


def check_dense(vector: Vector, dimension: int, subject: str) -> None:
    """Refuse a dense vector of another width, or one that is not finite.

    Raises:
        StoreError: Naming `subject` and what is wrong.
    """
    if len(vector) != dimension:
        raise StoreError(
            f"the vector of {subject} has {len(vector)} dimensions, the store has {dimension}; "
            "use the embedding model that the store was opened with"
        )
    if not math.isfinite(sum(vector)):  # as soon as one is not, the sum is not
        raise StoreError(f"the vector of {subject} is not finite; check the embedding model")


def check_sparse(vector: SparseVector, subject: str) -> None:
    """Refuse a sparse vector that is malformed.

    Raises:
        StoreError: Naming `subject` and what is wrong.
    """
    indices, values = vector.indices, vector.values
    if len(indices) != len(values) or len(set(indices)) != len(indices):
        raise StoreError(
            f"the sparse vector of {subject} has {len(indices)} indices, "
            f"{len(set(indices))} of them different, and {len(values)} values; "
            "it needs one value for each of its indices"
        )
    if not all(0 <= i < _UINT32 for i in indices) or not all(map(math.isfinite, values)):
        raise StoreError(
            f"the sparse vector of {subject} has an index outside 32 bits or a value that is "
            "not finite; check the embedding model"
        )


def can_match(lane: Lane) -> bool:
    """Return whether a lane can have hits at all; blank text has no words to search for."""
    return lane.limit > 0 and not (isinstance(lane, SparseLane) and not lane.vector.indices)


def check_page(limit: int, cursor: str | None) -> None:
    """Refuse a page size below 1 and a cursor that no page has given.

    Raises:
        ConfigurationError: Naming the value.
    """
    if limit < 1:
        raise ConfigurationError(f"a page of {limit!r} memories can't be read; use 1 or more")
    if cursor is None:
        return
    try:
        UUID(cursor)
    except (ValueError, AttributeError, TypeError):
        raise ConfigurationError(
            f"cursor {cursor!r} is not one that a page has given; start without one"
        ) from None
