"""Memory for classic chains and `AgentExecutor`."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import ConfigDict, Field, PrivateAttr, SkipValidation

from hindsight_core.adapting import note_quietly
from hindsight_core.clock import new_run_id
from hindsight_core.errors import ConfigurationError
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import Brief
from hindsight_core.safety.marks import strip_marked
from hindsight_core.trajectory import Trajectory
from hindsight_langchain.messages import (
    INPUT_KEYS,
    OUTPUT_KEYS,
    as_messages,
    choose_text,
    current_turn,
)
from hindsight_langchain.recorder import recorder_of

__all__ = ["HindsightMemory"]

_WAITING = 256
"""Loads that are remembered until their run is saved."""


class HindsightMemory(BaseMemory):
    """Tells a classic chain what is known, and learns from what it answered.

    The brief is one variable of the prompt, as text or as messages. Several input and output
    keys need no configuration: the question and the answer are found by their usual names.
    A chain that fails never saves, so attach a `HindsightCallbackHandler` to learn from
    failures too; a run that it records is not recorded twice.

    ```python
    memory = HindsightMemory(hindsight=hindsight.for_user("alice"))
    executor = AgentExecutor(agent=agent, tools=tools, memory=memory)
    ```

    Attributes:
        hindsight: The memory, of one user: a chain's config does not reach its memory.
        memory_key: The prompt's variable.
        return_messages: Whether it is a list of messages rather than text.
        input_key: Key of the question, `None` to find it.
        output_key: Key of the answer, `None` to find it.
        options: Options of `Hindsight.brief`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    hindsight: SkipValidation[Hindsight] = Field(exclude=True, repr=False)
    memory_key: str = "memory"
    return_messages: bool = False
    input_key: str | None = None
    output_key: str | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    _runs: OrderedDict[str, str] = PrivateAttr(default_factory=OrderedDict)

    @property
    def memory_variables(self) -> list[str]:
        """The variables that it adds to a prompt."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what is known about the question."""
        question = self._question(inputs)
        return self._told(self.hindsight.brief(question, **self._for(question)))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Async twin of `load_memory_variables`."""
        question = self._question(inputs)
        return self._told(await self.hindsight.abrief(question, **self._for(question)))

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Hand over a finished run; it is reflected on in the background."""
        question = self._question(inputs)
        run_id = self._runs.pop(question, "") or new_run_id()
        try:
            if recorder_of(self.hindsight).records(question):
                return
            self.hindsight.submit(self._run(question, outputs, run_id))
        except Exception as error:  # noqa: BLE001 - memory never breaks the chain
            note_quietly(self.hindsight, "recording", error, run_id)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Async twin of `save_context`."""
        await asyncio.to_thread(self.save_context, inputs, outputs)

    def clear(self) -> None:
        """Begin another conversation; what was learned stays, see `Hindsight.forget`."""
        self._runs.clear()

    async def aclear(self) -> None:
        """Async twin of `clear`."""
        self.clear()

    def _for(self, question: str) -> Any:
        run_id = self._runs.setdefault(question, new_run_id())
        while len(self._runs) > _WAITING:
            self._runs.popitem(last=False)
        return {"run_id": run_id, **self.options}

    def _told(self, brief: Brief) -> dict[str, Any]:
        if not self.return_messages:
            return {self.memory_key: brief.text}
        messages: list[BaseMessage] = [HumanMessage(content=brief.text)] if brief else []
        return {self.memory_key: messages}

    def _question(self, inputs: Mapping[str, Any]) -> str:
        own = {key: value for key, value in inputs.items() if key != self.memory_key}
        return strip_marked(self._text(own, self.input_key, INPUT_KEYS, "input_key"))

    def _text(
        self, fields: Mapping[str, Any], wanted: str | None, known: Sequence[str], option: str
    ) -> str:
        """Return the text of `fields`: of the key that was set, or of the one that is usual."""
        if wanted is not None:
            return _plain(fields.get(wanted))
        texts = {key: _plain(value) for key, value in fields.items()}
        found = [key for key in known if texts.get(key)]
        if found:
            return texts[found[0]]
        texts = {key: text for key, text in texts.items() if text}
        if len(texts) > 1:
            keys = ", ".join(sorted(texts))
            error = ConfigurationError(
                f"which of the keys {keys} to read is not clear, so all are taken; set {option}"
            )
            note_quietly(self.hindsight, "memory keys", error)
        return choose_text(texts, known)

    def _run(self, question: str, outputs: Mapping[str, Any], run_id: str) -> Trajectory:
        messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
        for number, step in enumerate(outputs.get("intermediate_steps") or ()):
            messages += _step(number, step)
        rest = {key: value for key, value in outputs.items() if key != "intermediate_steps"}
        answer = self._text(rest, self.output_key, OUTPUT_KEYS, "output_key")
        messages.append({"role": "assistant", "content": answer})
        return Trajectory.from_messages(
            messages, run_id=run_id, metadata={"framework": "langchain", "ending": "finished"}
        )


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    messages = as_messages(value)
    turn = current_turn(messages) or messages[-1:]
    return turn[-1].text if turn else ""


def _step(number: int, step: Any) -> list[dict[str, Any]]:
    """Return one action and what came of it as messages, `[]` if it is no such pair."""
    if not isinstance(step, Sequence) or len(step) != 2:
        return []
    action, observation = step
    name = getattr(action, "tool", "")
    arguments = getattr(action, "tool_input", "")
    if not isinstance(arguments, Mapping):
        arguments = {"input": arguments}
    call_id = f"step_{number}"
    call = {"id": call_id, "name": name, "args": dict(arguments)}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "name": name, "content": str(observation)},
    ]
