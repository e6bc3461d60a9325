"""Scripts for other processes, how to talk with them and how to kill them."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

__all__ = [
    "HEAD",
    "WORKS_FOR_EVER",
    "Child",
    "Start",
    "killed_somewhere",
    "line_of",
    "start_child",
    "tell",
]

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
"""What every script begins with."""

WORKS_FOR_EVER = """
h = opened()
number = 0
while True:
    number += 1
    task = f"Load table {name} {number} and tell me the total"
    say("run", h.submit(csv_run(f"{name}_{number}", task=task)))
    say("memory", h.store(f"The build of {name} takes {number} minutes").id)
"""
"""Says every run and every memory that was acknowledged, until it is killed."""


def start_child(script: str, folder: Path, name: str) -> Child:
    """Start a script with `path`, `name`, `opened` and `say` defined."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + script]
    return subprocess.Popen(
        [*command, str(folder), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(child: Child) -> str:
    """Return the next line that a child says."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: Child, line: str = "go") -> None:
    """Say a line to a child."""
    assert child.stdin is not None
    child.stdin.write(line + "\n")
    child.stdin.flush()


def killed_somewhere(child: Child, rng: random.Random, lines: int) -> list[str]:
    """Kill a child after some lines and any moment more; return all that it said."""
    said = [line_of(child) for _ in range(rng.randrange(1, lines))]
    # The moment has to be an arbitrary one; nothing is waited for here.
    time.sleep(rng.uniform(0, 0.05))
    child.kill()
    assert child.stdout is not None
    said += [line.strip() for line in child.stdout if line.endswith("\n")]
    child.wait(30)
    return said
