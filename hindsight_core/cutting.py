"""How a text that is too long is cut: at a letter, or at a word where there is one near."""

from __future__ import annotations

__all__ = ["clipped", "up_to_word"]


def clipped(text: str, length: int, mark: str = "…") -> str:
    """Return `text` where it has at most `length` characters, else its beginning with `mark`.

    Args:
        text: What is cut, at whatever letter it is.
        length: Most characters of the result, `mark` among them.
        mark: Ends a text that was cut.
    """
    return text if len(text) <= length else text[: length - len(mark)] + mark


def up_to_word(text: str, length: int, least: int) -> str:
    """Return the beginning of `text`, cut before a word that does not fit, without a mark.

    Args:
        text: What is cut.
        length: Most characters of the result.
        least: Characters of which more have to be left; where the last space does not leave
            them, as in Chinese, the cut is at `length`.
    """
    if len(text) <= length:
        return text
    cut = text[:length]
    space = cut.rfind(" ")
    return cut[:space] if space > least else cut
