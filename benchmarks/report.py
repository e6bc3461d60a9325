"""What a benchmark hands back, as values and as JSON."""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hindsight_core
from benchmarks.metrics import RESAMPLES, SEED, Measure
from hindsight_core.retrieval.profiles import profile_named
from hindsight_core.settings import Settings

__all__ = [
    "Report",
    "Row",
    "all_json",
    "defaults",
    "machine",
    "report_json",
    "report_rows",
    "source",
    "surroundings",
    "versions",
]

PACKAGES = (
    "hindsight-memory",
    "fastembed",
    "numpy",
    "onnxruntime",
    "qdrant-client",
    "qdrant-edge-py",
    "tiktoken",
    "tokenizers",
)
"""What the figures depend on besides this package."""
OWN_SETTINGS = ("embedding_path", "cache_dir", "model")
"""Settings that belong to a machine or its user; every default of them is empty."""


@dataclass(frozen=True, slots=True)
class Row:
    """One system's figures.

    Attributes:
        system: `dense`, `bm25`, `hindsight` or another name that says what was run.
        measures: The figures by metric.
    """

    system: str
    measures: Mapping[str, Measure]


@dataclass(frozen=True, slots=True)
class Report:
    """What one benchmark found.

    Attributes:
        name: The benchmark.
        n: Cases: questions, tasks or pairs.
        rows: The systems.
        notes: What the table is read with: what was left out, merged or set otherwise.
        settings: What the figures depend on, JSON-safe.
        decimals: Decimals in the table.
    """

    name: str
    n: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    decimals: int = 3

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics, in order of first use."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.measures))


def report_json(report: Report) -> dict[str, Any]:
    """Return `report` as the JSON that `--json` writes."""
    return {
        "name": report.name,
        "n": report.n,
        "rows": report_rows(report),
        "notes": list(report.notes),
        "settings": {**report.settings, "bootstrap": {"resamples": RESAMPLES, "seed": SEED}},
        "decimals": report.decimals,
        **surroundings(),
    }


def report_rows(report: Report) -> list[dict[str, Any]]:
    """Return the rows as `--json` writes them."""
    return [_row_json(row) for row in report.rows]


def surroundings() -> dict[str, Any]:
    """Return what figures are read with, whatever they are of: settings, code, machine, date."""
    return {
        "defaults": defaults(),
        "source": source(),
        "versions": versions(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def all_json(reports: Sequence[Report]) -> dict[str, Any]:
    """Return the JSON of several reports at once."""
    return {
        "name": "all",
        "n": sum(report.n for report in reports),
        "benchmarks": [report_json(report) for report in reports],
        "versions": versions(),
        "machine": machine(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of what the figures depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def defaults() -> dict[str, Any]:
    """Return the default settings and the numbers of the default profile, JSON-safe."""
    settings = asdict(Settings())
    for name in OWN_SETTINGS:
        del settings[name]
    profile = asdict(profile_named(settings["profile"]))
    found: dict[str, Any] = _finite({"settings": settings, "profile": profile})
    return found


def source() -> str:
    """Return a digest of the core's source, by which figures of other code are known.

    It is the start of the SHA-256 over the names and contents of all its Python files.
    """
    folder = Path(hindsight_core.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def machine() -> dict[str, Any]:
    """Return what is known about this machine, without its name."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else [],
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _row_json(row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {"system": row.system}
    for name, measure in row.measures.items():
        values[name] = _number(measure.value)
        values[f"{name}_ci"] = [_number(measure.low), _number(measure.high)]
        values[f"{name}_n"] = measure.n
    return values


def _number(value: float) -> float | None:
    """Return `value` as JSON can say it; there is no NaN in JSON."""
    return None if value != value else round(value, 6)


def _finite(value: Any) -> Any:
    """Return `value` with what JSON can't say as text."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
