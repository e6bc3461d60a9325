"""A streamed answer: read to its end, half read, never read, broken off by an error."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.chat_engine.types import StreamingAgentChatResponse
from llamaindex_fakes import ScriptedLLM

from hindsight_core.hindsight import Hindsight
from hindsight_core.runs.journal import JournaledRun
from hindsight_llamaindex import HindsightMemory, Instrumentation, instrument
from hindsight_llamaindex.streams import WatchedStream

Runs = Callable[[], list[JournaledRun]]
STORY = "Once upon a time there was a memory that nobody had asked for."


def engine_of(h: Hindsight, llm: ScriptedLLM) -> tuple[SimpleChatEngine, HindsightMemory]:
    memory = HindsightMemory.from_defaults(hindsight=h)
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory), memory


def outcome_of(runs: Runs) -> tuple[str, str, str]:
    (run,) = [journaled.trajectory for journaled in runs()]
    return run.outcome.label, run.task, run.steps[-1].text


def test_a_stream_that_is_read_to_its_end_is_an_answer(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    engine, memory = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    assert "".join(engine.stream_chat("Tell me a story").response_gen) == STORY
    assert outcome_of(runs) == ("unknown", "Tell me a story", STORY)
    assert len(memory.get_all()) == 2
    assert instrumented.open_spans == 0


def test_a_stream_that_is_half_read_is_abandoned_and_kept(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    read = threading.Event()
    llm = ScriptedLLM(replies=[STORY], pieces=5)
    llm.between_pieces(lambda: read.wait(10) or None)
    engine, memory = engine_of(h, llm)
    response = engine.stream_chat("Tell me a story")
    stream = response.response_gen
    assert next(stream)
    read.set()
    stream.close()
    assert outcome_of(runs) == ("abandoned", "Tell me a story", STORY)
    assert [m.content for m in memory.get_all()] == ["Tell me a story", STORY]
    assert instrumented.open_spans == 0
    assert h.flush(30)
    assert not any(m.outcome == "failure" for m in h.list().memories)


def test_a_reader_that_breaks_out_of_its_loop_walks_away(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    for piece in engine.stream_chat("Tell me a story").response_gen:
        assert piece
        break
    gc.collect()
    assert outcome_of(runs)[0] == "abandoned"


async def test_an_async_stream_that_is_read_to_its_end_is_an_answer(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    response = await engine.astream_chat("Tell me a story")
    assert "".join([piece async for piece in response.async_response_gen()]) == STORY
    assert outcome_of(runs) == ("unknown", "Tell me a story", STORY)


async def test_an_async_stream_that_is_half_read_is_abandoned_and_kept(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    engine, memory = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    response = await engine.astream_chat("Tell me a story")
    stream: Any = response.async_response_gen()
    assert await anext(stream)
    await stream.aclose()
    assert outcome_of(runs) == ("abandoned", "Tell me a story", STORY)
    assert len(memory.get_all()) == 2


async def test_a_reader_that_is_cancelled_walks_away(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    leave = asyncio.Event()
    begun = asyncio.Event()
    engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    response = await engine.astream_chat("Tell me a story")

    async def read() -> None:
        async for _ in response.async_response_gen():
            begun.set()
            await leave.wait()

    task = asyncio.ensure_future(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_asyncgens()
    instrumented.drain()
    assert outcome_of(runs)[0] == "abandoned"


def test_a_stream_that_nobody_reads_is_kept_when_it_is_let_go(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    response = engine.stream_chat("Tell me a story")
    thread = response.write_response_to_history_thread
    assert thread is not None
    thread.join()
    assert runs() == []
    del response
    gc.collect()
    assert outcome_of(runs) == ("unknown", "Tell me a story", STORY)


def test_a_stream_that_somebody_holds_is_kept_when_recording_stops(
    h: Hindsight, runs: Runs
) -> None:
    with instrument(h) as attached:
        engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
        response = engine.stream_chat("Tell me a story")
        thread = response.write_response_to_history_thread
        assert thread is not None
        thread.join()
        attached.drain()
        assert outcome_of(runs) == ("unknown", "Tell me a story", STORY)
    assert "".join(response.response_gen) == STORY
    assert len(runs()) == 1


async def test_a_stream_that_breaks_is_a_failure_and_its_error_reaches_the_reader(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    def burst() -> None:
        raise RuntimeError("connection lost")

    llm = ScriptedLLM(replies=[STORY], pieces=5)
    llm.between_pieces(burst)
    engine, _ = engine_of(h, llm)
    response = await engine.astream_chat("Tell me a story")
    with pytest.raises(RuntimeError, match="connection lost"):
        async for _ in response.async_response_gen():
            pass
    assert outcome_of(runs) == ("failure", "Tell me a story", "RuntimeError: connection lost")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_stream_that_breaks_in_its_thread_is_a_failure(
    h: Hindsight, instrumented: Instrumentation, runs: Runs
) -> None:
    def burst() -> None:
        raise RuntimeError("connection lost")

    llm = ScriptedLLM(replies=[STORY], pieces=5)
    llm.between_pieces(burst)
    engine, _ = engine_of(h, llm)
    with pytest.raises(RuntimeError, match="connection lost"):
        list(engine.stream_chat("Tell me a story").response_gen)
    assert outcome_of(runs)[0] == "failure"


def test_a_watched_stream_is_a_stream_like_any_other(
    h: Hindsight, instrumented: Instrumentation
) -> None:
    engine, _ = engine_of(h, ScriptedLLM(replies=[STORY], pieces=5))
    response = engine.stream_chat("Tell me a story")
    assert isinstance(response, WatchedStream)
    assert isinstance(response, StreamingAgentChatResponse)
    assert "".join(response.response_gen) == STORY
    assert str(response) == STORY
    assert response.response == STORY
