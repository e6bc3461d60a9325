"""A command and what it left, as the tests of the command line see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)

    def check(self, name: str) -> dict[str, str]:
        """Return the doctor's only finding called `name`."""
        (found,) = (check for check in self.json["checks"] if check["name"] == name)
        return dict(found)


Command: TypeAlias = Callable[..., Done]
"""Runs one command in this process, on the folder of the test."""
