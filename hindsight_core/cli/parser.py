"""What the command line understands: verbs, options and their help."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from hindsight_core.cli.arguments import CommandParser, count, filled, identity, moment, share
from hindsight_core.cli.tending_parser import add_tending
from hindsight_core.models import CATEGORIES, KINDS, STATUSES
from hindsight_core.retrieval.contradicting import LEAST_SCORE
from hindsight_core.trajectory import OUTCOME_LABELS, OUTCOME_SOURCES

__all__ = ["EXIT_CODES", "build_parser"]

EXIT_CODES = """\
exit codes:
  0  done
  1  the operation failed, or the doctor found something broken
  2  wrong usage or configuration
  3  the store or the journal is locked, unreachable or damaged
  4  no such memory or run
130  interrupted
"""

_Verbs: TypeAlias = "argparse._SubParsersAction[CommandParser]"


def build_parser(version: str) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    Args:
        version: What `--version` shows.
    """
    shared = _shared_options()
    parser = CommandParser(
        prog="hindsight",
        description="Memory that an agent earns by looking back at its finished runs.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hindsight {version}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    _add_demo(verbs, shared)
    _add_reflect(verbs, shared)
    _add_store(verbs, shared)
    _add_retrieve(verbs, shared)
    _add_forethought(verbs, shared)
    _add_contradictions(verbs, shared)
    _add_list(verbs, shared)
    for name, text in (
        ("show", "show one memory with its history"),
        ("why", "show the runs and steps that taught a memory"),
    ):
        _verb(verbs, shared, name, text).add_argument("id", metavar="ID", type=identity)
    _add_forget(verbs, shared)
    _add_feedback(verbs, shared)
    add_tending(lambda name, text: _verb(verbs, shared, name, text))
    _verb(verbs, shared, "stats", "count what is stored, waiting and failed")
    _verb(verbs, shared, "doctor", "check the installation, the store and the journal")
    return parser


def _shared_options() -> CommandParser:
    shared = CommandParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("where and how")
    group.add_argument(
        "--path", type=filled, help="folder of the memory (HINDSIGHT_MEMORY_PATH, else ./memory)"
    )
    group.add_argument("--url", type=filled, help="a Qdrant server instead (HINDSIGHT_MEMORY_URL)")
    group.add_argument("--namespace", help="whose memory, for example acme/alice (default)")
    group.add_argument("--profile", help="scoring profile (HINDSIGHT_MEMORY_PROFILE, balanced)")
    group.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    return shared


def _verb(verbs: _Verbs, shared: CommandParser, name: str, text: str) -> argparse.ArgumentParser:
    return verbs.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        parents=[shared],
        allow_abbrev=False,
    )


def _add_demo(verbs: _Verbs, shared: CommandParser) -> None:
    _verb(
        verbs,
        shared,
        "demo",
        "watch an agent learn from a failed tool call (kept only where --path is given)",
    )


def _add_reflect(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "reflect", "learn from recorded runs")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--from",
        dest="files",
        nargs="+",
        metavar="FILE",
        type=filled,
        help="files of recorded runs",
    )
    what.add_argument(
        "--retry", action="store_true", help="reflect again on the runs that failed or were shed"
    )


def _add_store(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "store", "write one memory by hand")
    parser.add_argument("content", metavar="TEXT", help="one fact, or - to read it from stdin")
    parser.add_argument("--kind", choices=KINDS, default="semantic")
    parser.add_argument("--category", choices=CATEGORIES, default="fact")
    parser.add_argument("--task-type", default="general", metavar="TYPE", type=filled)
    parser.add_argument("--applies-when", default="", metavar="TEXT")
    parser.add_argument("--not-when", default="", metavar="TEXT")
    parser.add_argument(
        "--tag", dest="tags", action="append", default=[], metavar="TAG", type=filled
    )
    parser.add_argument("--importance", type=share, default=0.5, metavar="0–1")
    parser.add_argument("--confidence", type=share, metavar="0–1")
    parser.add_argument("--valid-until", type=moment, metavar="TIME")


def _add_retrieve(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "retrieve", "rank the memories for a task")
    parser.add_argument("task", metavar="TASK", type=filled)
    parser.add_argument("--top-k", type=count, metavar="N")
    parser.add_argument("--task-type", metavar="TYPE", type=filled)
    parser.add_argument(
        "--tag", dest="tags", action="append", default=[], metavar="TAG", type=filled
    )
    parser.add_argument("--kind", dest="kinds", action="append", choices=KINDS)
    parser.add_argument("--since", type=moment, metavar="TIME")
    parser.add_argument("--until", type=moment, metavar="TIME")
    parser.add_argument(
        "--abstain", action="store_true", help="leave out what a brief would leave out"
    )
    parser.add_argument("--min-confidence", type=share, default=0.0, metavar="0–1")


def _add_forethought(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "forethought", "tell what past runs warn of before a task")
    parser.add_argument("task", metavar="TASK", type=filled)
    parser.add_argument("--task-type", metavar="TYPE", type=filled)
    parser.add_argument(
        "--run", dest="run_id", metavar="RUN", type=identity, help="the run that it is for"
    )


def _add_contradictions(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(
        verbs, shared, "contradictions", "show what contradicts a statement, or what is open"
    )
    parser.add_argument(
        "statement",
        metavar="STATEMENT",
        nargs="?",
        type=filled,
        help="taken to be newer than what is known; without it, what memories contradict each "
        "other and nobody has settled",
    )
    parser.add_argument("--top-k", type=count, default=5, metavar="N")
    parser.add_argument(
        "--least", type=share, default=LEAST_SCORE, metavar="0–1", help="least score of a result"
    )


def _add_list(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "list", "page through the memories")
    parser.add_argument("--limit", type=count, default=50, metavar="N")
    parser.add_argument("--cursor", metavar="CURSOR", help="what the page before ended with")
    parser.add_argument("--kind", dest="kinds", action="append", choices=KINDS)
    parser.add_argument("--category", dest="categories", action="append", choices=CATEGORIES)
    parser.add_argument(
        "--status", dest="statuses", action="append", choices=(*STATUSES, "any"), metavar="STATUS"
    )
    parser.add_argument(
        "--task-type", dest="task_types", action="append", metavar="TYPE", type=filled
    )
    parser.add_argument("--tag", dest="tags", action="append", metavar="TAG", type=filled)
    parser.add_argument(
        "--run", dest="run_id", metavar="RUN", type=identity, help="what this run taught"
    )


def _add_forget(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "forget", "take memories out of use; their trace stays")
    what: Any = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("id", metavar="ID", nargs="?", type=identity)
    what.add_argument(
        "--run", dest="run_id", metavar="RUN", type=identity, help="all that this run taught"
    )
    parser.add_argument("--reason", default="", metavar="TEXT")


def _add_feedback(verbs: _Verbs, shared: CommandParser) -> None:
    parser = _verb(verbs, shared, "feedback", "tell how a run or a memory turned out")
    about: Any = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--run", dest="run_id", metavar="RUN", type=identity)
    about.add_argument("--memory", dest="memory_id", metavar="ID", type=identity)
    verdict = parser.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--outcome", choices=OUTCOME_LABELS, help="of the run")
    verdict.add_argument("--helpful", dest="helpful", action="store_true", default=None)
    verdict.add_argument("--harmful", dest="helpful", action="store_false", default=None)
    parser.add_argument("--source", choices=OUTCOME_SOURCES, default="user")
    parser.add_argument("--reason", default="", metavar="TEXT")
