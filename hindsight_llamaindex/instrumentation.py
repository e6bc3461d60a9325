"""`instrument(h)`: every agent, workflow and chat run is recorded and learned from."""

from __future__ import annotations

import atexit
import inspect
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Self

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.span import BaseSpan
from llama_index_instrumentation.span_handlers import BaseSpanHandler

from hindsight_core.adapting import before_close, kept_with
from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_llamaindex.binding import bind
from hindsight_llamaindex.outcomes import Validator
from hindsight_llamaindex.recorder import Recorder

__all__ = ["HindsightSpanHandler", "Instrumentation", "instrument"]

_lock = threading.RLock()


@dataclass(slots=True)
class _Attached:
    """What is attached to one engine, kept with it."""

    instrumentation: Instrumentation | None = None


class HindsightSpanHandler(BaseSpanHandler[BaseSpan]):
    """Passes spans on to a recorder; made by `instrument`.

    The dispatcher swallows what a handler raises without a word, so failures are counted and
    logged here: `stats().failures["capture"]`.
    """

    # A slot, because pydantic looks for private attributes by way of `__getattr__`, which alone
    # takes a quarter of what a span costs.
    __slots__ = ("recorder",)

    recorder: ClassVar[Recorder]

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        object.__setattr__(self, "recorder", recorder)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "HindsightSpanHandler"

    def span_enter(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take in an opened span."""
        try:
            self.recorder.enter(id_, parent_id, instance, bound_args)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self.recorder.failed("capture", error)

    def span_exit(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """Take in a span that ended with a result."""
        try:
            self.recorder.leave(id_, instance, result)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self.recorder.failed("capture", error)

    def span_drop(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Take in a span that ended with an error."""
        try:
            failure = err or RuntimeError("the span was dropped")
            self.recorder.drop(id_, instance, bound_args, failure)
        except Exception as error:  # noqa: BLE001 - capture never breaks the agent
            self.recorder.failed("capture", error)

    def _unkept(self, *args: Any, **kwargs: Any) -> None:
        """Give the base class nothing to keep: the recorder does."""

    new_span = prepare_to_exit_span = prepare_to_drop_span = _unkept


class Instrumentation:
    """What `instrument` attached; also a context manager that detaches at its end."""

    def __init__(self, hindsight: Hindsight, validator: Validator | None) -> None:
        self._recorder = Recorder(hindsight, validator)
        self._handler = HindsightSpanHandler(self._recorder)
        self._is_attached = False

    @property
    def hindsight(self) -> Hindsight:
        """The memory that gets runs in which no memory of its own is used."""
        return self._recorder.hindsight

    @property
    def is_attached(self) -> bool:
        """Whether runs are recorded."""
        return self._is_attached

    @property
    def open_spans(self) -> int:
        """Spans of runs under way."""
        return self._recorder.open_spans

    def attach(self) -> None:
        """Record from now on; once more changes nothing."""
        with _lock:
            if not self._is_attached:
                self._is_attached = True
                self._recorder.attach()
                get_dispatcher().add_span_handler(self._handler)
                atexit.register(self.detach)

    def detach(self) -> None:
        """Record nothing from now on; runs under way are kept as far as they are."""
        with _lock:
            if not self._is_attached:
                return
            self._is_attached = False
            dispatcher = get_dispatcher()
            # A new list, because another thread may be going through the old one.
            dispatcher.span_handlers = [
                handler for handler in dispatcher.span_handlers if handler is not self._handler
            ]
            atexit.unregister(self.detach)
        self._recorder.detach()

    def drain(self) -> None:
        """Hand on runs whose streamed answer is complete and only waits for a reader."""
        self._recorder.drain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()


def instrument(hindsight: Hindsight, *, validator: Validator | None = None) -> Instrumentation:
    """Record every outermost agent, workflow and chat-engine run, and learn from it.

    A run goes to the memory that is used in it: that of a `HindsightMemory`, or of a
    `HindsightMemoryBlock`. Where there is none it goes to `hindsight`, or to the view of the
    user in `instrument_tags({"user_id": …})` around the run. Closing the memory detaches.

    ```python
    instrument(h)
    await agent.run("…", memory=HindsightMemory.from_defaults(hindsight=h))
    ```

    Args:
        hindsight: An open memory.
        validator: Tells how a run that ended with an answer turned out, by a check of your own:
            an `Outcome`, its label, true or false, `None` for no verdict. Without one the
            outcome is `unknown` until `feedback` says more.

    Returns:
        What was attached. The same memory is attached once, however often this is called.

    Raises:
        ConfigurationError: If this memory is attached already for another namespace.
    """
    bind(hindsight)
    with _lock:
        attached = kept_with(hindsight, _Attached, _Attached)
        found = attached.instrumentation
        if found is None or not found.is_attached:
            attached.instrumentation = found = Instrumentation(hindsight, validator)
            before_close(hindsight, found.detach)
            found.attach()
        elif found.hindsight.namespace != hindsight.namespace:
            raise ConfigurationError(
                f"this memory is instrumented for the namespace {found.hindsight.namespace}, so "
                f"it can't be for {hindsight.namespace} too; tell users apart with "
                'instrument_tags({"user_id": …}), or call detach() first'
            )
    return found
