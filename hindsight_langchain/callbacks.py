"""The callback handler: records every run that it is passed to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_core.runnables import Runnable
from langchain_core.tracers.context import register_configure_hook

from hindsight_core.hindsight import Hindsight
from hindsight_langchain.endings import Validator
from hindsight_langchain.episodes import Claim
from hindsight_langchain.events import RecordingEvents, Target
from hindsight_langchain.identity import Identity, NamespaceRule
from hindsight_langchain.recorder import recorder_of
from hindsight_langchain.watch import watch

__all__ = ["HindsightCallbackHandler", "recording", "with_hindsight"]

R = TypeVar("R", bound=Runnable[Any, Any])

_recording: ContextVar[HindsightCallbackHandler | None] = ContextVar(
    "hindsight_recording", default=None
)
register_configure_hook(_recording, inheritable=True)


class HindsightCallbackHandler(RecordingEvents):
    """Records one episode for each outermost run, and has it reflected on in the background.

    One object serves all users, threads and event loops; whose run it is comes from each
    call's own config. Attached twice, or beside a `HindsightMiddleware` of the same memory, a
    run still counts once.

    ```python
    handler = HindsightCallbackHandler(hindsight)
    agent.invoke(inputs, config={"callbacks": [handler], "metadata": {"user_id": "alice"}})
    ```

    Args:
        hindsight: The memory.
        namespace: Whose a run is: a namespace, a template such as `("acme", "{user_id}")` that
            is filled from the config's metadata, or a function of it. By default the memory's
            own namespace, with the user's part if the metadata has a `user_id`. A run that
            lacks what a template needs is not recorded; that is logged and counted.
        validator: Judges a finished run: returns an `Outcome`, its label, true or false, or
            `None`. It runs at the end of the run, so it should be quick.
        task_type: Task type of the runs, `""` to let reflection choose.
    """

    def __init__(
        self,
        hindsight: Hindsight,
        *,
        namespace: NamespaceRule = None,
        validator: Validator | None = None,
        task_type: str = "",
    ) -> None:
        self._claim = Claim(hindsight, Identity(namespace), validator, task_type)
        self._recorder = recorder_of(hindsight)
        # Passed to a constructor, a handler hears of the outermost run only; the watch hears
        # of what happens inside it.
        watch(hindsight)
        # LangChain swallows what a handler raises unless this is set.
        self.raise_error = hindsight.settings.strict

    @property
    def hindsight(self) -> Hindsight:
        """The memory that runs go to."""
        return self._claim.hindsight

    @property
    def open_runs(self) -> int:
        """How many callback runs are followed at the moment, over all handlers of the memory."""
        return self._recorder.open_runs

    @property
    def paused_runs(self) -> int:
        """How many episodes wait to be resumed."""
        return self._recorder.paused_runs

    def settle(self) -> None:
        """Submit what is open or paused as it is; closing the memory does so as well."""
        self._recorder.settle()

    def _targets(self) -> Iterable[Target]:
        return ((self._claim.hindsight, self._recorder, self._claim),)


@contextmanager
def recording(hindsight: Hindsight, **options: Any) -> Iterator[HindsightCallbackHandler]:
    """Record every run inside a `with` block, without passing a handler to each.

    Args:
        hindsight: The memory.
        options: As for `HindsightCallbackHandler`.
    """
    handler = HindsightCallbackHandler(hindsight, **options)
    token = _recording.set(handler)
    try:
        yield handler
    finally:
        _recording.reset(token)


def with_hindsight(runnable: R, hindsight: Hindsight, **options: Any) -> R:
    """Return an agent, graph or chain that records all its runs.

    It records only: what it is told comes from `HindsightMiddleware`, from the graph nodes or
    from `assign_brief`. `create_hindsight_agent` wires both.

    Args:
        runnable: What to record; it is not changed.
        hindsight: The memory.
        options: As for `HindsightCallbackHandler`.
    """
    bound: Any = runnable.with_config(callbacks=[HindsightCallbackHandler(hindsight, **options)])
    return bound  # type: ignore[no-any-return]  # the same kind of runnable
