"""The one report of all benchmarks, as Markdown; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.goals import GOALS, Verdict, verdicts
from benchmarks.report_circumstances import circumstances, default_settings, pairs
from benchmarks.report_runs import Figures, Run
from benchmarks.report_tables import figures_table, goals_table, number, quality_table, table
from benchmarks.tried import TRIED

__all__ = ["Drawn", "render"]

QUALITY = (
    "locomo", "beam", "currency", "contradiction", "same-task", "success-first", "experience",
    "replay", "chinese", "poison", "credit",
)  # fmt: skip
SPEED = ("speed", "scale", "peers", "langchain-adapter", "llamaindex-adapter")
RELIABILITY = ("soak", "maintain")
DEPTHS = (1, 5, 10, 20)
MILLION = 1_000_000
CALCULATED = (
    ("outside_p50_ms", "retrieve outside the embedding, p50, ms"),
    ("peak_mb", "peak memory above the bare embedder, MB"),
    ("open_s", "opening the store, s"),
)
BASE, LARGE = ("10,000 in 20 namespaces", 10_000), ("100,000 in 20 namespaces", 100_000)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as the report refers to it.

    Attributes:
        path: Relative to the report.
        title: What it shows, in a few words.
        text: What is to be seen in it.
    """

    path: str
    title: str
    text: str


