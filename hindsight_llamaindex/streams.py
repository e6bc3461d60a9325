"""Whether somebody read a streamed answer to its end.

LlamaIndex reads the model's stream in the background to the end, whatever the caller does, so
no span tells that the caller walked away. The response that the caller gets does.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from typing import Any

from llama_index.core.chat_engine.types import StreamingAgentChatResponse

__all__ = ["WatchedStream", "watch"]

_WALKED_AWAY = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt)


@dataclass(slots=True)
class _Watch:
    """Passes on that a reader began and, once, that it is done."""

    began: Callable[[], None]
    ended: Callable[[bool], None]
    is_over: bool = False

    def end(self, *, is_whole: bool) -> None:
        if not self.is_over:
            self.is_over = True
            self.ended(is_whole)

    def end_by(self, error: BaseException) -> None:
        self.end(is_whole=not isinstance(error, _WALKED_AWAY))


class WatchedStream(StreamingAgentChatResponse):
    """A streamed answer that tells when its reader is done."""

    @property
    def response_gen(self) -> Generator[str, None, None]:
        """The answer piece by piece."""
        return _watched(super().response_gen, _watch_of(self))

    def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The answer piece by piece."""
        return _WatchedPieces(super().async_response_gen(), _watch_of(self))


def _watched(inner: Generator[str, None, None], watch: _Watch) -> Generator[str, None, None]:
    watch.began()
    try:
        yield from inner
    except BaseException as error:
        watch.end_by(error)
        raise
    watch.end(is_whole=True)


class _WatchedPieces(AsyncGenerator[str, None]):
    """Passes everything on to the generator inside.

    It is none itself: an event loop that closes what is left at its end would close both, and
    the one inside twice.
    """

    def __init__(self, inner: AsyncGenerator[str, None], watch: _Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._is_begun = False

    async def asend(self, value: None) -> str:
        if not self._is_begun:
            self._is_begun = True
            self._watch.began()
        try:
            return await self._inner.asend(value)
        except StopAsyncIteration:
            self._watch.end(is_whole=True)
            raise
        except BaseException as error:
            self._watch.end_by(error)
            raise

    async def athrow(self, *error: Any) -> str:
        try:
            return await self._inner.athrow(*error)
        except BaseException as raised:
            self._watch.end_by(raised)
            raise

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            if self._is_begun:
                self._watch.end(is_whole=False)

    def __del__(self) -> None:
        if self._is_begun:
            self._watch.end(is_whole=False)


def _watch_of(stream: Any) -> _Watch:
    found: _Watch = stream.__dict__["_hindsight_watch"]
    return found


def watch(
    stream: StreamingAgentChatResponse,
    *,
    began: Callable[[], None],
    ended: Callable[[bool], None],
    gone: Callable[[], None],
) -> bool:
    """Watch a stream, and return whether that can be done.

    Args:
        stream: The response that the caller is about to get.
        began: Called when somebody begins to read.
        ended: Called when the reader is done, with whether it got as far as the stream goes,
            be it to an error.
        gone: Called when nobody holds the response any more.
    """
    if type(stream) is not StreamingAgentChatResponse:
        return False
    stream.__dict__["_hindsight_watch"] = _Watch(began, ended)
    # The response was made by the framework and has a reader waiting for it already, so it
    # becomes a stream that is watched where it is.
    stream.__class__ = WatchedStream
    weakref.finalize(stream, gone).atexit = False
    return True
