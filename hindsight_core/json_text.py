"""Texts that may be JSON, of whoever wrote them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["read_json"]


def read_json(text: str) -> Any:
    """Return the JSON value of `text`, or `None` if it is none or nested too deep to be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
