"""Every error that Hindsight raises.

```
HindsightError
├── ConfigurationError (also ValueError)   a setting or an argument can't be used
│   ├── NamespaceError                     a namespace is missing, blank, unfilled or malformed
│   └── MissingExtraError                  an optional package is not installed
├── StoreError                             the memory store can't do what was asked
│   ├── StoreLockedError                   another process owns the embedded store
│   ├── StoreUnavailableError              the store can't be reached now; try again later
│   ├── StoreCorruptError                  files on disk are damaged, foreign or read-only
│   └── SchemaMismatchError                other embedding model, dimension or format version
├── JournalError                           the SQLite journal can't be read or written
├── EmbeddingError                         a text could not be embedded
│   └── ModelUnavailableError              the embedding model is not at hand
├── ReflectionError                        a run could not be turned into lessons
│   ├── ModelReplyError                    the model answered, but not with lessons
│   └── ModelCallError                     the model could not be called (HTTP status, retry hints)
├── TrajectoryError (also ValueError)      a recorded run can't be read
├── MemoryNotFoundError (also LookupError) no memory with that id in that namespace
└── ClosedError                            the facade was closed
```

Messages say what happened, with which value, and what to do next.
"""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "ConfigurationError",
    "EmbeddingError",
    "HindsightError",
    "JournalError",
    "MemoryNotFoundError",
    "MissingExtraError",
    "ModelCallError",
    "ModelReplyError",
    "ModelUnavailableError",
    "NamespaceError",
    "ReflectionError",
    "SchemaMismatchError",
    "StoreCorruptError",
    "StoreError",
    "StoreLockedError",
    "StoreUnavailableError",
    "TrajectoryError",
]


class HindsightError(Exception):
    """Base of every error raised by Hindsight."""


class ConfigurationError(HindsightError, ValueError):
    """A setting or an argument can't be used as it is."""


class NamespaceError(ConfigurationError):
    """A namespace is missing, blank, unfilled or malformed."""


class MissingExtraError(ConfigurationError):
    """An optional package is needed for this and is not installed."""


class StoreError(HindsightError):
    """The memory store can't do what was asked."""


class StoreLockedError(StoreError):
    """Another process owns the embedded store at this path."""


class StoreUnavailableError(StoreError):
    """The store can't be reached now; the same call may work later."""


class StoreCorruptError(StoreError):
    """Files of the store are damaged, foreign or read-only; nothing was changed."""


class SchemaMismatchError(StoreError):
    """The store was written with another model, dimension or format version."""


class JournalError(HindsightError):
    """The SQLite journal can't be read or written."""


class EmbeddingError(HindsightError):
    """A text could not be embedded."""


class ModelUnavailableError(EmbeddingError):
    """The embedding model is not at hand; the message names the remedies."""


class ReflectionError(HindsightError):
    """A run could not be turned into lessons.

    Attributes:
        raw_reply: What the model answered, verbatim, or `None` when it never did.
    """

    def __init__(self, message: str, *, raw_reply: str | None = None) -> None:
        super().__init__(message)
        self.raw_reply = raw_reply


class ModelReplyError(ReflectionError):
    """The model answered, but not with anything that can be read as lessons."""


class ModelCallError(ReflectionError):
    """The model could not be called.

    Attributes:
        status: HTTP status, where there was one.
        retry_after: Seconds the server asked to wait, where it did.
        retryable: Whether the same call may work later (429, 5xx, time-outs).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable


class TrajectoryError(HindsightError, ValueError):
    """A recorded run can't be read."""


class MemoryNotFoundError(HindsightError, LookupError):
    """There is no memory with that id in that namespace."""


class ClosedError(HindsightError):
    """The facade was closed; open a new one."""
