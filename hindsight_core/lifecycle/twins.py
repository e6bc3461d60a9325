"""Which memories have a near twin at all, told from short sketches of their vectors.

To ask the store for the neighbors of every memory takes time in proportion to the square of
their number, and nearly all have no twin. A sketch is what a vector says in the few directions
in which vectors differ most, and the length of the rest. For unit vectors

    a · b  ≤  Pa · Pb + |a − Pa| · |b − Pb|

(Cauchy–Schwarz on what the projection P leaves out), and the right side is one scalar product
of two sketches. Whatever stays below the least cosine by that bound is no twin; only the rest
needs to be looked at. So nothing is missed, and a memory takes some 140 bytes while it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from hindsight_core.store.base import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

__all__ = ["Sketches"]

DIRECTIONS = 64
"""Directions of a sketch, besides the length of the rest."""
SAMPLE = 2_048
"""Vectors from which the directions are chosen."""
ROUNDING = 0.002
"""What a bound of two sketches in half precision may lack."""
ROWS, COLUMNS = 1_024, 2_048
"""Sketches that are compared at once: a tile takes 8 MB."""


class Sketches:
    """The vectors of a namespace, each as a sketch.

    Args:
        least: Least cosine of twins.
    """

    def __init__(self, least: float) -> None:
        self._least = least - ROUNDING
        self._pending: list[Floats] = []
        self._directions: Floats | None = None
        self._found: frozenset[int] = frozenset()
        self._names: list[NDArray[np.int64]] = []
        self._asking: list[NDArray[np.bool_]] = []
        self._sketches: list[NDArray[np.float16]] = []

    def __len__(self) -> int:
        """Return how many were added."""
        return sum(map(len, self._names))

    def add(self, ids: Sequence[str], vectors: Sequence[Vector], asking: Sequence[bool]) -> None:
        """Take in some memories.

        Args:
            ids: Their ids.
            vectors: Their unit vectors, all of one width.
            asking: For each one whether a twin of it is looked for; the others only answer.
        """
        if not ids:
            return
        import numpy as np  # here, so that importing the facade stays light

        self._names.append(np.array([hash(id_) for id_ in ids], dtype=np.int64))
        self._asking.append(np.array(asking, dtype=np.bool_))
        self._pending.append(_unit(np.array(vectors, dtype=np.float32)))
        if self._directions is not None or sum(map(len, self._pending)) >= SAMPLE:
            self._sketch()

    def compare(self) -> Iterator[int]:
        """Compare all with all, a tile at a time; yield how many rows are done.

        `may_have_twin` answers when it has come to its end.
        """
        import numpy as np

        self._sketch()
        empty = np.zeros((0, 1), np.float16)
        sketches = np.concatenate(self._sketches) if self._sketches else empty
        asking = np.concatenate(self._asking) if self._asking else np.zeros(0, np.bool_)
        found = np.zeros(len(sketches), np.bool_)
        for start in range(0, len(sketches), ROWS):
            rows = slice(start, start + ROWS)
            left = sketches[rows].astype(np.float32)
            # Each pair once: those before this block have been compared with it already.
            for first in range(start, len(sketches), COLUMNS):
                columns = slice(first, first + COLUMNS)
                if not (asking[rows].any() or asking[columns].any()):
                    continue
                bounds = left @ sketches[columns].astype(np.float32).T
                if first == start:
                    np.fill_diagonal(bounds, -1.0)
                found[rows] |= bounds.max(axis=1) >= self._least
                found[columns] |= bounds.max(axis=0) >= self._least
            yield min(start + ROWS, len(sketches))
        names = np.concatenate(self._names) if self._names else np.zeros(0, np.int64)
        self._found = frozenset(names[found & asking].tolist())

    def may_have_twin(self, memory_id: str) -> bool:
        """Whether a memory that asked may have a twin; one that has is never denied."""
        return hash(memory_id) in self._found

    def _sketch(self) -> None:
        """Turn the vectors that were kept as they are into sketches."""
        if not self._pending:
            return
        import numpy as np

        vectors = np.concatenate(self._pending)
        self._pending = []
        if self._directions is None:
            self._directions = _main_directions(vectors)
        said = vectors @ self._directions
        rest = np.sqrt(np.maximum(0.0, 1.0 - np.square(said).sum(axis=1, keepdims=True)))
        self._sketches.append(np.concatenate([said, rest], axis=1).astype(np.float16))


def _unit(vectors: Floats) -> Floats:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = np.divide(vectors, np.maximum(lengths, 1e-12), dtype=np.float32)
    return unit


def _main_directions(vectors: Floats) -> Floats:
    """Return orthonormal directions in which `vectors` are about as long as they can be.

    Two rounds of subspace iteration: any orthonormal directions give a bound that holds, and
    good ones a bound that tells most memories from twins.
    """
    import numpy as np

    width = vectors.shape[1]
    begin = np.random.default_rng(0).standard_normal((width, min(DIRECTIONS, width)))
    directions: Floats = np.linalg.qr(begin.astype(np.float32))[0].astype(np.float32)
    for _ in range(2):
        directions = np.linalg.qr(vectors.T @ (vectors @ directions))[0].astype(np.float32)
    return directions
