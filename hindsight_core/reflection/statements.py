"""What people said in a run that should last: preferences, facts, corrections.

Only what a person said counts: user steps of the outermost agent, and of those only the
sentences that are the person's own. What an assistant, a tool, an instruction, a pasted
document or a parent agent says is never taken for the user's word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from hindsight_core.language import Language, language_of
from hindsight_core.reflection.rules_text import normalized, plain
from hindsight_core.reflection.rules_wording import wording_of
from hindsight_core.reflection.statements_en import read_english, read_english_repair
from hindsight_core.reflection.statements_framing import (
    Sentence,
    clean_words,
    own_sentences,
    supposes,
)
from hindsight_core.reflection.statements_kinds import Found, Repair
from hindsight_core.reflection.statements_wishes import refuses
from hindsight_core.reflection.statements_zh import read_chinese, read_chinese_repair
from hindsight_core.safety.injection import overrides_agent
from hindsight_core.steps import Step

__all__ = ["Statement", "StatementCategory", "Statements", "statements_of"]

StatementCategory: TypeAlias = Literal["preference", "fact", "correction"]

MOST_MESSAGES = 200
"""Messages of a person that are read; the latest ones of a longer run."""

CLAIM_LENGTH = 160
"""Characters of a corrected answer that are quoted."""

WORDS_LENGTH = 300
"""Characters of the user's words that a correction quotes."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a person said and that should last.

    Attributes:
        category: What it is.
        content: The statement as a memory says it.
        steps: Positions of the steps that show it.
        valid_until: The first moment at which it no longer holds, `None` if it doesn't say.
        event_time: When it happened or began, `None` if it doesn't say.
        names: Whether it names somebody or something.
        wrong: For a correction, the answer that was corrected.
    """

    category: StatementCategory
    content: str
    steps: tuple[int, ...]
    valid_until: datetime | None = None
    event_time: datetime | None = None
    names: bool = False
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Statements:
    """What was found in a run.

    Attributes:
        found: Each thing once, in the order in which it was first said.
        notes: What was left out on purpose, for people.
    """

    found: tuple[Statement, ...]
    notes: tuple[str, ...]


def statements_of(steps: Sequence[Step], moment: datetime) -> Statements:
    """Return what people said in `steps` that should last.

    Args:
        steps: The steps of a run.
        moment: When the run ended, aware; a step's own time goes before it.
    """
    instructions = _instructions(steps)
    found: dict[str, Statement] = {}
    notes: list[str] = []
    spoken = [p for p, s in enumerate(steps) if s.kind == "user" and not s.agent and s.text.strip()]
    answers = _answers_before(steps)
    for position in spoken[-MOST_MESSAGES:]:
        text = steps[position].text
        if _repeats(text, instructions):
            notes.append(f"step {position} repeats the instructions; nothing was taken from it")
        elif overrides_agent(text):
            notes.append(
                f"step {position} reads like an attempt to override the agent; "
                "nothing was taken from it"
            )
        else:
            for statement in _of_message(steps, position, answers.get(position, -1), moment):
                _add(found, statement)
    return Statements(tuple(found.values()), tuple(notes))


def _of_message(
    steps: Sequence[Step], position: int, answer: int, moment: datetime
) -> list[Statement]:
    said_at = steps[position].at or moment
    sentences = own_sentences(steps[position].text)
    statements: list[Statement] = []
    correction = _correction(steps, position, answer, sentences)
    if correction is not None:
        statements.append(correction)
    if any(refuses(sentence.text) for sentence in sentences):
        return statements
    for sentence in sentences:
        if supposes(sentence.text):
            break
        if language_of(sentence.text) == "zh":
            found = read_chinese(sentence, said_at)
        else:
            found = read_english(sentence, said_at)
        statements += [_statement(one, position) for one in found]
    return statements


def _statement(found: Found, position: int) -> Statement:
    return Statement(
        category=found.kind,
        content=found.content,
        steps=(position,),
        valid_until=found.valid_until,
        event_time=found.event_time,
        names=found.names,
    )


def _correction(
    steps: Sequence[Step], position: int, answer: int, sentences: Sequence[Sentence]
) -> Statement | None:
    """Return the correction in a message, which needs an answer before it to correct."""
    if answer < 0:
        return None
    repairs = [(sentence, _repair(sentence)) for sentence in sentences]
    wrong = any(repair.wrong for _, repair in repairs)
    if not wrong and not any(repair.right for _, repair in repairs):
        return None
    kept = [s.text for s, r in repairs if r.wrong or r.right or (wrong and r.hints)]
    told = any(r.right or (wrong and r.hints) for _, r in repairs)
    language = language_of(" ".join(kept))
    words = plain(_joined(kept, language), WORDS_LENGTH)
    claim = plain(steps[answer].text, CLAIM_LENGTH)
    wording = wording_of(language)
    content = wording.say("rejected", claim=wording.quote(claim), words=wording.quote(words))
    shown = [answer, position]
    then = -1 if told else _answer_after(steps, position)
    if then >= 0:
        said = plain(steps[then].text, CLAIM_LENGTH)
        content += wording.say("then", answer=wording.quote(said))
        shown.append(then)
    return Statement("correction", content, tuple(shown), wrong=claim)


def _repair(sentence: Sentence) -> Repair:
    if language_of(sentence.text) == "zh":
        return read_chinese_repair(sentence)
    return read_english_repair(sentence)


def _joined(sentences: Sequence[str], language: Language) -> str:
    return "。".join(sentences) + "。" if language == "zh" else ". ".join(sentences) + "."


def _answers_before(steps: Sequence[Step]) -> dict[int, int]:
    """Map each user step to the agent's last answer before it."""
    before: dict[int, int] = {}
    last = -1
    for position, step in enumerate(steps):
        if step.kind == "assistant" and not step.agent and step.text.strip():
            last = position
        elif step.kind == "user" and not step.agent:
            before[position] = last
            last = -1
    return before


def _answer_after(steps: Sequence[Step], position: int) -> int:
    """Return the last answer before the next thing that a person says, `-1` if there is none."""
    found = -1
    for later in range(position + 1, len(steps)):
        step = steps[later]
        if step.agent:
            continue
        if step.kind == "user":
            break
        if step.kind == "assistant" and step.text.strip():
            found = later
    return found


def _instructions(steps: Sequence[Step]) -> str:
    texts = [step.text for step in steps if step.kind == "system"]
    return clean_words("\n".join(text[:20_000] for text in texts[:20]))


def _repeats(text: str, instructions: str) -> bool:
    words = clean_words(text)
    return len(words) > 40 and words[:2_000] in instructions


def _add(found: dict[str, Statement], statement: Statement) -> None:
    """Keep each thing once; saying it again in one run is no further evidence but another step."""
    key = f"{statement.category} {normalized(statement.content)}"
    known = found.get(key)
    if known is None:
        found[key] = statement
    else:
        steps = tuple(sorted({*known.steps, *statement.steps}))
        found[key] = replace(statement, steps=steps)
