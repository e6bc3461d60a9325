"""One body of logic for sync and async: plans, and the two drivers that run them.

A plan is a generator that yields effects and is sent their results. What a plan decides is
written once; `run` performs each effect in place, `arun` awaits store calls and moves other
blocking work to a thread, so that it never holds up the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from hindsight_core.store.base import MemoryStore, StoreOp

__all__ = ["Blocking", "Effect", "Plan", "arun", "ask", "blocking", "run"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Blocking(Generic[R]):
    """A call that may take a while: a model, an embedder, the journal."""

    call: Callable[[], R]


Effect: TypeAlias = StoreOp[Any] | Blocking[Any]
Plan: TypeAlias = Generator[Effect, Any, R]


def ask(op: StoreOp[R]) -> Plan[R]:
    """Ask the store for `op` and return its typed result."""
    result: R = yield op
    return result


def blocking(call: Callable[[], R]) -> Plan[R]:
    """Perform `call` off the event loop and return its typed result."""
    result: R = yield Blocking(call)
    return result


def run(plan: Plan[R], store: MemoryStore) -> R:
    """Run `plan` in the calling thread."""
    effect = _first(plan)
    while not isinstance(effect, _Done):
        try:
            result = effect.call() if isinstance(effect, Blocking) else store.execute(effect)
        except BaseException as error:  # noqa: BLE001 - handed to the plan, which may raise it
            effect = _advance(plan, error=error)
        else:
            effect = _advance(plan, result)
    final: R = effect.value
    return final


async def arun(plan: Plan[R], store: MemoryStore) -> R:
    """Run `plan` without blocking the event loop."""
    effect = _first(plan)
    while not isinstance(effect, _Done):
        try:
            if isinstance(effect, Blocking):
                result = await asyncio.to_thread(effect.call)
            else:
                result = await store.aexecute(effect)
        except BaseException as error:  # noqa: BLE001 - handed to the plan, which may raise it
            effect = _advance(plan, error=error)
        else:
            effect = _advance(plan, result)
    final: R = effect.value
    return final


@dataclass(frozen=True, slots=True)
class _Done:
    value: Any


def _first(plan: Plan[Any]) -> Effect | _Done:
    return _advance(plan, None)


def _advance(
    plan: Plan[Any], result: Any = None, error: BaseException | None = None
) -> Effect | _Done:
    try:
        return plan.send(result) if error is None else plan.throw(error)
    except StopIteration as stop:
        return _Done(stop.value)
