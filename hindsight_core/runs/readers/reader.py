"""Reads a file of runs, whatever its format, and loses no run to a broken neighbor."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindsight_core.errors import ConfigurationError, HindsightError, TrajectoryError
from hindsight_core.json_text import read_json
from hindsight_core.runs.readers.base import Reader, ReadProblem, Source, short, with_content_id
from hindsight_core.runs.readers.benchmarks import read_swe_agent, read_tau_bench
from hindsight_core.runs.readers.conversations import read_messages, read_trace
from hindsight_core.runs.readers.files import (
    Broken,
    TextFile,
    Value,
    json_lines,
    json_values,
    open_text,
)
from hindsight_core.runs.readers.react import (
    is_react_text,
    read_react,
    read_reflexion,
    split_react,
)
from hindsight_core.trajectory import Trajectory

__all__ = ["FORMATS", "read_run", "read_runs"]

logger = logging.getLogger(__name__)

READERS: Mapping[str, Reader] = {
    "messages": read_messages,
    "trace": read_trace,
    "tau-bench": read_tau_bench,
    "swe-agent": read_swe_agent,
    "reflexion": read_reflexion,
    "react": read_react,
}
FORMATS = ("auto", *READERS)
"""Names of the formats that can be asked for."""


def read_runs(
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 # the word users know
    on_problem: Callable[[ReadProblem], None] | None = None,
) -> Iterator[Trajectory]:
    """Read the runs of a file, one at a time.

    Takes JSON (one run, a list of runs, a list of messages), JSON Lines, and text logs. A file
    of lines is read as it goes; other files are held as text. Reading a file twice gives the
    same ids: runs without an id get one made of their content, an id that comes again in the
    file gets `#2`, `#3` and so on.

    Args:
        path: The file, UTF-8 (with or without byte order mark), UTF-16 with one, or GB18030.
        format: One of `FORMATS`; `auto` looks at the content, not at the file's name.
        on_problem: Told about every broken piece and everything odd; without it each is logged
            as a warning.

    Raises:
        TrajectoryError: If the file is missing, empty, a directory, no text, or holds no run.
        ConfigurationError: If the format is not known.
    """
    reader = _named(format)
    file = open_text(Path(path))
    return _runs(file, reader, on_problem or _log_problem)


def read_run(
    value: Any,
    *,
    format: str = "auto",  # noqa: A002 # the word users know
    stem: str = "run",
    on_note: Callable[[str], None] | None = None,
) -> Trajectory:
    """Read one run from parsed JSON, or from the text of a log.

    Args:
        value: The run, in any of `FORMATS`.
        format: One of `FORMATS`; `auto` looks at the value.
        stem: Used in the ids of formats whose runs are only numbered.
        on_note: Told what is odd and loses nothing; without it, it is logged as a warning.

    Raises:
        TrajectoryError: If the value is no run.
        ConfigurationError: If the format is not known.
    """
    reader = _named(format) or _sniffed(value)
    return with_content_id(reader(value, Source(stem, on_note or logger.warning)))


def _named(name: str) -> Reader | None:
    if name not in FORMATS:
        raise ConfigurationError(f"format {name!r} is not known; use one of {', '.join(FORMATS)}")
    return READERS.get(name)


def _log_problem(problem: ReadProblem) -> None:
    logger.warning("%s", problem)


def _runs(
    file: TextFile, reader: Reader | None, on_problem: Callable[[ReadProblem], None]
) -> Iterator[Trajectory]:
    path = str(file.path)
    if file.encoding not in ("utf-8-sig", "utf-8"):
        on_problem(ReadProblem(path, 0, f"read as {file.encoding}, not UTF-8", is_lost=False))
    for line in file.odd_lines:
        reason = "bytes that are not UTF-8 were replaced"
        on_problem(ReadProblem(path, line, reason, is_lost=False))
    seen: dict[str, int] = {}
    first_problem = ""
    for line, value in _values(file, reader):
        source = Source(file.path.stem, _noter(path, line, on_problem))
        try:
            run = _unique(_read(value, reader, source), seen, source)
        except HindsightError as exc:
            problem = ReadProblem(path, line, str(exc))
            first_problem = first_problem or str(problem)
            on_problem(problem)
            continue
        yield run
    if not seen:
        raise TrajectoryError(
            f"{path} holds no run that can be read; "
            + (f"first problem: {first_problem}" if first_problem else "it holds no values")
        )


def _noter(
    path: str, line: int, on_problem: Callable[[ReadProblem], None]
) -> Callable[[str], None]:
    return lambda reason: on_problem(ReadProblem(path, line, reason, is_lost=False))


def _read(value: Any, reader: Reader | None, source: Source) -> Trajectory:
    if isinstance(value, Broken):
        raise TrajectoryError(value.reason)
    return with_content_id((reader or _sniffed(value))(value, source))


def _unique(run: Trajectory, seen: dict[str, int], source: Source) -> Trajectory:
    """Return the run under an id that no earlier run of the file has."""
    unique, count = run.run_id, seen.get(run.run_id, 0) + 1
    seen[run.run_id] = count
    while count > 1 and (unique := f"{run.run_id}#{count}") in seen:
        count += 1
    if unique == run.run_id:
        return run
    seen[unique] = 1
    source.note(f"run id {run.run_id!r} comes again in this file; this one is {unique!r}")
    return replace(run, run_id=unique)


def _values(file: TextFile, reader: Reader | None) -> Iterator[Value]:
    """Yield what stands for one run each."""
    first = next((text for _, text in file.lines() if text.strip()), "").lstrip()
    if reader is read_react and first[:1] not in "{[":
        yield from split_react(file.text())
        return
    if _is_json(first):
        for line, value in json_lines(file):
            yield from _expanded(line, value)
        return
    yield from _whole(file)


def _whole(file: TextFile) -> Iterator[Value]:
    """Yield the values of a file whose first line is no JSON value by itself."""
    text = file.text()
    if text.lstrip()[:1] in ("{", "["):
        values = list(json_values(text, _is_message))
        if any(not isinstance(value, Broken) for _, value in values):
            yield from values
            return
        lines = list(json_lines(file))
        if any(isinstance(value, dict | list) for _, value in lines):
            for line, value in lines:
                yield from _expanded(line, value)
            return
        if not is_react_text(text):
            yield from values
            return
    if not is_react_text(text):
        yield (
            1,
            Broken(
                "neither JSON nor a log with Thought:/Action:/Observation: or '> action' lines: "
                + short(text.strip())
            ),
        )
        return
    yield from split_react(text)


def _is_json(line: str) -> bool:
    return isinstance(read_json(line), dict | list)


def _expanded(line: int, value: Any) -> Iterator[Value]:
    """Take a list of runs apart; a list of messages is one run."""
    if isinstance(value, list) and not (value and _is_message(value[0])):
        yield from ((line, element) for element in value)
    else:
        yield line, value


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _sniffed(value: Any) -> Reader:
    """Return the reader for a value by its shape.

    Raises:
        TrajectoryError: If it has the shape of no run.
    """
    if isinstance(value, str):
        return read_react
    if isinstance(value, list):
        return read_messages
    if not isinstance(value, Mapping):
        raise TrajectoryError(f"{short(value)} is no run; a run is an object or a list of messages")
    for key, kind, reader in _SHAPES:
        if isinstance(value.get(key), kind):
            return reader
    raise TrajectoryError(
        f"an object with the keys {short(sorted(map(str, value)))} is no known run; "
        "give it 'messages' or a 'trace'"
    )


_SHAPES: tuple[tuple[str, type, Reader], ...] = (
    ("messages", list, read_messages),
    ("trace", list, read_trace),
    ("traj", list, read_tau_bench),
    ("traj", str, read_react),
    ("trajectory", list, read_swe_agent),
    ("steps", list, read_reflexion),
)
