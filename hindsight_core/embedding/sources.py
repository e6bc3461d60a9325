"""Where a dense model's files come from, in order, and why a source did not have them.

1. the folder or ONNX file that the settings name,
2. the `offline` extra,
3. what was fetched before, into our cache folder or fastembed's,
4. the model hub, if it may be asked and answers.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from hindsight_core.embedding import offline
from hindsight_core.embedding.folders import cache_folder
from hindsight_core.errors import ConfigurationError, ModelUnavailableError
from hindsight_core.settings import Settings

__all__ = [
    "DEFAULT_MODEL",
    "KnownModel",
    "ModelFolder",
    "describe_model",
    "downloads_are_allowed",
    "fetch_model",
    "fetched_model",
    "find_model",
    "hub_is_reachable",
    "import_fastembed",
    "without_usage_reports",
]

logger = logging.getLogger(__name__)
PROBE_SECONDS = 3.0
"""How long the hub may take to accept a connection, name resolution included."""

REPORTS_SWITCH = "ORT_DISABLE_TELEMETRY"


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that fastembed can run.

    Attributes:
        name: Its name, spelled as it is stored with the data.
        dimension: Width of its vectors.
        repository: Its repository on the hub, `""` for none.
        files: The ONNX file and what belongs to it, relative to the model's folder.
    """

    name: str
    dimension: int
    repository: str
    files: tuple[str, ...]

    @property
    def required_files(self) -> tuple[str, ...]:
        """Files without which the model can't be loaded."""
        return (*self.files, "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model's files.

    Attributes:
        path: The folder.
        origin: The source that it came from, for messages.
    """

    path: Path
    origin: str


DEFAULT_MODEL = KnownModel(
    name="sentence-transformers/all-MiniLM-L6-v2",
    dimension=384,
    repository="Qdrant/all-MiniLM-L6-v2-onnx",
    files=("model.onnx",),
)
"""Known without importing fastembed, which takes most of a second."""


def describe_model(name: str) -> KnownModel:
    """Return what is known of the model called `name`, in any letter case.

    Raises:
        ConfigurationError: If fastembed does not know it.
    """
    if name.lower() == DEFAULT_MODEL.name.lower():
        return DEFAULT_MODEL
    known = import_fastembed().TextEmbedding.list_supported_models()
    for entry in known:
        if entry["model"].lower() == name.lower():
            return KnownModel(
                name=entry["model"],
                dimension=entry["dim"],
                repository=entry["sources"].get("hf") or "",
                files=(entry["model_file"], *entry.get("additional_files", ())),
            )
    raise ConfigurationError(
        f"embedding_model {name!r} is none of the {len(known)} models that fastembed knows; "
        f"use {DEFAULT_MODEL.name!r}, a name from TextEmbedding.list_supported_models(), "
        "or pass your own embedder"
    )


def find_model(
    settings: Settings, model: KnownModel, *, is_online: Callable[[], bool] | None = None
) -> ModelFolder:
    """Return a folder with the files of `model` from the first source that has them.

    Args:
        settings: Names the explicit path and the cache folder, and whether the hub may be asked.
        model: What is looked for.
        is_online: Asked before the hub is; by default `hub_is_reachable`.

    Raises:
        ModelUnavailableError: If no source has them; the message says why and what to do. With
            an explicit path nothing else is looked at.
    """
    cache = cache_folder(settings.cache_dir)
    if settings.embedding_path is not None:
        return _from_path(settings.embedding_path, model, cache)
    reasons: list[str] = []
    sources: list[Callable[[], ModelFolder]] = [lambda: _from_extra(model, cache)]
    if model.repository:
        sources += [
            lambda: fetched_model(model, cache),
            lambda: fetch_model(
                model, cache, allow_download=settings.allow_download, is_online=is_online
            ),
        ]
    for source in sources:
        try:
            return source()
        except ModelUnavailableError as exc:
            reasons.append(str(exc))
    remedy = (
        'Install it with pip install "hindsight-memory[offline]"'
        if model == DEFAULT_MODEL
        else f"Let it be fetched once where there is a network, use {DEFAULT_MODEL.name}"
    )
    raise ModelUnavailableError(
        f"the embedding model {model.name!r} is not at hand: {'; '.join(reasons)}. "
        f"{remedy}, or set HINDSIGHT_MEMORY_EMBEDDING_PATH to a folder with its ONNX and "
        "tokenizer files, or pass your own embedder"
    )


def fetched_model(model: KnownModel, cache: Path) -> ModelFolder:
    """Return the folder with what was fetched of `model` before; no network is used.

    Args:
        model: What is looked for.
        cache: Our cache folder; fastembed's is looked into after it.

    Raises:
        ModelUnavailableError: If it is in neither.
    """
    import_fastembed()
    import huggingface_hub
    from fastembed.common.utils import define_cache_dir

    for folder in (cache, define_cache_dir()):
        file = model.files[0]
        found = huggingface_hub.try_to_load_from_cache(
            model.repository, file, cache_dir=str(folder)
        )
        if isinstance(found, str):
            snapshot = Path(found.removesuffix(file))
            if not _missing(snapshot, model):
                return ModelFolder(snapshot, f"the cache in {folder}")
    raise ModelUnavailableError(f"it was not fetched into {cache} before")


def fetch_model(
    model: KnownModel,
    cache: Path,
    *,
    allow_download: bool,
    is_online: Callable[[], bool] | None = None,
) -> ModelFolder:
    """Fetch `model` from the hub into `cache` and return its folder.

    Where downloads are switched off, by `allow_download` or by `HF_HUB_OFFLINE`, nothing is
    asked or waited for; a hub that can't be reached is waited for `PROBE_SECONDS` at most.

    Args:
        model: What is fetched.
        cache: Where it goes.
        allow_download: Whether the hub may be asked.
        is_online: Asked before the hub is; by default `hub_is_reachable`.

    Raises:
        ModelUnavailableError: If it can't be fetched.
    """
    import huggingface_hub

    if not downloads_are_allowed(allow_download):
        raise ModelUnavailableError("downloads are switched off")
    hub = huggingface_hub.constants.ENDPOINT
    if not (is_online or hub_is_reachable)():
        raise ModelUnavailableError(f"the hub {hub} can't be reached")
    logger.info("Fetching %s from %s into %s, once", model.repository, hub, cache)
    try:
        path = huggingface_hub.snapshot_download(
            model.repository,
            allow_patterns=[*model.required_files, "config.json", "special_tokens_map.json"],
            cache_dir=cache,
            etag_timeout=PROBE_SECONDS,
        )
    except Exception as exc:  # the hub's client raises its own, httpx's and the system's errors
        raise ModelUnavailableError(f"the hub {hub} failed: {exc}") from exc
    missing = _missing(Path(path), model)
    if missing:
        raise ModelUnavailableError(f"{model.repository} on {hub} lacks {', '.join(missing)}")
    return ModelFolder(Path(path), f"the hub {hub}")


def downloads_are_allowed(allow_download: bool) -> bool:
    """Whether the hub may be asked: by our setting, and by the hub's own `HF_HUB_OFFLINE`."""
    import huggingface_hub

    return allow_download and not huggingface_hub.constants.HF_HUB_OFFLINE


def hub_is_reachable(seconds: float = PROBE_SECONDS) -> bool:
    """Whether the hub, or the proxy on the way to it, accepts a connection within `seconds`.

    The hub's client retries for more than half a minute without a network; this asks first.
    """
    import huggingface_hub

    host, port = _first_hop(huggingface_hub.constants.ENDPOINT)
    answers: list[bool] = []

    def connect() -> None:
        try:
            with socket.create_connection((host, port), timeout=seconds):
                answers.append(True)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the hub is not reachable
            logger.debug("No connection to %s:%s: %r", host, port, exc)

    # Resolving a name knows no time-out, so the caller must not be the one who waits for it.
    thread = threading.Thread(target=connect, name="hindsight-hub-probe", daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(answers)


def import_fastembed() -> Any:
    """Import fastembed, `without_usage_reports`."""
    with without_usage_reports():
        import fastembed

        return fastembed


@contextmanager
def without_usage_reports() -> Iterator[None]:
    """Keep onnxruntime from reporting to its maker when it is first imported in this block.

    From 1.29 on it starts a thread at import that sends usage reports over the network, and a
    forked child of such a process can't exit. The switch is an environment variable that is
    read once, at import; one that the user has set is left alone. fastembed imports
    onnxruntime, and so does qdrant-client where fastembed is installed.
    """
    if REPORTS_SWITCH in os.environ:
        yield
        return
    os.environ[REPORTS_SWITCH] = "1"
    try:
        yield
    finally:
        os.environ.pop(REPORTS_SWITCH, None)


def _first_hop(endpoint: str) -> tuple[str, int]:
    url = urlsplit(endpoint)
    host = url.hostname or "huggingface.co"
    proxy = getproxies().get(url.scheme)
    if proxy and not proxy_bypass(host):
        url = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        host = url.hostname or host
    return host, url.port or (443 if url.scheme == "https" else 80)


def _from_path(path: Path, model: KnownModel, cache: Path) -> ModelFolder:
    origin = f"embedding_path {path}"
    if path.is_dir() and not _missing(path, model):
        return ModelFolder(path, origin)
    onnx = path / offline.FILE if path.is_dir() else path
    if model == DEFAULT_MODEL and onnx.is_file():
        return ModelFolder(offline.build_model_folder(onnx, cache, sha256=None), origin)
    what = f"lacks {', '.join(_missing(path, model))}" if path.is_dir() else "does not exist"
    raise ModelUnavailableError(
        f"embedding_path {str(path)!r} {what}; point HINDSIGHT_MEMORY_EMBEDDING_PATH "
        f"at a folder with the files of {model.name}, or unset it"
    )


def _from_extra(model: KnownModel, cache: Path) -> ModelFolder:
    if model != DEFAULT_MODEL:
        raise ModelUnavailableError(f"the offline extra holds {DEFAULT_MODEL.name} only")
    onnx = offline.installed_onnx()
    if onnx is None:
        raise ModelUnavailableError("the offline extra is not installed")
    return ModelFolder(offline.build_model_folder(onnx, cache), "the offline extra")


def _missing(folder: Path, model: KnownModel) -> list[str]:
    return [name for name in model.required_files if not (folder / name).is_file()]
