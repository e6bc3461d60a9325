"""What tending with a model works with, taken from the open engine."""

from __future__ import annotations

from hindsight_core.engine import Engine
from hindsight_core.lifecycle.model_work import ModelWork
from hindsight_core.namespaces import Namespace

__all__ = ["model_work"]

PROMPTS = 5
"""Prompts of full size that may be sent at once where nobody says how many tokens may be."""


def model_work(
    engine: Engine,
    namespace: Namespace,
    *,
    prompt_tokens: int,
    output_tokens: int,
    token_limit: int | None = None,
) -> ModelWork:
    """Return the means of `engine` for a model's work on `namespace`.

    Args:
        engine: The open memory.
        namespace: Whose memories.
        prompt_tokens: Most tokens of one prompt.
        output_tokens: Cap on one answer.
        token_limit: Most tokens to send altogether, `None` for `PROMPTS` of the model's size.
    """
    if token_limit is None:
        token_limit = PROMPTS * engine.settings.model.max_input_tokens
    return ModelWork(
        namespace=namespace,
        lifecycle=engine.profile.lifecycle,
        store=engine.store,
        writer=engine.writer,
        dense=engine.dense,
        sparse=engine.sparse,
        redactor=engine.redactor,
        count_tokens=engine.count_tokens,
        token_limit=token_limit,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
    )
