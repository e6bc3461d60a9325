"""LangChain's callback events, read and passed on to recorders.

The methods are plain and run inline, so that one object serves threads and event loops, in the
order in which things happen. Each does a little bookkeeping; only the end of an outermost run
writes, and what it writes is one row of the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from hindsight_core.adapting import RECALL_TAG, note_quietly
from hindsight_core.hindsight import Hindsight
from hindsight_core.reflection.model_clients import INTERNAL_TAG
from hindsight_langchain.endings import describe_error, is_pause
from hindsight_langchain.episodes import Claim, Episode, RunInfo
from hindsight_langchain.messages import as_messages, current_turn, message_dict, message_dicts
from hindsight_langchain.recorder import Recorder

__all__ = ["RecordingEvents", "Target"]

Target = tuple[Hindsight, Recorder, Claim | None]
"""Where events go: a memory, its recorder, and how outermost runs are to be recorded."""

F = TypeVar("F", bound=Callable[..., None])
GENERIC_NAMES = frozenset({"", "LangGraph", "RunnableSequence", "RunnableLambda", "AgentExecutor"})
MAX_DOCUMENTS = 8
"""Documents of one retrieval that are noted."""


class RecordingEvents(BaseCallbackHandler):
    """Reads events and tells recorders what happened."""

    run_inline = True

    def _targets(self) -> Iterable[Target]:
        """Return where events go."""
        return ()

    def _start(
        self,
        kind: str,
        serialized: Mapping[str, Any] | None,
        inputs: Any,
        run_id: UUID,
        parent_run_id: UUID | None,
        given: Mapping[str, Any],
    ) -> None:
        for hindsight, recorder, claim in self._targets():
            if claim is None and recorder.find(run_id) is not None:
                continue  # a handler told it already
            try:
                info = _info(kind, serialized, run_id, recorder.info(parent_run_id), given)
                found = recorder.start(
                    run_id,
                    parent_run_id,
                    info,
                    inputs=inputs,
                    metadata=given.get("metadata"),
                    claim=None if info.silent else claim,
                )
                if found is not None:
                    _note_start(recorder, found[0], run_id, parent_run_id, info, inputs)
            except Exception as error:  # noqa: BLE001 - nothing may reach the user's run
                note_quietly(hindsight, "recording", error, str(run_id))

    def _end(self, run_id: UUID, note: Callable[[Recorder, Episode, RunInfo, bool], None]) -> None:
        for hindsight, recorder, _ in self._targets():
            try:
                found = recorder.end(run_id)
                if found is not None:
                    episode, info = found
                    note(recorder, episode, info, episode.root == run_id)
            except Exception as error:  # noqa: BLE001 - nothing may reach the user's run
                note_quietly(hindsight, "recording", error, str(run_id))

    def on_chain_start(
        self,
        serialized: Mapping[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow a chain, a graph or one of its nodes."""
        self._start("chain", serialized, inputs, run_id, parent_run_id, kwargs)

    def on_chat_model_start(
        self,
        serialized: Mapping[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow a call of a chat model."""
        asked = messages[0] if messages else []
        self._start("model", serialized, {"messages": asked}, run_id, parent_run_id, kwargs)

    def on_llm_start(
        self,
        serialized: Mapping[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow a call of a text model."""
        self._start("model", serialized, "\n".join(prompts), run_id, parent_run_id, kwargs)

    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow a call of a tool."""
        arguments = inputs if isinstance(inputs, Mapping) else {"input": input_str}
        self._start("tool", serialized, arguments, run_id, parent_run_id, kwargs)

    def on_retriever_start(
        self,
        serialized: Mapping[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Follow a retrieval."""
        self._start("retriever", serialized, {"query": query}, run_id, parent_run_id, kwargs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End the episode when the outermost chain ends."""

        def note(recorder: Recorder, episode: Episode, info: RunInfo, is_root: bool) -> None:
            if is_root:
                recorder.finish(episode, outputs)

        self._end(run_id, note)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Note what a model said and which tools it asks for."""

        def note(recorder: Recorder, episode: Episode, info: RunInfo, is_root: bool) -> None:
            if episode.claim and not info.silent:
                recorder.note(episode, _reply(response), info.agent)
            if is_root:
                recorder.finish(episode, None)

        self._end(run_id, note)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Note what a tool returned."""

        def note(recorder: Recorder, episode: Episode, info: RunInfo, is_root: bool) -> None:
            if episode.claim and not info.silent:
                content, failed = _result(output)
                recorder.answer(episode, info, content, is_error=failed)
            if is_root:
                recorder.finish(episode, None)

        self._end(run_id, note)

    def on_retriever_end(
        self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Note what a retrieval found."""

        def note(recorder: Recorder, episode: Episode, info: RunInfo, is_root: bool) -> None:
            if episode.claim and not info.silent:
                found = [document.page_content for document in documents[:MAX_DOCUMENTS]]
                recorder.answer(episode, info, "\n\n".join(found))
            if is_root:
                recorder.finish(episode, None)

        self._end(run_id, note)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End the episode when the outermost chain fails; note a pause."""
        self._failed(error, run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note that a model failed."""
        self._failed(error, run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note that a tool failed, with its arguments."""
        self._failed(error, run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Note that a retrieval failed."""
        self._failed(error, run_id)

    def _failed(self, error: BaseException, run_id: UUID) -> None:
        def note(recorder: Recorder, episode: Episode, info: RunInfo, is_root: bool) -> None:
            if is_pause(error):
                episode.paused = True
            elif info.silent or not episode.claim:
                pass
            elif info.kind in ("tool", "retriever"):
                recorder.answer(episode, info, describe_error(error), is_error=True, error=error)
            elif info.kind == "model":
                said = f"the model failed: {describe_error(error)}"
                recorder.note(episode, {"role": "error", "content": said}, info.agent)
            if is_root:
                recorder.fail(episode, error)

        self._end(run_id, note)


def _info(
    kind: str,
    serialized: Mapping[str, Any] | None,
    run_id: UUID,
    above: RunInfo | None,
    given: Mapping[str, Any],
) -> RunInfo:
    """Return what a run is, from its event and from the run above it."""
    name = str(given.get("name") or (serialized or {}).get("name") or "")
    metadata = given.get("metadata") or {}
    tags = given.get("tags") or ()
    silent = INTERNAL_TAG in tags or RECALL_TAG in tags
    integration = str(metadata.get("ls_integration") or "")
    call_id = str(given.get("tool_call_id") or "")
    if above is None:
        return RunInfo(kind, name, "", None, False, call_id, silent=silent, integration=integration)
    agent, scope = above.agent, above.scope
    inner = _inner_agent(kind, name, above, metadata)
    if inner:
        agent, scope = inner, run_id
    in_tool = above.in_tool or above.kind == "tool"
    silent = silent or above.silent or (in_tool and kind == "retriever")
    return RunInfo(
        kind, name, agent, scope, in_tool, call_id, silent=silent, integration=integration
    )


def _inner_agent(kind: str, name: str, above: RunInfo, metadata: Mapping[str, Any]) -> str:
    """Return the label of the sub-agent that begins with this run, `""` if none does."""
    if above.kind == "tool":
        return above.name if name in GENERIC_NAMES or kind != "chain" else name
    if kind != "chain":
        return ""
    if name and metadata.get("lc_agent_name") == name:
        return name
    is_agent = metadata.get("ls_integration") == "langchain_create_agent"
    if is_agent and above.integration != "langchain_create_agent":
        return str(metadata.get("langgraph_node") or "")
    return ""


def _note_start(
    recorder: Recorder,
    episode: Episode,
    run_id: UUID,
    parent: UUID | None,
    info: RunInfo,
    inputs: Any,
) -> None:
    """Note what a start tells: a tool call nobody asked for, a task for a sub-agent."""
    if not episode.claim or info.silent:
        return
    if info.kind in ("tool", "retriever"):
        recorder.call(episode, run_id, info, inputs)
    elif info.kind == "chain" and info.scope == run_id and info.in_tool:
        for record in message_dicts(current_turn(as_messages(inputs))):
            recorder.note(episode, record, info.agent)


def _reply(response: LLMResult) -> dict[str, Any]:
    generations = response.generations[0] if response.generations else []
    if not generations:
        return {"role": "assistant", "content": ""}
    first = generations[0]
    if isinstance(first, ChatGeneration):
        return {**message_dict(first.message), "role": "assistant"}
    return {"role": "assistant", "content": first.text}


def _result(output: Any) -> tuple[Any, bool]:
    """Return a tool's output as content, and whether it says that the tool failed."""
    if type(output).__name__ == "Command":
        messages = as_messages(getattr(output, "update", None))
        output = messages[-1] if messages else ""
    if isinstance(output, BaseMessage):
        return output.content, getattr(output, "status", "") == "error"
    if isinstance(output, str | list):
        return output, False
    return "" if output is None else str(output), False
