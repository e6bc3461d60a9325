"""The model reflector: rules look first, then one call of a language model."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from hindsight_core.embedding.base import TokenCounter
from hindsight_core.errors import ModelCallError, ModelReplyError, ReflectionError
from hindsight_core.language import language_of_run
from hindsight_core.lifecycle.counterfactuals import counterfactuals
from hindsight_core.models import Memory
from hindsight_core.reflection.base import ModelReply, Prompt, Reflected, ReflectionModel, Reflector
from hindsight_core.reflection.compress import compress
from hindsight_core.reflection.merging import merge
from hindsight_core.reflection.model_errors import call_error
from hindsight_core.reflection.parse import ParsedReply, is_cut, parse_reply, raw_text
from hindsight_core.reflection.prompts import (
    MAX_LESSONS,
    Question,
    build_prompt,
    offer,
    offer_found,
)
from hindsight_core.reflection.proposals import Circumstances, propose
from hindsight_core.reflection.remarks import MAX_REMARKS, REASON_LENGTH, Remark, names_in
from hindsight_core.reflection.retry import Deadline, Retries, is_context_overflow
from hindsight_core.reflection.rules_experience import is_trivial
from hindsight_core.settings import ModelSettings
from hindsight_core.trajectory import Trajectory

__all__ = ["LEAST_RUN_TOKENS", "ModelReflector"]

LEAST_RUN_TOKENS = 100
"""A prompt that leaves fewer tokens than this for the run is not sent."""

_MARGIN = 0.97
_REPLIES = 2
_HALVINGS = 3

_log = logging.getLogger(__name__)


class ModelReflector:
    """Reflects with rules and a language model; keeps no state between runs.

    The rules run first and the model is shown what they found. One call is made per run, and
    none for a run in which the rules see nothing and people only exchanged greetings or a
    routine check ran. A failed call is tried again as `ModelSettings` allows; a prompt that is
    too long is halved, never sent again unchanged; a reply that can't be read is asked for
    once more in other words.

    When all of that fails, `reflect` raises and nothing is learned for now. No finding of the
    rules is lost by that: the run stays in the journal with the raw reply, and the rules look
    again when reflection is retried.

    Example:
        ```python
        reflector = ModelReflector(model, rules, task_types=("general",), count_tokens=len,
                                   settings=ModelSettings())
        ```
    """

    def __init__(
        self,
        model: ReflectionModel,
        rules: Reflector,
        *,
        task_types: Sequence[str],
        count_tokens: TokenCounter,
        settings: ModelSettings,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._rules = rules
        self._task_types = tuple(task_types)
        self._count_tokens = count_tokens
        self._settings = settings
        self._retries = Retries(max_retries=settings.max_retries, sleep=sleep)
        self._monotonic = monotonic

    def reflect(self, trajectory: Trajectory, known: Sequence[Memory], now: datetime) -> Reflected:
        """Reflect on `trajectory`.

        Args:
            trajectory: The run, redacted, with recalled blocks stripped.
            known: Memories that the model may say are replaced; it sees their text under
                small numbers and never their ids.
            now: The present moment, the date of the run if that is not known.

        Raises:
            ModelCallError: If the model could not be called within the retries and
                `max_total_wait`.
            ModelReplyError: If it answered twice with nothing readable; `raw_reply` holds the
                last answer.
        """
        found = self._rules.reflect(trajectory, known, now)
        if not found.lessons and is_trivial(trajectory):
            return replace(found, reason=found.reason or "the run is small talk or a routine check")
        question = Question(
            language=language_of_run(trajectory),
            task_types=self._task_types,
            outcome=trajectory.outcome.label,
            date=trajectory.ended_at or now,
            found=found.lessons,
            known=tuple(known),
            named=tuple(sorted(names_in(trajectory)))[:MAX_REMARKS],
            max_output_tokens=self._settings.max_output_tokens,
        )
        exchange = _Exchange(trajectory, question)
        reply, parsed = self._converse(exchange)
        return self._learned(exchange, found, reply, parsed)

    def _converse(self, exchange: _Exchange) -> tuple[ModelReply, ParsedReply]:
        """Ask, and once more in other words if the answer can't be used."""
        deadline = Deadline(self._monotonic() + self._settings.max_total_wait, self._monotonic)
        problem, wrong, raw = "", "it was cut off", None
        for _ in range(_REPLIES):
            try:
                reply = self._ask(exchange, deadline)
            except ReflectionError as error:
                error.raw_reply = error.raw_reply or raw
                raise
            raw = raw_text(reply.content)
            try:
                parsed = parse_reply(reply.content, finish_reason=reply.finish_reason)
            except ModelReplyError as error:
                problem = str(error)
                wrong = "it was not readable JSON" if raw.strip() else "it was empty"
            else:
                if parsed.lessons or not parsed.truncated:
                    return reply, parsed
            if is_cut(reply.finish_reason):
                problem = f"{self._cut(reply)} before its first lesson was whole"
                wrong = "it was cut off"
            exchange.complain(wrong, more_output=is_cut(reply.finish_reason))
            exchange.notes.append(f"asked again: {problem}")
        raise ModelReplyError(
            f"reflection on run {exchange.run.run_id!r} failed: {problem}; {_REPLIES} answers were "
            "asked for. The raw reply is kept; try again with `reflect --retry`, or with another "
            "model",
            raw_reply=raw,
        )

    def _ask(self, exchange: _Exchange, deadline: Deadline) -> ModelReply:
        """Call the model, with less and less of the run while it says that is too long."""
        halvings = 0
        while True:
            prompt = self._prompt(exchange)
            if deadline.left <= 0:
                raise ModelCallError(
                    f"{self._settings.max_total_wait:g} s for reflection on run "
                    f"{exchange.run.run_id!r} are used up; raise max_total_wait or try again",
                    retryable=True,
                )
            try:
                reply = self._retries.call(partial(self._complete, prompt), deadline)
            except ModelCallError as error:
                if halvings == _HALVINGS or not is_context_overflow(error):
                    raise
                self._halve(exchange, error)
                halvings += 1
            else:
                exchange.account(reply, prompt, self._count_tokens)
                return reply

    def _complete(self, prompt: Prompt) -> ModelReply:
        try:
            return self._model.complete(prompt)
        except ReflectionError:
            raise
        except Exception as error:
            secrets = (self._settings.api_key,)
            raise call_error(error, model="the reflection model", secrets=secrets) from error

    def _prompt(self, exchange: _Exchange) -> Prompt:
        """Build a prompt within the budget; known memories go before the run suffers."""
        budget = int(self._settings.max_input_tokens * _MARGIN)
        room = budget - self._overhead(exchange.question)
        while room < LEAST_RUN_TOKENS and exchange.question.known:
            known = exchange.question.known
            exchange.question = replace(exchange.question, known=known[: len(known) // 2])
            room = budget - self._overhead(exchange.question)
        if exchange.run_budget is not None:
            room = min(room, exchange.run_budget)
        if room < LEAST_RUN_TOKENS:
            raise ModelCallError(
                f"max_input_tokens={self._settings.max_input_tokens} leaves {max(room, 0)} tokens "
                f"for run {exchange.run.run_id!r}; raise it or use a model with a longer context"
            )
        text = compress(exchange.run, budget_tokens=room, count_tokens=self._count_tokens)
        exchange.run_tokens = self._count_tokens(text)
        return build_prompt(exchange.question, text)

    def _overhead(self, question: Question) -> int:
        empty = build_prompt(question, "")
        return self._count_tokens(empty.system) + self._count_tokens(empty.user)

    def _halve(self, exchange: _Exchange, error: ModelCallError) -> None:
        exchange.run_budget = exchange.run_tokens // 2
        exchange.notes.append(
            "the prompt was too long for the model; "
            f"the run was cut to {exchange.run_budget} tokens"
        )
        if exchange.run_budget < LEAST_RUN_TOKENS:
            raise ModelCallError(
                f"{error}; even {exchange.run_tokens} tokens of run "
                f"{exchange.run.run_id!r} are too many; use a model with a longer context",
                status=error.status,
            ) from error

    def _learned(
        self, exchange: _Exchange, found: Reflected, reply: ModelReply, parsed: ParsedReply
    ) -> Reflected:
        around = Circumstances(
            run=exchange.run,
            language=exchange.question.language,
            task_types=self._task_types,
            offered=offer(exchange.question.known),
            found=offer_found(found.lessons),
        )
        proposals = propose(parsed, around)
        lessons, dropped = merge(found.lessons, proposals, max_lessons=MAX_LESSONS)
        unmet = counterfactuals(parsed.decisions, exchange.run, exchange.question.language)
        lessons = (*lessons, *unmet)[: max(MAX_LESSONS, len(lessons))]
        notes = [*found.notes, *exchange.notes, *parsed.notes, *proposals.notes, *dropped]
        if parsed.truncated:
            note = f"{self._cut(reply)}; {len(parsed.lessons)} whole lessons were kept"
            _log.warning("run %s: %s", exchange.run.run_id, note)
            notes.append(note)
        return Reflected(
            lessons=lessons,
            reason="" if lessons else "neither the rules nor the model found anything to keep",
            notes=tuple(dict.fromkeys(notes)),
            raw_reply=raw_text(reply.content),
            tokens_in=exchange.tokens_in,
            tokens_out=exchange.tokens_out,
            remarks=_remarks(parsed, exchange.question.named),
        )

    def _cut(self, reply: ModelReply) -> str:
        model = reply.model or self._settings.model or "the model"
        return (
            f"the reply of {model} was cut after {len(raw_text(reply.content)):,} characters "
            f"(finish reason {reply.finish_reason or 'not told'!r})"
        )


def _remarks(parsed: ParsedReply, named: Sequence[str]) -> tuple[Remark, ...]:
    """Return what the agent said about its brief, by names that it used."""
    return tuple(
        Remark(row["memory"], row["helpful"], row["reason"][:REASON_LENGTH])
        for row in parsed.remarks
        if row["memory"] in named and row["helpful"] is not None
    )


@dataclass(slots=True)
class _Exchange:
    """What has been said so far about one run."""

    run: Trajectory
    question: Question
    run_budget: int | None = None
    run_tokens: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: list[str] = field(default_factory=list)

    def complain(self, reason: str, *, more_output: bool = False) -> None:
        """Let the next prompt say what was wrong, and allow a longer answer if it was cut."""
        cap = self.question.max_output_tokens * (2 if more_output else 1)
        self.question = replace(self.question, complaint=reason, max_output_tokens=cap)

    def account(self, reply: ModelReply, prompt: Prompt, count_tokens: TokenCounter) -> None:
        """Add up tokens, counted here where the model does not tell them."""
        sent, answered = reply.tokens_in, reply.tokens_out
        if sent is None:
            sent = count_tokens(prompt.system) + count_tokens(prompt.user)
        if answered is None:
            answered = count_tokens(raw_text(reply.content)[:100_000])
        self.tokens_in += sent
        self.tokens_out += answered
