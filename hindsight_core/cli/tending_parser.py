"""The options of the verbs that tend memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

from hindsight_core.cli.arguments import filled, identity, positive, version, whole

__all__ = ["add_tending"]

AddVerb: TypeAlias = Callable[[str, str], argparse.ArgumentParser]
"""Adds a verb by its name and help."""

HISTORY = "show a memory's life as a line of versions"
ROLLBACK = "take a memory back to an earlier version, or all that a run taught"
RELEASE = "let a memory out of quarantine, once it was read and found harmless"
RESTORE = "bring an archived, forgotten or replaced memory back into use"
MAINTAIN = "let go of what expired, grew cold, proved wrong or is there twice"
CONSOLIDATE = "abstract episodes into rules"
REVIEW = "judge what is doubtful, and a random sample"


def add_tending(add: AddVerb) -> None:
    """Add the verbs with `add`."""
    add("history", HISTORY).add_argument("id", metavar="ID", type=identity)
    rollback = add("rollback", ROLLBACK)
    what: Any = rollback.add_mutually_exclusive_group(required=True)
    what.add_argument("id", metavar="ID", nargs="?", type=identity)
    what.add_argument(
        "--run", dest="run_id", metavar="RUN", type=identity, help="all that this run taught"
    )
    rollback.add_argument(
        "--to", type=version, metavar="VERSION|TIME", help="default: the one before"
    )
    _dry_run(rollback)
    add("release", RELEASE).add_argument("id", metavar="ID", type=identity)
    add("restore", RESTORE).add_argument("id", metavar="ID", type=identity)
    maintain = add("maintain", MAINTAIN)
    _dry_run(maintain)
    maintain.add_argument("--everything", action="store_true", help="compare all for merging")
    consolidate = add("consolidate", CONSOLIDATE)
    _dry_run(consolidate)
    consolidate.add_argument("--everything", action="store_true", help="also what is not new")
    consolidate.add_argument("--token-limit", type=positive, metavar="N", help="most tokens sent")
    review = add("review", REVIEW)
    review.add_argument("--limit", type=positive, default=20, metavar="N")
    review.add_argument("--seed", type=whole, default=0, metavar="N", help="of the random sample")
    review.add_argument(
        "--verdicts", metavar="FILE", type=filled, help="JSON verdicts to take in, - for stdin"
    )


def _dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
