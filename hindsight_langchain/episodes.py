"""One run while it is under way: what happened so far, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from hindsight_core.clock import new_run_id
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_core.trajectory import Outcome, Trajectory
from hindsight_langchain.endings import (
    Ending,
    Validator,
    describe_call,
    describe_error,
    outcome_of,
    says_step_limit,
    validated,
)
from hindsight_langchain.identity import Identity
from hindsight_langchain.messages import answer_of, as_messages, message_dict, question_of

__all__ = ["Claim", "Episode", "RunInfo"]

SESSION_KEYS = ("thread_id", "session_id", "conversation_id")
"""Keys of the config that name the conversation a run belongs to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants a run to be recorded, and how.

    Attributes:
        hindsight: The memory it goes to.
        identity: Finds the run's namespace.
        validator: Judges the run once it has finished.
        task_type: Task type of the run, `""` to let reflection choose.
    """

    hindsight: Hindsight
    identity: Identity = field(default_factory=Identity)
    validator: Validator | None = None
    task_type: str = ""


class RunInfo(NamedTuple):
    """One callback run inside an episode; made for every event, so a plain tuple.

    Attributes:
        kind: `chain`, `tool`, `model` or `retriever`.
        name: Its name.
        agent: Label of the sub-agent it belongs to, `""` for the outermost agent.
        scope: The run of the agent it belongs to; a recall serves one scope.
        in_tool: Whether it runs inside a tool.
        call_id: For a tool, the id of the call it answers.
        arguments: For a tool, its arguments.
        silent: Whether it and what is below it are left out.
        integration: Which integration its metadata names.
    """

    kind: str
    name: str = ""
    agent: str = ""
    scope: UUID | None = None
    in_tool: bool = False
    call_id: str = ""
    arguments: Mapping[str, Any] = MappingProxyType({})
    silent: bool = False
    integration: str = ""


@dataclass(slots=True)
class Episode:
    """Everything known about one run of an outermost agent, over all its pauses.

    Attributes:
        root: Callback run of its present part; another one after a pause.
        run_id: Id under which it is recorded.
        name: Name of the outermost runnable.
        inputs: What it was given; let go once it is read.
        values: What the config says about it.
        started_at: When it started.
        claim: Who wants it recorded; `None` while nobody does.
        runs: Callback runs that have started and not ended.
        records: What happened, as message dicts.
        open_calls: Tool calls without a result, id to name and arguments.
        failures: Exceptions of tools with the calls that raised them.
        briefs: What each agent of the run was told in this turn.
        paused: Whether it was seen to pause.
        told: A system message, the briefs that were put into it, and what came of it.
        configured: Whether `values` holds what the config around its nodes says, too.
    """

    root: UUID
    run_id: str
    name: str
    inputs: Any
    values: Mapping[str, Any]
    started_at: datetime
    claim: Claim | None = None
    runs: dict[UUID, RunInfo] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    open_calls: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    failures: list[tuple[BaseException, str]] = field(default_factory=list)
    briefs: dict[tuple[UUID | None, int], Brief] = field(default_factory=dict)
    paused: bool = False
    configured: bool = False
    told: tuple[object, object, object] | None = None

    @classmethod
    def begin(
        cls, root: UUID, name: str, inputs: Any, values: Mapping[str, Any], now: datetime
    ) -> Episode:
        """Return the episode of a run that starts now."""
        run_id = str(root) if root.int else new_run_id()
        return cls(root, run_id, name, inputs, values, now)

    @property
    def session_id(self) -> str:
        """The conversation it belongs to, `""` if none is named."""
        found = (self.values.get(key) for key in SESSION_KEYS)
        return next((str(value) for value in found if value not in (None, "")), "")

    @property
    def thread_id(self) -> str:
        """The checkpointer's thread, under which a pause is resumed."""
        return str(self.values.get("thread_id") or "")

    def accept(self, claim: Claim, now: datetime) -> None:
        """Record it from now on; a second claim adds only what the first one lacks."""
        if self.claim is None:
            self.claim = claim
            for record in question_of(self.inputs):
                self.add(record, now)
            self.inputs = None
        elif self.claim.validator is None and claim.validator is not None:
            self.claim = replace(self.claim, validator=claim.validator)

    def resume(self, root: UUID, said: str, now: datetime) -> None:
        """Go on after a pause, as another run."""
        self.root, self.paused, self.configured = root, False, False
        self.runs.clear()
        if said:
            self.add({"role": "user", "content": said}, now)

    def add(self, record: dict[str, Any], now: datetime, agent: str = "") -> None:
        """Note one thing that happened."""
        self.records.append({**record, "timestamp": now.isoformat(), "agent": agent})
        for call in record.get("tool_calls") or ():
            self.open_calls[call["id"]] = (call["name"], call.get("args") or {})

    def open_call(self, call_id: str, info: RunInfo, now: datetime) -> str:
        """Return the id of the call that a tool run answers, noting the call if nobody asked.

        Args:
            call_id: The id that the tool was given, `""` if none.
            info: The tool's run.
            now: The present moment.
        """
        if call_id in self.open_calls:
            return call_id
        if not call_id:
            for known, (name, arguments) in self.open_calls.items():
                if name == info.name and _same(arguments, info.arguments):
                    return known
        made_up = call_id or new_run_id().replace("run_", "call_")
        call = {"id": made_up, "name": info.name, "args": dict(info.arguments)}
        self.add({"role": "assistant", "content": "", "tool_calls": [call]}, now, info.agent)
        return made_up

    def answer_call(
        self, info: RunInfo, content: Any, now: datetime, *, is_error: bool = False
    ) -> None:
        """Note what a tool returned."""
        self.open_calls.pop(info.call_id, None)
        self.add(
            {
                "role": "tool",
                "tool_call_id": info.call_id,
                "name": info.name,
                "content": content,
                "status": "error" if is_error else "success",
            },
            now,
            info.agent,
        )

    def take_unseen(self, outputs: Any, now: datetime) -> None:
        """Note what the outputs hold and no event told.

        Results that a middleware made up, and an answer that no model gave.
        """
        for message in as_messages(outputs):
            found = message_dict(message)
            if found["role"] == "tool" and found["tool_call_id"] in self.open_calls:
                self._insert_result(found, now)
        answer = answer_of(outputs).strip()
        said = [
            _flat(record["content"]) for record in self.records if record["role"] == "assistant"
        ]
        if answer and not any(answer in text for text in said[-2:]):
            self.add({"role": "assistant", "content": answer}, now)

    def _insert_result(self, result: dict[str, Any], now: datetime) -> None:
        """Note a result where it belongs, behind its call."""
        call_id = result["tool_call_id"]
        self.open_calls.pop(call_id)
        place = max(
            number
            for number, record in enumerate(self.records, start=1)
            if any(call["id"] == call_id for call in record.get("tool_calls") or ())
        )
        self.add(result, now, self.records[place - 1]["agent"])
        self.records.insert(place, self.records.pop())

    def expects_more(self, outputs: Any) -> bool:
        """Whether outputs with which a run ended show that it only paused.

        A graph that was told to stop before a node ends like a finished one, except that its
        last message is no answer. Without a thread there is nothing to resume.
        """
        if self.paused:
            return True
        messages = as_messages(outputs) if isinstance(outputs, Mapping) else []
        if not (messages and self.thread_id) or outputs.get("structured_response") is not None:
            return False
        last = message_dict(messages[-1])
        return last["role"] != "assistant" or bool(last.get("tool_calls"))

    def trajectory(self, ending: Ending, reason: str, now: datetime) -> Trajectory:
        """Return it as a finished run."""
        if ending == "finished" and self.records:
            last = self.records[-1]
            if last["role"] == "assistant" and says_step_limit(_flat(last["content"])):
                ending, reason = "step_limit", _flat(last["content"])
        task_type = self.claim.task_type if self.claim else ""
        return Trajectory.from_messages(
            self.records,
            run_id=self.run_id,
            task_type=task_type or str(self.values.get("task_type") or ""),
            session_id=self.session_id,
            started_at=self.started_at,
            ended_at=now,
            metadata={"framework": "langchain", "name": self.name, "ending": ending},
        ).with_outcome(outcome_of(ending, reason))

    def judged(self, run: Trajectory) -> Trajectory:
        """Return a finished run with the validator's verdict, if there is one.

        Raises:
            Exception: Whatever the validator raises.
        """
        validator = self.claim.validator if self.claim else None
        if validator is None or run.metadata["ending"] != "finished":
            return run
        verdict: Outcome | None = validated(validator(run))
        return run if verdict is None else run.with_outcome(verdict)

    def reason_of(self, error: BaseException) -> str:
        """Return why a run failed: the error, and the call behind it if a tool raised it."""
        said = describe_error(error)
        cause: BaseException | None = error
        while cause is not None:
            for raised, call in self.failures:
                if raised is cause:
                    return f"{call} raised {said}"
            cause = cause.__cause__ or cause.__context__
        return said

    def failed_call(self, info: RunInfo, error: BaseException) -> None:
        """Remember which call raised an exception."""
        self.failures.append((error, describe_call(info.name, info.arguments)))


def _same(asked: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(given.get(key, value) == value for key, value in asked.items())


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content or ()]
    return "".join(part for part in parts if isinstance(part, str))
