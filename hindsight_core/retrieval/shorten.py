"""A rendered brief made shorter, where only its text is at hand."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["shortened"]

_ITEM = re.compile(r"\[(\d+)\] ")


def shortened(text: str, limit: int, count_tokens: Callable[[str], int]) -> str:
    """Return `text` with the lowest-ranked memories left out until it has `limit` tokens.

    Headings that lose their last memory go too. Where not even one memory fits, nothing does.

    Args:
        text: A brief as `render` made it.
        limit: Most tokens.
        count_tokens: Counts tokens.
    """
    lines = text.split("\n")
    while count_tokens("\n".join(lines)) > limit:
        ranks = {index: int(m[1]) for index, line in enumerate(lines) if (m := _ITEM.match(line))}
        if len(ranks) < 2:
            return ""
        worst = max(ranks, key=lambda index: ranks[index])
        is_alone = worst - 1 not in ranks and worst + 1 not in ranks
        # A heading stands right above its memories; the opening line is never one.
        first = worst - 1 if is_alone and worst > 1 else worst
        del lines[first : worst + 1]
    return "\n".join(lines)
