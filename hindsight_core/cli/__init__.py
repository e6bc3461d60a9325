"""The command line `hindsight`: every verb of the facade, a demo and a doctor."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    What the commands need is imported here, so that Ctrl-C is answered while it is loading too.

    Args:
        arguments: The words after `hindsight`, by default those of this process.

    Raises:
        SystemExit: With 0 for `--help` and `--version`.
    """
    try:
        from hindsight_core.cli.entry import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.stderr.write("hindsight: interrupted\n")
        return INTERRUPTED