def render(runs: Sequence[Run], pictures: Mapping[str, Drawn], command: str) -> str:
    """Return the report.

    Args:
        runs: One per benchmark.
        pictures: The pictures by name, as far as they were drawn.
        command: What the report was made with.
    """
    runs = sorted(runs, key=_place)
    found = {run.name: list(verdicts(run.name, run.rows)) for run in runs}
    lines = [
        *_head(runs, found, command),
        *circumstances(runs),
        *default_settings(runs),
        *_quality(runs, found, pictures),
        *_tokens(runs, pictures),
        *_speed(runs, found, pictures),
        *_reliability(runs, found),
        *_missed(found),
        *_again(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _place(run: Run) -> int:
    """Return where a run stands in the report; what is not known comes last."""
    known = (*QUALITY, *SPEED, *RELIABILITY)
    return known.index(run.name) if run.name in known else len(known)


def _head(
    runs: Sequence[Run], found: Mapping[str, Sequence[Verdict]], command: str
) -> Iterator[str]:
    every = [one for some in found.values() for one in some if one.value is not None]
    met = sum(one.met for one in every)
    dates = sorted(run.date for run in runs if run.date)
    yield "# Benchmarks of Hindsight"
    yield ""
    yield f"Made by `{command}` from what the benchmarks wrote; not edited by hand."
    if dates:
        span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        yield f"The runs ended {span}."
    yield ""
    yield f"**{met} of {len(every)} goals are met.**"
    missed = [one for one in every if not one.met]
    if missed:
        yield "Missed (what was tried stands [below](#missed-goals)):"
        yield ""
        yield from (f"- {_named(one)}: {one}" for one in missed)
    absent = [goal for goal in GOALS if _is_absent(goal.name, goal.metric, found)]
    if absent:
        yield ""
        names = ", ".join(f"`{goal.name}` {goal.metric}" for goal in absent)
        yield f"Not measured in these runs: {names}."
    if limited := [run.name for run in runs if run.limited]:
        yield ""
        yield f"Under a limit, so not the whole benchmark: {', '.join(limited)}."
    yield ""


def _is_absent(name: str, metric: str, found: Mapping[str, Sequence[Verdict]]) -> bool:
    return not any(
        one.goal.metric == metric and one.value is not None for one in found.get(name, ())
    )


def _named(one: Verdict) -> str:
    return f"`{one.goal.name}` {one.goal.metric} {one.goal.wanted} ({one.system})"


def _quality(
    runs: Sequence[Run],
    found: Mapping[str, Sequence[Verdict]],
    pictures: Mapping[str, Drawn],
) -> Iterator[str]:
    some = [run for run in runs if run.name in QUALITY]
    if not some:
        return
    yield from ("## Quality", "")
    yield (
        "`dense` is cosine over the same vectors, `bm25` words alone, both exact and from the "
        "same run; intervals are 95 %. In `credit` the simulation's default policy stands for "
        "`hindsight`."
    )
    yield ""
    yield from quality_table(some, found)
    yield ""
    yield from _picture(pictures, "quality")
    yield from _each(some, found)


def _each(runs: Sequence[Run], found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    for run in runs:
        yield f"### {run.name} (n = {run.n:,})"
        yield ""
        if goals := {one.goal: None for one in found[run.name]}:
            yield from (f"- {goal.sentence}: `{goal.metric}` {goal.wanted}." for goal in goals)
            yield ""
        yield from figures_table(run)
        yield ""
        yield from (f"- {_sentence(note)}" for note in run.notes)
        if run.settings:
            yield f"- settings: {pairs({k: _said(v) for k, v in run.settings.items()})}"
        yield ""


def _sentence(note: str) -> str:
    return note.replace("\n", " ").replace("|", "\\|")


def _said(value: object) -> str:
    return value if isinstance(value, str) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _picture(pictures: Mapping[str, Drawn], name: str) -> Iterator[str]:
    if drawn := pictures.get(name):
        yield f"![{drawn.title}: {drawn.text}]({drawn.path})"
        yield ""


def _tokens(runs: Sequence[Run], pictures: Mapping[str, Drawn]) -> Iterator[str]:
    rows = [(run, row) for run in runs for row in run.rows]
    counted = [(run, row) for run, row in rows if any(f"tokens@{k}" in row for k in DEPTHS)]
    briefs = [line for run, row in rows for line in _of_briefs(run, row)]
    if not counted and not briefs:
        return
    yield from ("## Tokens", "")
    if counted:
        yield (
            "Mean tokens of the first k results, counted as a brief's budget is, and the share of "
            "what answers that they bring. A memory that stands shortened in a brief counts as "
            "being in it."
        )
        yield ""
        head = ("benchmark", "system", *(f"first {k}" for k in DEPTHS), "a brief")
        yield from table(head, (_spent(run, row) for run, row in counted), right=2)
        yield ""
    yield from _picture(pictures, "tokens")
    if briefs:
        yield from (*briefs, "")


def _spent(run: Run, row: Figures) -> tuple[str, ...]:
    pairs = [(f"tokens@{k}", f"R@{k}") for k in DEPTHS] + [("brief_tokens", "brief_recall")]
    cells = [
        f"{row[tokens]:,.0f} for {number(row.get(recall))}" if row.get(tokens) else "–"
        for tokens, recall in pairs
    ]
    return f"`{run.name}`", str(row["system"]), *cells


def _of_briefs(run: Run, row: Figures) -> Iterator[str]:
    """Yield what is known of briefs, and of whole runs, without a recall beside it."""
    named = f"- `{run.name}`, {row['system']}:"
    if row.get("brief_tokens") is not None and row.get("brief_recall") is None:
        said = f"{named} a brief has {row['brief_tokens']:,.0f} tokens"
        if row.get("run_tokens") is not None:
            said += f", the trace of the run before {row['run_tokens']:,.0f}"
        yield f"{said}."
    if row.get("token_ratio") is not None:
        yield f"{named} a brief ÷ the trace of the run before: {number(row['token_ratio'])}."


def _speed(
    runs: Sequence[Run],
    found: Mapping[str, Sequence[Verdict]],
    pictures: Mapping[str, Drawn],
) -> Iterator[str]:
    some = [run for run in runs if run.name in SPEED]
    if not some:
        return
    yield from ("## Speed and size", "")
    yield from goals_table(some, found)
    yield ""
    yield from _picture(pictures, "latency")
    yield from _million(runs)
    yield from _each(some, found)


def _million(runs: Sequence[Run]) -> Iterator[str]:
    """Calculate what a million memories cost, on a straight line through the two sizes."""
    scale = next((run for run in runs if run.name == "scale"), None)
    small, large = (scale.row(name) if scale else None for name, _ in (BASE, LARGE))
    if small is None or large is None:
        return
    steps = (MILLION - LARGE[1]) / (LARGE[1] - BASE[1])
    rows: list[tuple[str, ...]] = []
    for metric, what in CALCULATED:
        if small.get(metric) is not None and large.get(metric) is not None:
            far = large[metric] + (large[metric] - small[metric]) * steps
            rows.append((what, number(small[metric]), number(large[metric]), number(far)))
    if large.get("disk_bytes") is not None:
        every = [row["disk_bytes"] * size / 1e6 for row, size in
                 ((small, BASE[1]), (large, LARGE[1]), (large, MILLION))]  # fmt: skip
        rows.append(("on disk, MB", *(number(one) for one in every)))
    yield from ("### 1,000,000 memories, by calculation", "")
    yield (
        "Not measured: the straight line through both measured sizes in 20 namespaces, "
        f"m(100,000) + {steps:g} · (m(100,000) − m(10,000)); on disk as many bytes per memory "
        "as at 100,000."
    )
    yield ""
    yield from table(("what", "10,000", "100,000", "1,000,000"), rows, right=1)
    yield ""


def _reliability(runs: Sequence[Run], found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    some = [run for run in runs if run.name not in {*QUALITY, *SPEED}]
    if not some:
        return
    yield from ("## Reliability", "")
    if any(found[run.name] for run in some):
        yield from goals_table(some, found)
        yield ""
    yield from _each(some, found)


def _missed(found: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    missed = [one for some in found.values() for one in some if one.value is not None]
    missed = [one for one in missed if not one.met]
    if not missed:
        return
    yield from ("## Missed goals", "")
    for goal in dict.fromkeys(one.goal for one in missed):
        yield f"### {goal.name}: {goal.metric} {goal.wanted}"
        yield ""
        yield from (
            f"- {one.system}: {number(one.value)}, {one}." for one in missed if one.goal == goal
        )
        yield ""
        yield TRIED.get((goal.name, goal.metric), "What was tried is not written down yet.")
        yield ""


def _again() -> Iterator[str]:
    yield """\
## Measure again

```console
pip install -e ".[all,dev,bench]"
python -m benchmarks all --data DIR --json all.json
python -m benchmarks.adapters.langchain --json > langchain.json
python -m benchmarks.adapters.llamaindex --json > llamaindex.json
python -m benchmarks report --from all.json --from langchain.json --from llamaindex.json
```

What each benchmark asks: [docs/benchmarks.md](../docs/benchmarks.md)."""
