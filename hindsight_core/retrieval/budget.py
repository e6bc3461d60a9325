"""How many memories a brief can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hindsight_core.embedding.base import TokenCounter

__all__ = ["budget_for", "fit"]

Item = TypeVar("Item")


def budget_for(token_budget: int, context_window: int | None, context_share: float) -> int:
    """Return the tokens that a brief may take: the budget, and a share of the window.

    Args:
        token_budget: Most tokens.
        context_window: Tokens of the model's context window, `None` if not known.
        context_share: Largest share of the window, 0–1.
    """
    if context_window is None:
        return token_budget
    return min(token_budget, int(context_window * context_share))


def fit(
    items: Sequence[Item],
    render: Callable[[Sequence[Item]], str],
    budget: int,
    count_tokens: TokenCounter,
) -> tuple[tuple[Item, ...], str, int]:
    """Keep as many of the first items as fit, dropping the last ones first.

    Args:
        items: In order of rank.
        render: Makes the text of some items.
        budget: Most tokens of the text.
        count_tokens: Counts the tokens of a text.

    Returns:
        The items kept, their text and its tokens; `()`, `""` and 0 if not even one fits.
    """
    for count in range(len(items), 0, -1):
        kept = items[:count]
        text = render(kept)
        tokens = count_tokens(text)
        if tokens <= budget:
            return tuple(kept), text, tokens
    return (), "", 0
