"""The peers' own virtual environment, made once beside the embeddings."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from filelock import FileLock
from rich.console import Console

from benchmarks.errors import PeersMissingError

__all__ = ["PEERS", "PYTHON", "REQUIREMENTS", "peer_commands", "peers_python"]

PEERS = ("QdrantVectorStore", "VectorMemoryBlock", "mem0", "InMemoryStore")
"""The peers that the worker knows."""
PYTHON = "HINDSIGHT_BENCHMARK_PEERS"
"""Variable that names the Python of an environment that has the requirements already."""
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
READY = "ready"
"""File that says that an environment is complete."""
_START = (
    "import runpy, sys; sys.path.append({folder!r}); "
    "runpy.run_module('worker', run_name='__main__', alter_sys=True)"
)


def peer_commands(python: str, names: Sequence[str] = PEERS) -> Mapping[str, Sequence[str]]:
    """Return the command that runs the worker for every peer.

    Args:
        python: The Python of an environment that has the peers.
        names: Which peers.
    """
    # Last in the path, and the current folder not in it (`-P`), so that no file of ours can stand
    # for a module of theirs.
    start = _START.format(folder=str(Path(__file__).parent))
    return {name: (python, "-P", "-c", start, name) for name in names}


def peers_python(cache: Path, requirements: Path = REQUIREMENTS) -> str:
    """Return the Python of the peers' environment, which is made if it is not there.

    Args:
        cache: Folder of the embeddings; the environment lies in it, under the hash of what it
            was made from.
        requirements: What is installed.

    Raises:
        PeersMissingError: If it can't be made.
    """
    given = os.environ.get(PYTHON)
    if given:
        if not Path(given).is_file():
            raise PeersMissingError(f"{PYTHON} is {given!r}, where there is no file")
        return given
    made_from = f"{sys.version}\n".encode() + requirements.read_bytes()
    folder = cache / f"peers-{hashlib.sha256(made_from).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not (folder / READY).is_file():
            _make(folder, requirements)
    return str(_python_in(folder))


def _make(folder: Path, requirements: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    steps = (
        ("making an environment", (sys.executable, "-m", "venv", str(folder))),
        (
            "installing the peers",
            (str(_python_in(folder)), "-m", "pip", "install", "--no-input", "--progress-bar=off",
             "--disable-pip-version-check", "-r", str(requirements)),
        ),
    )  # fmt: skip
    console = Console(stderr=True)
    console.print(f"the peers are installed once into {folder}, about 400 MB", highlight=False)
    for what, command in steps:
        last: deque[str] = deque(maxlen=4)
        with console.status(what) as status:
            for line in _lines(command, last):
                status.update(f"{what}: {line[:100]}")
        if last and last[-1].startswith("exit code"):
            shutil.rmtree(folder, ignore_errors=True)
            raise PeersMissingError(
                f"{what} failed: {' '.join(command)}: {' / '.join(last)}; let pip reach a package "
                f"index (PIP_INDEX_URL, PIP_FIND_LINKS), or install {requirements} into an "
                f"environment yourself and set {PYTHON} to its Python"
            )
    (folder / READY).touch()


def _lines(command: Sequence[str], last: deque[str]) -> Iterator[str]:
    """Yield what a program says, line by line, and keep its end and how it failed in `last`."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        last.append(f"exit code unknown: {error}")
        return
    with process:
        for line in process.stdout or ():
            last.append(line.strip())
            yield line.strip()
    if process.returncode:
        last.append(f"exit code {process.returncode}")


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
