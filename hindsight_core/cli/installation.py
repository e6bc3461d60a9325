"""What `hindsight doctor` can tell without opening anything: versions, clashes, variables."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from hindsight_core.embedding.cross_encoder import find_cross_encoder
from hindsight_core.embedding.sources import downloads_are_allowed
from hindsight_core.errors import ConfigurationError, ModelUnavailableError
from hindsight_core.settings import KNOWN_VARIABLES, PREFIX, ModelSettings, Settings

__all__ = [
    "Check",
    "Level",
    "check_engines",
    "check_environment",
    "check_expansion",
    "check_folder",
    "check_names",
    "check_python",
    "check_reflection_model",
    "check_reranker",
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


def check_environment(
    variables: Mapping[str, str], faults: Mapping[str, str] | None = None
) -> Check:
    """Check which variables are set, whether one is misspelled, and what can't be used.

    Args:
        variables: As `Settings.variables_from_env` returns them.
        faults: What is wrong with some, as `Settings.usable_from_env` returns it.
    """
    unknown = [name for name in variables if name not in KNOWN_VARIABLES]
    told = [*(faults or {}).values()]
    remedies = [f"change or unset {', '.join(faults)}"] if faults else []
    if unknown:
        meant = ", ".join(filter(None, map(_meant_by, unknown)))
        told.append(f"{', '.join(unknown)} is not read")
        remedies.append(f"did you mean {meant}?" if meant else "remove it")
    if told:
        return Check(
            "environment", "fail" if faults else "warn", "; ".join(told), "; ".join(remedies)
        )
    shown = ", ".join(f"{name}={value}" for name, value in variables.items())
    return Check("environment", "ok", shown or "no variable is set; the defaults hold")


def _meant_by(name: str) -> str:
    """Return the variable that a misspelled one resembles, `""` for none."""
    ours = [known.removeprefix(PREFIX) for known in KNOWN_VARIABLES if known.startswith(PREFIX)]
    written = name.removeprefix(PREFIX)
    found = [known for known in ours if known.startswith(written[:3])]
    found = difflib.get_close_matches(written, ours, 1) or found[:1]
    return PREFIX + found[0] if found else ""


def check_reflection_model(settings: Settings) -> Check:
    """Check what reflects: the rules alone, or a model too."""
    model = settings.model
    if not model.model:
        return Check("reflection", "ok", "by rules alone; REFLECTION_MODEL adds a model")
    address = urlsplit(model.base_url)
    if address.scheme not in {"http", "https"} or not address.netloc:
        return Check(
            "reflection",
            "fail",
            f"LLM_BASE_URL={model.base_url!r} is not an http or https address",
            f"set it to one such as {ModelSettings().base_url}, or unset it",
        )
    if not model.api_key:
        return Check(
            "reflection",
            "warn",
            f"model {model.model} at {model.base_url}, without a key",
            "set LLM_API_KEY unless the endpoint needs none",
        )
    return Check("reflection", "ok", f"model {model.model} at {model.base_url}")


def check_folder(path: Path) -> Check:
    """Check whether a memory is, or could be made, at `path`; nothing is made.

    Args:
        path: Folder of the store and of the journal.
    """
    remedy = "choose another folder with --path or HINDSIGHT_MEMORY_PATH"
    try:
        nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    except OSError as error:
        return Check("folder", "fail", f"{error.strerror}: {path}", remedy)
    if not nearest.is_dir():
        return Check("folder", "fail", f"{nearest} is a file, so {path} is no folder", remedy)
    if not os.access(nearest, os.W_OK | os.X_OK):
        return Check("folder", "fail", f"{nearest} can't be written by this user", remedy)
    return Check("folder", "ok", str(path.absolute()))


def check_expansion(settings: Settings) -> Check:
    """Check what widens short queries."""
    if settings.expand == "model" and not settings.model.model:
        return _without_a_model("expansion", "EXPAND")
    return Check("expansion", "ok", str(settings.expand))


def check_reranker(settings: Settings) -> Check:
    """Check what re-ranks: whether its model is there, which is neither loaded nor fetched."""
    if settings.rerank == "model" and not settings.model.model:
        return _without_a_model("re-ranker", "RERANK")
    if settings.rerank != "cross-encoder":
        return Check("re-ranker", "ok", str(settings.rerank))
    name = settings.rerank_model
    try:
        found = find_cross_encoder(name, cache_dir=settings.cache_dir, allow_download=False)
    except ConfigurationError as error:
        return Check("re-ranker", "fail", str(error), "set one of those as rerank_model")
    except ModelUnavailableError:
        return Check(
            "re-ranker",
            "warn",
            f"cross-encoder {name} was not fetched yet; {_until_fetched(settings)}",
            "fetch it once where there is a network, or set HINDSIGHT_MEMORY_RERANK=off",
        )
    return Check("re-ranker", "ok", f"cross-encoder {name}, from {found.origin}")


def _without_a_model(name: str, variable: str) -> Check:
    return Check(
        name,
        "fail",
        f"{PREFIX}{variable}='model' without a reflection model: every retrieval is refused",
        f"set REFLECTION_MODEL, or {PREFIX}{variable}=off",
    )


def _until_fetched(settings: Settings) -> str:
    if downloads_are_allowed(settings.allow_download):
        return "the first retrieval asks the hub for it, and keeps its order until it is there"
    return "downloads are switched off, so retrievals keep their order and count a failure"


def _version(name: str, path: list[str]) -> str:
    found = next(iter(metadata.distributions(name=name, path=path)), None)
    return found.version if found else ""
