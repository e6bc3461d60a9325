"""Which of the two languages of the briefs a text is in, told by its script.

No dictionary and no model: the share of Chinese characters against Latin words, with code,
addresses and identifiers left out, since they are Latin in any language.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from hindsight_core.trajectory import Trajectory

__all__ = ["Language", "language_of", "language_of_run"]

Language: TypeAlias = Literal["en", "zh"]

SCANNED_CHARACTERS = 4_000
"""Characters of a text that are looked at; more would not change the verdict."""

SCANNED_MESSAGES = 20
"""Messages of a run that are looked at."""

CHARACTERS_PER_WORD = 1.6
"""Chinese characters that carry about as much as one English word."""

_CODE = re.compile(
    r"```.*?(?:```|\Z)"  # fenced code
    r"|`[^`\n]{1,200}`"  # inline code
    r"|https?://\S+"
    # paths, addresses, assignments, names with underscores or dots
    r"|[^\s`\u3400-\u9fff]{0,200}[A-Za-z0-9][_./\\@=:][A-Za-z0-9][^\s`\u3400-\u9fff]*"
    r"|<[^<>\n]{1,200}>",  # tags
    re.DOTALL,
)
_HAN = re.compile("[\u4e00-\u9fff\u3400-\u4dbf]")
_KANA = re.compile("[\u3040-\u30ff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{2,}|\b[AaI]\b")


def language_of(text: str) -> Language:
    """Return the language of `text`, `en` for anything that is not Chinese.

    Args:
        text: Any text, also mixed with code; the first 4,000 characters count.
    """
    head = text[:SCANNED_CHARACTERS]
    prose = _CODE.sub(" ", head)
    han = len(_HAN.findall(prose))
    if not han or len(_KANA.findall(prose)) * 5 > han:
        return "en"
    words = len(_WORD.findall(prose))
    return "zh" if han / CHARACTERS_PER_WORD > words else "en"


def language_of_run(trajectory: Trajectory) -> Language:
    """Return the language of a run: of what people said in it, else of its task and answers.

    What a parent agent told a sub-agent, what tools returned and what instructions say do
    not count.
    """
    said = [step.text for step in trajectory.steps if step.kind == "user" and not step.agent]
    answered = [step.text for step in trajectory.steps if step.kind == "assistant"]
    for texts in (said, [trajectory.task], answered):
        sample = "\n".join(
            text[: SCANNED_CHARACTERS // 4] for text in texts[:SCANNED_MESSAGES] if text.strip()
        )
        if sample:
            return language_of(sample)
    return "en"
