"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder, default_cache
from benchmarks.errors import DataMissingError, PeersMissingError
from benchmarks.ideas.command import ideas_main
from benchmarks.peers.compare import run_peers
from benchmarks.report import Report, all_json, report_json
from benchmarks.report_command import report_main
from benchmarks.sets.chinese import run_chinese
from benchmarks.sets.credit import run_credit
from benchmarks.sets.maintain import run_maintain
from benchmarks.sets.pairs import run_contradiction, run_currency
from benchmarks.sets.poison import run_poison
from benchmarks.sets.recall import run_beam, run_locomo
from benchmarks.sets.replay import run_replay
from benchmarks.sets.runs import run_experience, run_success_first
from benchmarks.sets.same_task import run_same_task
from benchmarks.sets.scale import run_scale
from benchmarks.sets.soak import run_soak
from benchmarks.sets.speed import run_speed
from benchmarks.table import print_report
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.retrieval.profiles import PROFILES
from hindsight_core.settings import Settings

__all__ = ["BENCHMARKS", "main"]

BENCHMARKS: Mapping[str, Callable[[Context], Report]] = {
    "locomo": run_locomo,
    "beam": run_beam,
    "currency": run_currency,
    "contradiction": run_contradiction,
    "same-task": run_same_task,
    "success-first": run_success_first,
    "experience": run_experience,
    "chinese": run_chinese,
    "replay": run_replay,
    "poison": run_poison,
    "speed": run_speed,
    "scale": run_scale,
    "maintain": run_maintain,
    "credit": run_credit,
    "soak": run_soak,
    "peers": run_peers,
}
"""Every benchmark by name, in the order that `all` runs them."""


def main(argv: Sequence[str] | None = None, *, embedder: DenseEmbedder | None = None) -> int:
    """Run a benchmark and print its table, or make the report of what was run.

    Args:
        argv: The arguments, by default those of the process.
        embedder: Embeds, by default the model that Hindsight uses by default.

    Returns:
        0, or 2 if the data is not there, or the peers can't be installed.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["report"]:
        return report_main(arguments[1:])
    if arguments[:1] == ["ideas"]:
        return ideas_main(arguments[1:], embedder=embedder)
    options = _parser().parse_args(arguments)
    profiles = tuple(name for name in PROFILES if options.profiles and name != Settings().profile)
    names = tuple(BENCHMARKS) if options.name == "all" else (options.name,)
    console = Console() if sys.stdout.isatty() else Console(width=200)
    reports: list[Report] = []
    missing = 0
    with KeptEmbedder(embedder or open_embedder(Settings()), options.cache) as kept:
        for name in names:
            try:
                report = BENCHMARKS[name](Context(options.data, kept, options.limit, profiles))
            except (DataMissingError, PeersMissingError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                missing += 1
                continue
            print_report(report, console)
            reports.append(report)
    if options.json and reports:
        found = all_json(reports) if options.name == "all" else report_json(reports[0])
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 2 if missing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="`python -m benchmarks report --from FILE` makes the report of what --json wrote, "
        "`python -m benchmarks ideas --data DIR` measures variants of the ranking.",
    )
    parser.add_argument("name", choices=(*BENCHMARKS, "all"), help="which benchmark")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument(
        "--profiles",
        action="store_true",
        help="a row for each other profile as well (currency, contradiction, replay, credit)",
    )
    parser.add_argument("--limit", type=_positive, help="most cases to ask about")
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder that embeddings are kept in"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number
