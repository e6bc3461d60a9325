"""What the runs of the report ran on, and with which settings; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.report_runs import Run
from benchmarks.report_tables import table

__all__ = ["circumstances", "default_settings", "pairs"]


def circumstances(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what the runs ran on and when, and where they differ."""
    yield from ("## Machine, versions, dates", "")
    for title, values in (
        ("Machine", [_machine(run) for run in runs if run.machine]),
        ("Versions", [pairs(run.versions) for run in runs if run.versions]),
        ("Code", [f"`{run.source}`" for run in runs if run.source]),
    ):
        different = list(dict.fromkeys(values))
        unknown = len(runs) - len(values)
        without = f" (not recorded by {unknown} of {len(runs)} runs)" if unknown else ""
        if len(different) == 1:
            yield f"- {title}: {different[0]}{without}"
        elif different:
            yield f"- {title}, **not the same in all runs**{without}:"
            yield from (f"  - {one}" for one in different)
        else:
            yield f"- {title}: not recorded"
    yield ""
    yield (
        "Code is the start of the SHA-256 over the core's source, load the average of 1, 5 and 15 "
        "minutes at the end of a run. Intervals are 95 %, by bootstrap over the cases. A figure "
        "without an interval was taken once."
    )
    yield ""
    head = ("benchmark", "ended", "n", "cores", "load", "code")
    yield from table(head, (_ended(run) for run in runs), right=2)
    yield ""


def _ended(run: Run) -> tuple[str, ...]:
    load = ", ".join(f"{one:g}" for one in run.machine.get("load", ())) or "–"
    cores = str(run.machine.get("cores", "–"))
    date, source = run.date or "not recorded", f"`{run.source}`" if run.source else "–"
    return f"`{run.name}`", date, f"{run.n:,}", cores, load, source


def _machine(run: Run) -> str:
    names = ("processor", "cores", "system", "release", "architecture")
    return pairs({name: run.machine[name] for name in names if name in run.machine})


def pairs(values: Mapping[str, object]) -> str:
    """Return names and values in one line."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def default_settings(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the default settings, and whether all runs had the same."""
    yield from ("## Settings", "")
    recorded = [run for run in runs if run.defaults]
    different = {json.dumps(run.defaults, sort_keys=True): run.defaults for run in recorded}
    if len(different) == 1:
        yield (
            "One set of default settings, with the default profile, gives all rows named "
            "`hindsight`, in every benchmark; what differs from it is named in the row or below "
            "its table."
        )
    elif different:
        yield "**The runs were not made with one set of default settings**; each stands here."
    else:
        yield "The default settings were not recorded."
    if unknown := [run.name for run in runs if not run.defaults]:
        yield f"Not recorded by {', '.join(unknown)}."
    yield ""
    for found in different.values():
        yield from ("```json", _by_line(found), "```", "")


def _by_line(found: Mapping[str, Mapping[str, object]]) -> str:
    """Return the settings as JSON with a line for each."""
    parts = []
    for name, values in found.items():
        inner = ",\n".join(
            f"    {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in values.items()
        )
        parts.append(f"  {json.dumps(name)}: {{\n{inner}\n  }}")
    return "{\n" + ",\n".join(parts) + "\n}"
