"""What `hindsight doctor` can tell without opening anything: versions, clashes, variables."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Literal, TypeAlias

from hindsight_core.settings import KNOWN_VARIABLES, Settings

__all__ = [
    "Check",
    "Level",
    "check_engines",
    "check_environment",
    "check_names",
    "check_python",
    "check_reflection_model",
]

Level: TypeAlias = Literal["ok", "warn", "fail"]

OURS = "hindsight-memory"
IMPORT_PACKAGES = ("hindsight_core", "hindsight_langchain", "hindsight_llamaindex")
ENGINES = ("qdrant-edge-py", "qdrant-client", "fastembed")
MINIMUM_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor.

    Attributes:
        name: What was looked at.
        level: `ok`, `warn` (works, but look at it) or `fail` (does not work).
        detail: What was found.
        remedy: What to do, `""` where nothing needs doing.
    """

    name: str
    level: Level
    detail: str
    remedy: str = ""


def check_python(version: tuple[int, int, int]) -> Check:
    """Check the interpreter."""
    text = ".".join(map(str, version))
    if version[:2] >= MINIMUM_PYTHON:
        return Check("python", "ok", text)
    return Check("python", "fail", text, "use Python 3.11 or newer")


def check_engines(path: Iterable[str] | None = None) -> Check:
    """Check that the engines are installed.

    Args:
        path: Folders to look in, by default those that Python imports from.
    """
    where = list(sys.path if path is None else path)
    found = {name: _version(name, where) for name in ENGINES}
    missing = [name for name, version in found.items() if not version]
    if missing:
        return Check(
            "engines",
            "fail",
            f"{', '.join(missing)} not installed",
            f'pip install --force-reinstall "{OURS}"',
        )
    return Check("engines", "ok", ", ".join(f"{name} {v}" for name, v in found.items()))


def check_names(path: Iterable[str] | None = None) -> Check:
    """Check for other projects that are also named Hindsight.

    Args:
        path: Folders to look in, by default those that Python imports from.
    """
    where = list(sys.path if path is None else path)
    similar: set[str] = set()
    overlapping: set[str] = set()
    for distribution in metadata.distributions(path=where):
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"] or "").lower()
        if name == OURS or not name.startswith("hindsight"):
            continue
        similar.add(name)
        tops = {file.parts[0] for file in distribution.files or () if file.parts}
        if tops.intersection(IMPORT_PACKAGES):
            overlapping.add(name)
    if overlapping:
        names = ", ".join(sorted(overlapping))
        return Check(
            "name clash",
            "fail",
            f"{names} (another project named Hindsight) installs the same import packages",
            f"pip uninstall {' '.join(sorted(overlapping))} && "
            f"pip install --force-reinstall --no-deps {OURS}, or give each its own environment",
        )
    if similar:
        names = ", ".join(sorted(similar))
        return Check(
            "name clash",
            "warn",
            f"{names} is installed too; it is another project named Hindsight",
            "nothing, unless it is a mistake: this project is hindsight-memory",
        )
    return Check("name clash", "ok", "no other project named Hindsight is installed")


def check_environment(variables: Mapping[str, str]) -> Check:
    """Check which variables are set, and whether one is misspelled.

    Args:
        variables: As `Settings.variables_from_env` returns them.
    """
    unknown = [name for name in variables if name not in KNOWN_VARIABLES]
    if unknown:
        close = [difflib.get_close_matches(name, KNOWN_VARIABLES, 1) for name in unknown]
        meant = ", ".join(match[0] for match in close if match)
        return Check(
            "environment",
            "warn",
            f"{', '.join(unknown)} is not read",
            f"did you mean {meant}?" if meant else "remove it",
        )
    told = ", ".join(f"{name}={value}" for name, value in variables.items())
    return Check("environment", "ok", told or "no variable is set; the defaults hold")


def check_reflection_model(settings: Settings) -> Check:
    """Check what reflects: the rules alone, or a model too."""
    model = settings.model
    if not model.model:
        return Check("reflection", "ok", "by rules alone; REFLECTION_MODEL adds a model")
    if not model.api_key:
        return Check(
            "reflection",
            "warn",
            f"model {model.model} at {model.base_url}, without a key",
            "set LLM_API_KEY unless the endpoint needs none",
        )
    return Check("reflection", "ok", f"model {model.model} at {model.base_url}")


def _version(name: str, path: list[str]) -> str:
    found = next(iter(metadata.distributions(name=name, path=path)), None)
    return found.version if found else ""
