"""Peers as processes: one JSON line to each, one back."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

__all__ = ["Answer", "PeerFailedError", "PeerProcess", "Peers"]

Answer: TypeAlias = Mapping[str, Any]

ANSWER_WITHIN = 600.0
"""Seconds after which a peer that does not answer is given up."""
ENDS_WITHIN = 5.0
"""Seconds in which a peer whose answers end may end by itself."""
PASSED_ON = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "SYSTEMROOT")
"""What a peer sees of the environment: no key of any service is among it."""
OFFLINE = {
    "MEM0_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "PYTHONUTF8": "1",
}


class PeerFailedError(Exception):
    """A peer could not do what it was asked, or its process ended."""


class PeerProcess:
    """One peer in a process of its own.

    Args:
        name: The peer.
        command: Runs the program that answers for it.
        folder: Where it may keep things; made if it is not there.
        environment: Variables beside those that every peer sees.
        answer_within: Seconds that an answer may take.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        answer_within: float = ANSWER_WITHIN,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        seen = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        self.name = name
        self._within = answer_within
        self._said = folder / "stderr.txt"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**seen, **OFFLINE, **(environment or {})},
                text=True,
                encoding="utf-8",
            )

    def ask(self, **request: Any) -> Answer:
        """Return the answer to one request.

        Raises:
            PeerFailedError: If the peer says that it failed, says nothing in time, or is gone.
        """
        line = self._exchange(json.dumps(request) + "\n")
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise PeerFailedError(f"{self.name}: {self._end(request, line)}") from error
        if "error" in answer:
            raise PeerFailedError(f"{self.name}: {request['op']}: {answer['error']}")
        return dict(answer)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # What was not yet written has no reader any more.
                with suppress(OSError):
                    pipe.close()

    def _exchange(self, line: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # never: both are pipes
            return ""
        timer = threading.Timer(self._within, self._process.kill)
        timer.start()
        try:
            stdin.write(line)
            stdin.flush()
            return stdout.readline()
        except (OSError, ValueError):
            return ""
        finally:
            timer.cancel()

    def _end(self, request: Mapping[str, Any], line: str) -> str:
        """Say what the process answered and how it ended, with the last that it said."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            # One that is ending anyway still has to say why.
            self._process.wait(ENDS_WITHIN)
        self.end()
        last = self._said.read_text("utf-8", "replace").strip().splitlines()[-3:]
        answered = f"{line.strip()[:80]!r}" if line else f"nothing within {self._within:g} s"
        return (
            f"answered {answered} to {request['op']} and ended with code "
            f"{self._process.returncode}; it said: {' / '.join(last) or 'nothing'}"
        )


class Peers:
    """Several peers at once; one that fails is left out from then on.

    Args:
        commands: The command of every peer by name.
        folder: Where they may keep things, each in a folder of its own.
        environment: Variables beside those that every peer sees.

    Attributes:
        failed: What was said of those that failed, by name.
        versions: Distributions that the peers consist of, by name.
        refused: Hosts that a peer wanted to reach, by name; it was not let.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.failed: dict[str, str] = {}
        self.versions: dict[str, Mapping[str, str]] = {}
        self.refused: dict[str, list[str]] = {}
        self._running: dict[str, PeerProcess] = {}
        self._folder = folder
        for name, command in commands.items():
            try:
                self._running[name] = PeerProcess(name, command, folder / name, environment)
            except OSError as error:
                self.failed[name] = f"{name}: {command[0]} can't be run: {error}"

    @property
    def names(self) -> tuple[str, ...]:
        """The peers that have not failed."""
        return tuple(self._running)

    def open(self, dimension: int) -> None:
        """Open every peer for vectors of a width."""
        for name in self.names:
            folder = str(self._folder / name)
            answer = self.ask(name, op="open", folder=folder, dimension=dimension)
            if answer is not None:
                self.versions[name] = dict(answer["versions"])

    def ask(self, name: str, **request: Any) -> Answer | None:
        """Return the answer of one peer, `None` if it has failed now or before."""
        if name not in self._running:
            return None
        try:
            return self._running[name].ask(**request)
        except PeerFailedError as error:
            self.failed[name] = str(error)
            self._running.pop(name).end()
            return None

    def ask_all(self, **request: Any) -> Iterator[tuple[str, Answer]]:
        """Yield the answers of all peers, one after the other."""
        for name in self.names:
            answer = self.ask(name, **request)
            if answer is not None:
                yield name, answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc is None:
            for name, answer in self.ask_all(op="close"):
                self.refused[name] = list(answer["refused"])
        for process in self._running.values():
            process.end()
