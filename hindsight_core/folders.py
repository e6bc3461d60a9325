"""A folder that somebody wrote down."""

from __future__ import annotations

from pathlib import Path

from hindsight_core.errors import ConfigurationError

__all__ = ["folder_at"]


def folder_at(text: str, told: str) -> Path:
    """Return the folder that `text` names, `~` and `~user` written out.

    Raises:
        ConfigurationError: If no such user is known; it calls the folder what `told` says.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(
            f"{told} begins with the home folder of a user that is not known here; "
            "write the folder out"
        ) from None
