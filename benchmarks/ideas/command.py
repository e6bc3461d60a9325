"""`python -m benchmarks ideas`: what each idea for the ranking changes, on every set."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.context import Context
from benchmarks.embeddings import KeptEmbedder, default_cache
from benchmarks.errors import DataMissingError
from benchmarks.ideas.building import SETS
from benchmarks.ideas.catalog import GROUPS, Catalog
from benchmarks.ideas.measuring import SetMeasure
from benchmarks.ideas.table import Findings, findings_json, print_findings
from hindsight_core.embedding.base import DenseEmbedder
from hindsight_core.embedding.fastembed import open_embedder
from hindsight_core.settings import Settings

__all__ = ["ideas_main"]

MOST = 600
"""Cases of a set; twice as many take twice the time and narrow the intervals by a third."""


def ideas_main(argv: Sequence[str], *, embedder: DenseEmbedder | None = None) -> int:
    """Measure the variants and print a table for each idea.

    Args:
        argv: The arguments behind `ideas`.
        embedder: Embeds, by default the model that Hindsight uses by default.

    Returns:
        0, or 2 if no data is there.
    """
    options = _parser().parse_args(argv)
    with KeptEmbedder(embedder or open_embedder(Settings()), options.cache) as kept:
        context = Context(options.data, kept, options.limit)
        with Catalog(context, options.groups or GROUPS) as catalog:
            findings = Findings(context, catalog.variants)
            for name in options.sets or tuple(SETS):
                _measure(name, options.most, catalog, findings)
                # After every set, since all of them take a while.
                _write(findings, options.json)
    if not findings.default:
        return 2
    print_findings(findings, Console() if sys.stdout.isatty() else Console(width=190))
    return 0


def _measure(name: str, most: int, catalog: Catalog, findings: Findings) -> None:
    try:
        measure = SetMeasure(name, findings.context, most)
    except DataMissingError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return
    findings.default[name] = measure.default
    findings.cases[name] = len(measure.ideas.cases)
    findings.measured += measure.of(catalog.variants)
    catalog.note_costs(measure)


def _write(findings: Findings, path: Path | None) -> None:
    if path is None or not findings.default:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(findings_json(findings), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ideas", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--limit", type=int, help="most cases of a set to ask about")
    parser.add_argument(
        "--most", type=int, default=MOST, help="most cases of a set, evenly spread; 0 for all"
    )
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder that embeddings are kept in"
    )
    parser.add_argument(
        "--only", dest="groups", action="append", choices=GROUPS, help="this idea alone"
    )
    parser.add_argument(
        "--set", dest="sets", action="append", choices=tuple(SETS), help="this set alone"
    )
    return parser
