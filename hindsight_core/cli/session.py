"""From the options of a command to an open facade."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from hindsight_core.errors import MemoryNotFoundError
from hindsight_core.folders import folder_at
from hindsight_core.hindsight import Hindsight
from hindsight_core.models import STATUSES
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.journal import FILE_NAME, Journal
from hindsight_core.settings import Settings

__all__ = ["Target", "is_missing", "open_memory", "require_run"]

DEFAULT_PATH = Path("memory")
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Target:
    """What a command works on.

    Attributes:
        path: Folder of the embedded store and of the journal.
        url: A Qdrant server, `None` for the embedded store.
        api_key: Its key.
        namespace: Whose memory.
        settings: Everything else.
    """

    path: Path
    url: str | None
    api_key: str | None
    namespace: Namespace
    settings: Settings

    @classmethod
    def of(cls, options: argparse.Namespace, *, settings: Settings | None = None) -> Target:
        """Read the options, and the environment where an option is not given.

        Args:
            options: The options of a command.
            settings: What is read instead of the environment's settings.

        Raises:
            ConfigurationError: If an option or a variable can't be used.
        """
        path, url, api_key = Settings.location_from_env()
        settings = Settings.from_env() if settings is None else settings
        if hasattr(options, "profile"):
            settings = replace(settings, profile=options.profile)
        if hasattr(options, "path") and not hasattr(options, "url"):
            url = ""  # a folder named on the command line beats a server named around it
        return cls(
            path=_folder(getattr(options, "path", path)),
            url=getattr(options, "url", url) or None,
            api_key=api_key or None,
            namespace=Namespace.of(getattr(options, "namespace", DEFAULT_NAMESPACE).split("/")),
            settings=settings,
        )


def is_missing(target: Target) -> bool:
    """Whether no embedded store is at `target` yet; a server is not asked."""
    try:
        return not target.url and not (target.path / "store").exists()
    except OSError:
        return False  # opening it says what is wrong with the folder


def require_run(hindsight: Hindsight, run_id: str) -> None:
    """Refuse a run that is in no journal, was in no brief and taught nothing.

    Raises:
        MemoryNotFoundError: If it is none of these.
    """
    with Journal.open(hindsight.location.path / FILE_NAME) as journal:
        namespace = hindsight.namespace
        if journal.get_run(namespace, run_id) or journal.recalls(namespace, run_id):
            return
    if not hindsight.list(limit=1, statuses=STATUSES, run_id=run_id).memories:
        raise MemoryNotFoundError(
            f"no run {run_id!r} is known here, in namespace {hindsight.namespace}; "
            "nothing was changed. `hindsight why ID` names the runs behind a memory"
        )


def _folder(text: str) -> Path:
    return folder_at(text, f"the folder {text!r}") if text else DEFAULT_PATH


def open_memory(target: Target) -> Hindsight:
    """Open the facade on `target`; the caller closes it."""
    return Hindsight.open(
        target.path,
        namespace=target.namespace,
        url=target.url,
        api_key=target.api_key,
        settings=target.settings,
    )
