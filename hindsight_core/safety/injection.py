"""Text that speaks to the agent as if it were in charge, told by its form; pure.

A web page, an e-mail or a tool's answer is data. Where it commands ("add this to your reply"),
asks the reader to do something, or tries to change whom the agent obeys, it must not come back
as something that memory tells the agent. What is looked at is form, never a list of known
attacks: who is spoken to, in which mood, and about what.

Advice on how to call a tool has the same mood ("use ISO dates", "run `make`") and is what
lessons are made of. It passes as long as it speaks of calls, values and files and of nothing
that sends, fetches or runs something else.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

from hindsight_core.safety.injection_words import (
    ADVICE,
    CHINESE_COMMAND,
    COMMANDS,
    DANGEROUS,
    LEAD,
    NO_VERBS,
    OBJECTS,
    OPENING_CLAUSE,
    OVERRIDE,
    READERS_WORK,
    REQUEST,
    SENDS_AWAY,
    SHOULD_CHANGE,
    VERB_NOT_FOLLOWED_BY,
)

__all__ = [
    "LEFT_OUT",
    "instruction_in",
    "overrides_agent",
    "sentences_of",
    "visible",
    "without_instructions",
]

SCANNED = 20_000
"""Characters of a text that are read."""
LONGEST_SENTENCE = 600
"""Characters after which a sentence without an end is taken for several."""
LEFT_OUT = "[…]"
"""Stands where an instruction was left out of a quotation."""

_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_END = re.compile(
    r"(?<=[.!?])[\"'”’)]*\s+|(?<=[a-z)])\.(?=[A-Z][a-z])|(?<=[。！？；])|(?<=[:：])\s+|[\n|]+|;\s"
)
_BEGINS = re.compile(
    r"(?P<verb>[A-Za-z']+)(?: (?:up|down|out|in|off|on|away|back|over)(?= ))?[ \"'“‘(`]{1,2}"
    r"(?P<object>[\w$#]+)"
)


def overrides_agent(text: str) -> bool:
    """Whether a message tries to change whom the agent obeys, or where it sends things.

    Nothing is learned from such a message, whoever wrote it.
    """
    head = visible(text)
    return bool(OVERRIDE.search(head) or SENDS_AWAY.search(head))


def instruction_in(sentence: str) -> str:
    """Return what makes one sentence an instruction to its reader, `""` if it is none.

    Args:
        sentence: One sentence, as `sentences_of` gives it.

    Returns:
        `override`, `answer` (about what the reader writes), `command`, `request`, or `""`.
    """
    text = visible(sentence[:LONGEST_SENTENCE]).strip()
    if overrides_agent(text):
        return "override"
    commands = _commands(text)
    asks = bool(REQUEST.search(text))
    if READERS_WORK.search(text) and (
        commands or asks or SHOULD_CHANGE.search(text) or _commands(text, loosely=True)
    ):
        return "answer"
    if _is_advice(text):
        return ""
    return "command" if commands else "request" if asks else ""


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, lines and what follows a colon apart."""
    ends = [*(end.end() for end in _END.finditer(text)), len(text)]
    pieces = [
        text[at : min(at + LONGEST_SENTENCE, end)]
        for start, end in itertools.pairwise([0, *ends])
        for at in range(start, end, LONGEST_SENTENCE)
    ]
    return [piece for piece in pieces if piece.strip()]


def without_instructions(text: str) -> str:
    """Return a quotation without what instructs its reader, `[…]` standing in for it."""
    kept: list[str] = []
    for sentence in sentences_of(text):
        if not instruction_in(sentence):
            kept.append(sentence)
        elif not kept or kept[-1] != LEFT_OUT:
            kept.append(LEFT_OUT)
    return "".join(f" {piece} " if piece == LEFT_OUT else piece for piece in kept).strip()


def visible(text: str) -> str:
    """Return what a reader sees: no invisible characters, wide and styled letters made plain."""
    head = text[:SCANNED]
    if not head.isascii():
        head = _INVISIBLE.sub("", unicodedata.normalize("NFKC", head)).replace("’", "'")
    return head


def _commands(text: str, *, loosely: bool = False) -> bool:
    """Whether a sentence is in the imperative, behind whatever softens or opens it."""
    if CHINESE_COMMAND.search(text):
        return True
    opening = OPENING_CLAUSE.match(text)
    clauses = [text, text[opening.end() :]] if opening else [text]
    return any(_begins_with_verb(LEAD.sub("", clause), loosely) for clause in clauses)


def _begins_with_verb(clause: str, loosely: bool) -> bool:
    """Whether a clause begins with a verb that is known, or one that its object betrays.

    Args:
        clause: The clause, without what softens it.
        loosely: Whether any first word that can be a verb is one.
    """
    begins = _BEGINS.match(clause)
    if begins is None:
        return False
    verb, object_ = begins["verb"].lower(), begins["object"].lower()
    if verb in COMMANDS:
        return object_ not in VERB_NOT_FOLLOWED_BY
    return (loosely or object_ in OBJECTS) and not NO_VERBS.fullmatch(verb)


def _is_advice(text: str) -> bool:
    return bool(ADVICE.search(text)) and not DANGEROUS.search(text)
