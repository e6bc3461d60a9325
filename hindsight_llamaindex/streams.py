"""Whether somebody read a streamed answer to its end.

LlamaIndex reads the model's stream in the background to the end, whatever the caller does, so
no span tells that the caller walked away. The response that the caller gets does.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from llama_index.core.chat_engine.types import StreamingAgentChatResponse

__all__ = ["WatchedStream", "watch"]

Watcher = Callable[[bool], None]
"""Told whether the reader got as far as the stream goes, be it to an error."""

_WALKED_AWAY = (GeneratorExit, asyncio.CancelledError, KeyboardInterrupt)


class WatchedStream(StreamingAgentChatResponse):
    """A streamed answer that tells when its reader is done."""

    @property
    def response_gen(self) -> Generator[str, None, None]:
        """The answer piece by piece."""
        return self._watched(super().response_gen)

    async def async_response_gen(self) -> AsyncGenerator[str, None]:
        """The answer piece by piece."""
        inner = super().async_response_gen()
        self._begin()
        try:
            try:
                async for piece in inner:
                    yield piece
            finally:
                await inner.aclose()
        except BaseException as error:
            self._end(is_whole=not isinstance(error, _WALKED_AWAY))
            raise
        self._end(is_whole=True)

    def _watched(self, inner: Generator[str, None, None]) -> Generator[str, None, None]:
        self._begin()
        try:
            yield from inner
        except BaseException as error:
            self._end(is_whole=not isinstance(error, _WALKED_AWAY))
            raise
        self._end(is_whole=True)

    def _begin(self) -> None:
        _watch_of(self).began()

    def _end(self, *, is_whole: bool) -> None:
        _watch_of(self).ended(is_whole)


class _Watch:
    """Passes on, once, that a reader is done."""

    def __init__(self, began: Callable[[], None], ended: Watcher) -> None:
        self.began = began
        self.ended = ended


def _watch_of(stream: Any) -> _Watch:
    found: _Watch = stream.__dict__["_hindsight_watch"]
    return found


def watch(
    stream: StreamingAgentChatResponse,
    *,
    began: Callable[[], None],
    ended: Watcher,
    gone: Callable[[], None],
) -> bool:
    """Watch a stream, and return whether that can be done.

    Args:
        stream: The response that the caller is about to get.
        began: Called when somebody begins to read.
        ended: Called when the reader is done, with whether it got as far as the stream goes.
        gone: Called when nobody holds the response any more, at the latest at exit.
    """
    if type(stream) is not StreamingAgentChatResponse:
        return False
    stream.__dict__["_hindsight_watch"] = _Watch(began, ended)
    # The response was made by the framework and has a reader waiting for it already, so it
    # becomes a stream that is watched where it is.
    stream.__class__ = WatchedStream
    weakref.finalize(stream, gone)
    return True
