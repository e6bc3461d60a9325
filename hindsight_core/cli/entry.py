"""Where the command line starts and ends: dispatch, errors, exit codes."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from hindsight_core.cli import (
    contradicting,
    diagnosis,
    foreseeing,
    playing,
    reflecting,
    reviewing,
    tending,
    verbs,
)
from hindsight_core.cli.arguments import UsageError
from hindsight_core.cli.output import Output
from hindsight_core.cli.parser import build_parser
from hindsight_core.cli.session import Target, is_missing
from hindsight_core.errors import (
    ConfigurationError,
    HindsightError,
    JournalError,
    MemoryNotFoundError,
    ModelUnavailableError,
    SchemaMismatchError,
    StoreError,
)
from hindsight_core.settings import Settings

__all__ = ["exit_code", "run"]

Command = Callable[[argparse.Namespace, Output], int]

COMMANDS: dict[str, Command] = {
    "demo": playing.demo,
    "reflect": reflecting.reflect,
    "store": verbs.store,
    "retrieve": verbs.retrieve,
    "forethought": foreseeing.forethought,
    "contradictions": contradicting.contradictions,
    "list": verbs.list_memories,
    "show": verbs.show,
    "why": verbs.why,
    "forget": verbs.forget,
    "feedback": verbs.feedback,
    "history": tending.history,
    "rollback": tending.rollback,
    "release": tending.release,
    "restore": tending.restore,
    "maintain": tending.maintain,
    "consolidate": tending.consolidate,
    "review": reviewing.review,
    "stats": verbs.stats,
    "doctor": diagnosis.doctor,
}

_READING = frozenset(COMMANDS) - {"demo", "reflect", "store", "doctor"}
"""Verbs that find nothing where there is no memory yet."""

_TELLING = (0, 4)
"""Exit codes after which it helps to know that there was no memory."""

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (MemoryNotFoundError, 4),
    (ConfigurationError, 2),
    (ModelUnavailableError, 2),
    (SchemaMismatchError, 2),
    (StoreError, 3),
    (JournalError, 3),
)


def exit_code(error: Exception) -> int:
    """Return the exit code that stands for `error`."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: The words after `hindsight`.

    Raises:
        KeyboardInterrupt: After Ctrl-C.
        SystemExit: With 0 for `--help` and `--version`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    out = Output(wants_json="--json" in arguments)
    absence = ""
    try:
        options = _parsed(arguments)
        absence = _absence(options)
        code = COMMANDS[options.verb](options, out)
    except Exception as error:  # noqa: BLE001 - the last handler; it tells people in one line
        code = _end(error, out)
    if absence and code in _TELLING and not out.wants_json:
        out.note(absence)
    return code


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    options, others = build_parser(version("hindsight-memory")).parse_known_args(arguments)
    if others:
        verb = options.verb
        raise UsageError(
            f"{verb} takes no {' '.join(others)!r}; `hindsight {verb} --help` shows what it takes"
        )
    return options


def _absence(options: argparse.Namespace) -> str:
    """Return that there was no memory to read from, so that a mistyped folder is noticed."""
    if options.verb not in _READING:
        return ""
    target = Target.of(options)
    if not is_missing(target):
        return ""
    return f"there was no memory at {str(target.path)!r}; --path names another folder"


def _end(error: Exception, out: Output) -> int:
    if isinstance(error, BrokenPipeError):  # `hindsight list | head` is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        error = HindsightError(f"no space is left where it was written to: {error}")
    if Settings.is_debugged():
        raise error
    if not isinstance(error, (HindsightError, OSError)):
        out.note("hindsight: this should not happen; HINDSIGHT_MEMORY_DEBUG=1 shows where it did")
    out.fail(error)
    return exit_code(error)
