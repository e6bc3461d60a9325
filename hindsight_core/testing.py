"""Fakes for tests of code that uses Hindsight: a clock, a model, an embedder, a failing store.

```python
clock = FrozenClock()
model = ScriptedModel(['{"lessons": []}'])
```
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hindsight_core.errors import StoreUnavailableError
from hindsight_core.reflection.base import ModelReply, Prompt
from hindsight_core.store.base import MemoryStore, StoreOp, StoreStats, Vector
from hindsight_core.trajectory import OutcomeLabel, Trajectory

__all__ = [
    "FaultyStore",
    "FrozenClock",
    "HashingEmbedder",
    "ScriptedModel",
    "corrected_run",
    "csv_run",
]

R = TypeVar("R")
EPOCH = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FrozenClock:
    """A clock that stands still until it is moved; call it to read it."""

    def __init__(self, now: datetime = EPOCH) -> None:
        self._now = now

    def __call__(self) -> datetime:
        """Return the present moment."""
        return self._now

    def advance(self, **duration: float) -> datetime:
        """Move by `timedelta(**duration)` and return the new moment."""
        self._now += timedelta(**duration)
        return self._now

    def set(self, now: datetime) -> None:
        """Move to `now`."""
        self._now = now


class ScriptedModel:
    """A reflection model that gives prepared answers in order, the last one for ever.

    An answer may be text, a parsed object, a `ModelReply`, an exception to raise, or a
    function of the prompt that returns one of these.

    Attributes:
        prompts: Every prompt it was asked, in order.
    """

    def __init__(self, replies: Sequence[Any]) -> None:
        self._replies = list(replies)
        self._lock = threading.Lock()
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> ModelReply:
        """Give the next answer."""
        with self._lock:
            position = min(len(self.prompts), len(self._replies) - 1)
            self.prompts.append(prompt)
        reply = self._replies[position]
        if callable(reply):
            reply = reply(prompt)
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, ModelReply) else ModelReply(content=reply)


class HashingEmbedder:
    """A deterministic embedder without a model: texts that share words are similar.

    Attributes:
        calls: Every batch of texts it embedded, queries included.
    """

    def __init__(self, name: str = "hashing", dimension: int = 64) -> None:
        self._name = name
        self._dimension = dimension
        self.calls: list[tuple[str, ...]] = []

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts."""
        self.calls.append(tuple(texts))
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        """Embed a query."""
        self.calls.append((text,))
        return self._embed(text)

    def _embed(self, text: str) -> Vector:
        sums = [0.0] * self._dimension
        for word in text.lower().split() or [""]:
            digest = hashlib.sha256(f"{self._name}:{word}".encode()).digest()
            for index in range(self._dimension):
                sums[index] += digest[index % 32] / 127.5 - 1 + (index // 32) * 0.001
        norm = math.sqrt(sum(x * x for x in sums)) or 1.0
        return tuple(x / norm for x in sums)


class FaultyStore(MemoryStore):
    """A store that fails when told to and otherwise passes everything on.

    Attributes:
        fails: Asked before each operation; a truthy answer raises. It gets the operation and
            how many came before it.
    """

    def __init__(
        self,
        inner: MemoryStore,
        fails: Callable[[StoreOp[Any], int], bool | BaseException],
    ) -> None:
        self._inner = inner
        self._count = 0
        self._lock = threading.Lock()
        self.fails = fails

    def execute(self, op: StoreOp[R]) -> R:
        """Fail, or execute `op`."""
        self._maybe_fail(op)
        return self._inner.execute(op)

    async def aexecute(self, op: StoreOp[R]) -> R:
        """Fail, or execute `op`."""
        self._maybe_fail(op)
        return await self._inner.aexecute(op)

    def stats(self) -> StoreStats:
        """Describe the inner store."""
        return self._inner.stats()

    def close(self) -> None:
        """Close the inner store."""
        self._inner.close()

    def _maybe_fail(self, op: StoreOp[Any]) -> None:
        with self._lock:
            count = self._count
            self._count += 1
        verdict = self.fails(op, count)
        if isinstance(verdict, BaseException):
            raise verdict
        if verdict:
            raise StoreUnavailableError(f"told to fail at operation {count}")


def csv_run(
    run_id: str = "run_csv", outcome: OutcomeLabel = "success", task: str = ""
) -> Trajectory:
    """Return a run in which a tool fails, and works with another argument."""
    return Trajectory.from_messages(
        [
            {"role": "user", "content": task or "Load sales.csv and tell me the total"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {
                            "name": "read_csv",
                            "arguments": '{"path": "sales.csv", "encoding": "utf-8"}',
                        },
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "name": "read_csv",
                "content": "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xd4",
                "status": "error",
            },
            {
                "role": "assistant",
                "content": "It is not UTF-8; trying GB18030.",
                "tool_calls": [
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {
                            "name": "read_csv",
                            "arguments": '{"path": "sales.csv", "encoding": "gb18030"}',
                        },
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "name": "read_csv", "content": "412 rows"},
            {"role": "assistant", "content": "The total is 18,250."},
        ],
        run_id=run_id,
        outcome=outcome,
        outcome_source="validator",
    )


def corrected_run(run_id: str = "run_corrected") -> Trajectory:
    """Return a run in which the user corrects the agent and states a preference."""
    return Trajectory.from_messages(
        [
            {"role": "user", "content": "Convert the recipe to my units"},
            {"role": "assistant", "content": "That is 2 cups of flour."},
            {
                "role": "user",
                "content": "No, that's wrong. I always use metric units, please remember that.",
            },
            {"role": "assistant", "content": "That is 240 g of flour."},
        ],
        run_id=run_id,
    )
