"""Markdown out of what a model wrote, code and file names left as they are."""

from __future__ import annotations

import re

__all__ = ["plain_text"]

_FENCE_LINE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*$\n?", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]+)(?=\S)", re.MULTILINE)
_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*\*(?![\w*])")
_BOLD_HAN = re.compile(r"\*\*(?=[\u3400-\u9fff“「])([^*\n]+?)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*/.])\*(?=[^\s*.])([^*\n]+?)(?<=[^\s*/])\*(?![\w*/.])")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\((https?://[^)\s]+)\)")


def plain_text(text: str) -> str:
    """Return `text` without Markdown: marks of headings, lists, emphasis, code and links.

    Only pairs that can't be anything else go, so globs, dunder names and comments in code
    stay; a link becomes its words with the address in brackets.
    """
    text = _FENCE_LINE.sub("", text)
    text = _LINE_START.sub("", text)
    for pattern in (_BOLD, _BOLD_HAN, _EMPHASIS, _CODE):
        text = pattern.sub(r"\1", text)
    return _LINK.sub(r"\1 (\2)", text).strip()
