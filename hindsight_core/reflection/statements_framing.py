"""The sentences that a person said for themselves: no code, no quotes, no pasted text.

A long message is mostly something pasted with a line in front; the line is the person's, the
rest is a document that speaks of other people. When in doubt a sentence is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hindsight_core.reflection.rules_text import plain

__all__ = ["Sentence", "clean_words", "own_sentences", "supposes"]

SCANNED = 20_000
"""Characters of a message that are read."""

LONG_MESSAGE = 700
"""Characters from which on a message counts as mostly pasted."""

FRAMING = 300
"""Characters at the start of a long message that are still the person's own."""

LONGEST_SENTENCE = 400
"""Characters of a sentence that can still be a statement."""

_FENCED = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]{0,40})(?:\s[^<>\n]{0,200})?>.*?(?:</\1>|\Z)", re.DOTALL)
_CODE_LINE = re.compile(
    r"^[ \t]*(?:(?://|/\*|#(?!\w|#)|--(?=\s)).*|`[^`\n]*\s[^`\n]*`[ \t.]*)$", re.MULTILINE
)
"""A comment, a heading, or a line that is code as a whole."""
_QUOTED_LINE = re.compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_MAIL_HEADER = re.compile(
    r"^(?:from|to|subject|date|sent|cc|发件人|收件人|主题|日期)\s*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_HANDS_OVER = re.compile(
    r"\b(?:translate|rewrite|re-?write|proofread|paraphrase|summari[sz]e|edit|polish|reply to"
    r"|respond to|analy[sz]e|classify|correct|fix|improve|extract|grammar|sentiment|read|review"
    r"|transcri\w+|story|poem|lyrics|song|novel|dialogue|quote|screenplay|character|persona)\b"
    r"|翻译|改写|润色|总结|概括|摘要|校对|修改|分析|提取|回复|续写|故事|诗|歌词|小说|对白|角色",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r"\b(?:remember|note|fyi|preferences?|about me|keep in mind|for the record|reminder"
    r"|correction|by the way|important|(?:for|in) the future|from now on|going forward"
    r"|for future reference|changed my mind|remember this|remember the following)\W*$"
    r"|(?:记住|记一下|注意|提醒|偏好|习惯|关于我|备注|以后|今后|从现在起|更正)\W*$",
    re.IGNORECASE,
)
_COLON_END = re.compile(r"[:：](?=\s|[\"“'「『]|$)|：")
_QUOTE = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|「[^」\n]{0,400}」|『[^』\n]{0,400}』")
_ENDS = re.compile(r"(?<=[.!?])[\"”)]*\s+|(?<=[。！？!?])[”」)]*|[\n;；]+")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|mr|mrs|ms|dr|st|vs|no|etc|approx)|\b[A-Z])\.$", re.I)
_SUPPOSES = re.compile(
    r"^(?:(?:let's|let us) (?:say|pretend|suppose|imagine|assume)|suppose|supposing|imagine|assume"
    r"|assuming|pretend|hypothetically|if i (?:was|were|had)|say i|for example)\b"
    r"|^(?:假设|假如|假装|想象|设想|比如|例如|如果我是)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a person.

    Attributes:
        text: The sentence on one line, without its end mark.
        question: Whether it asks.
    """

    text: str
    question: bool = False


def own_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a message that its author said for themselves, in order."""
    words = clean_words(text)
    if len(words) > LONG_MESSAGE or _MAIL_HEADER.search(words):
        words = words[:FRAMING].rsplit("\n\n", 1)[0] if "\n\n" in words[:FRAMING] else ""
    sentences: list[Sentence] = []
    for piece in _pieces(words):
        own, hands_over = _own_part(piece)
        short = own.strip(" \t.!?。！？~…,，")
        if short and len(short) <= LONGEST_SENTENCE:
            asks = own.rstrip(' "”)').endswith(("?", "？")) or own.rstrip(" 。").endswith(
                ("吗", "呢")
            )
            sentences.append(Sentence(plain(short, LONGEST_SENTENCE), asks))
        if hands_over:
            break
    return tuple(sentences)


def supposes(text: str) -> bool:
    """Whether a sentence opens a supposition, so that what follows it is not meant."""
    return bool(_SUPPOSES.match(text))


def clean_words(text: str) -> str:
    """Return a message without code, tagged blocks and quoted lines."""
    head = text[:SCANNED]
    head = _TAGGED.sub("\n", _FENCED.sub("\n", head))
    head = _CODE_LINE.sub("", head)
    return _QUOTED_LINE.sub("", head).replace("’", "'").strip()


def _pieces(words: str) -> list[str]:
    """Split into sentences, keeping their end marks."""
    pieces: list[str] = []
    start = 0
    for end in _ENDS.finditer(words):
        piece = words[start : end.start()]
        if end.group().strip(' "”)') == "" and _ABBREVIATION.search(piece[-8:]):
            continue
        pieces.append(piece)
        start = end.end()
    pieces.append(words[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _own_part(piece: str) -> tuple[str, bool]:
    """Return the part of a sentence that is the author's, and whether a document follows it."""
    colon = _COLON_END.search(piece)
    if colon is not None and not _INTRODUCES.search(piece[: colon.start()]):
        return piece[: colon.start()], True
    unquoted = _QUOTE.sub(_keep_short_quote, piece)
    if _HANDS_OVER.search(piece) and re.search(
        r"\b(?:this|the following|below|these)\b|以下|下面|这段|这句|这篇|这封",
        piece,
        re.IGNORECASE,
    ):
        return unquoted, True
    return unquoted, False


def _keep_short_quote(match: re.Match[str]) -> str:
    """Keep a quoted word or two, drop what could be somebody's sentence."""
    inside = match.group()
    return inside if len(inside) <= 22 and inside.count(" ") <= 2 else " […] "
