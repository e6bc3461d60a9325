"""`python -m worker PEER`: serve one peer until it is told to close."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from .given import Given, Memory, Peer, Spent, spent_on

PEERS: Mapping[str, tuple[str, str]] = {
    "QdrantVectorStore": ("langchain", "QdrantPeer"),
    "VectorMemoryBlock": ("llamaindex", "BlockPeer"),
    "mem0": ("mem0", "Mem0Peer"),
    "InMemoryStore": ("langgraph", "StorePeer"),
}
"""Module and class of every peer."""
LOOPBACK = ("127.0.0.1", "::1", "localhost", None)


class Server:
    """Answers requests about one peer."""

    def __init__(self, name: str, refused: list[str]) -> None:
        self._module, self._class = PEERS[name]
        self._refused = refused
        self._given = Given()
        self._peer: Peer | None = None

    def answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one request."""
        handlers: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
            "open": self._open,
            "vectors": self._vectors,
            "fill": self._fill,
            "store": self._store,
            "search": self._search,
            "close": self._close,
        }
        return handlers[request["op"]](request)

    @property
    def _opened(self) -> Peer:
        if self._peer is None:
            raise RuntimeError("the peer is not open; send `open` first")
        return self._peer

    def _open(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        package = __package__ or "worker"
        module = importlib.import_module(f"{package}.{self._module}")
        make = getattr(module, self._class)
        self._peer = make(Path(request["folder"]), request["dimension"], self._given)
        names: tuple[str, ...] = module.DISTRIBUTIONS
        return {"versions": {name: _version(name) for name in names}}

    def _vectors(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        texts, matrix = Path(request["texts"]), Path(request["matrix"])
        return {"count": self._given.read(request["use"], texts, matrix)}

    def _fill(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        memories: list[Memory] = request["memories"]
        self._opened.fill(memories)
        return {"count": len(memories)}

    def _store(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        memories: list[Memory] = request["memories"]
        peer = self._opened
        self._given.take()
        _, spent = spent_on(lambda: peer.store(memories))
        return {"count": len(memories), **self._outside(spent)}

    def _search(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        peer = self._opened
        self._given.take()
        places, spent = spent_on(
            lambda: peer.search(request["text"], request["namespace"], request["k"])
        )
        return {"places": places, **self._outside(spent)}

    def _close(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self._opened.close()
        return {"refused": sorted(set(self._refused))}

    def _outside(self, spent: Spent) -> dict[str, float]:
        """Return what is left without the time in the embedder."""
        inside = self._given.take()
        return {"ms": spent.wall - inside.wall, "cpu_ms": max(0.0, spent.cpu - inside.cpu)}


def main() -> None:
    """Serve the peer that the first argument names."""
    # What a peer prints must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    logging.basicConfig(level=logging.WARNING)
    refused: list[str] = []
    sys.addaudithook(lambda event, arguments: _refuse(event, arguments, refused))
    server = Server(sys.argv[1], refused)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = server.answer(request)
        except Exception as error:
            # Whatever a peer raises is told, and does not end the others' run.
            logging.exception("%s failed", request["op"])
            answer = {"error": f"{type(error).__name__}: {error}"}
        _say(answer, answers)
        if request["op"] == "close":
            return


def _say(answer: Mapping[str, Any], answers: TextIO) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _refuse(event: str, arguments: tuple[Any, ...], refused: list[str]) -> None:
    """Let no one reach beyond this machine, and note who wanted to."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if host not in LOOPBACK:
        refused.append(str(host))
        raise OSError(f"no connection to {host!r}: peers are measured without a network")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


if __name__ == "__main__":
    main()
