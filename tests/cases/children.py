"""Scripts for other processes, and how to talk with them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

Child = subprocess.Popen[str]
Start = Callable[..., Child]

HEAD = """
import os, sys, threading
from pathlib import Path
from hindsight_core import Hindsight, Settings, Trajectory
from hindsight_core.testing import HashingEmbedder, csv_run
path, name = sys.argv[1], sys.argv[2]

def opened(**options):
    settings = Settings(poll_seconds=0.05, drain_seconds=1.0)
    given = {"namespace": ("acme", "alice"), "settings": settings, "embedder": HashingEmbedder()}
    return Hindsight.open(path, **(given | options))

def say(*words):
    print(*words, flush=True)
"""


def line_of(child: Child) -> str:
    """Return the next line that a child says."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: Child, line: str = "go") -> None:
    """Say a line to a child."""
    assert child.stdin is not None
    child.stdin.write(line + "\n")
    child.stdin.flush()
