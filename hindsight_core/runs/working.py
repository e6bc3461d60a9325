"""Working memory: the steps and notes of the sessions under way, in this process.

Each session holds at most `token_limit` tokens. When there is more, the oldest goes first; a
call goes together with its results, so no result ever stands without its call. A session is
gone when it ends or when nobody has used it for `ttl_seconds`. `snapshot` and `restore` carry
sessions over a restart of the host.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hindsight_core.clock import Clock
from hindsight_core.errors import ConfigurationError, HindsightError
from hindsight_core.locks import ForkSafeLock
from hindsight_core.namespaces import Namespace
from hindsight_core.runs.codec import step_from_document, step_to_document
from hindsight_core.runs.working_window import Held, fit, hold
from hindsight_core.steps import Step

__all__ = ["MAX_SESSIONS", "WorkingMemory"]

MAX_SESSIONS = 1_000
"""Sessions held at once; past it, the one unused for longest goes."""

SNAPSHOT_VERSION = 1

_Key: TypeAlias = tuple[Namespace, str]


@dataclass(frozen=True, slots=True)
class _Session:
    used_at: datetime
    held: tuple[Held, ...]


class WorkingMemory:
    """Steps and notes by namespace and session.

    Args:
        clock: Tells when a session was last used.
        ttl_seconds: Seconds that a session outlives its last use.
        token_limit: Most tokens per session.
        count_tokens: Counts the tokens of a text.
        max_sessions: Most sessions.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        ttl_seconds: float,
        token_limit: int,
        count_tokens: Callable[[str], int],
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        self._clock = clock
        self._ttl = timedelta(seconds=ttl_seconds)
        self._token_limit = token_limit
        self._count_tokens = count_tokens
        self._max_sessions = max_sessions
        self._lock = ForkSafeLock()
        self._sessions: OrderedDict[_Key, _Session] = OrderedDict()

    def add(self, namespace: Namespace, session_id: str, *items: Step | str) -> None:
        """Add steps to a session, which begins with them if it is new; a text is a note.

        A single step that would take more than half of the limit is cut to that and says so.
        A result whose call is not there (any more) is left out.
        """
        new = self._held(Step("note", text=i) if isinstance(i, str) else i for i in items)
        with self._lock:
            now = self._clock()
            self._drop_expired(now)
            key = (namespace, session_id)
            old = self._sessions.get(key)
            held = new if old is None else (*old.held, *new)
            self._put(key, _Session(now, fit(held, self._token_limit)))

    def steps(self, namespace: Namespace, session_id: str) -> tuple[Step, ...]:
        """Return what a session holds, oldest first; this counts as a use."""
        with self._lock:
            now = self._clock()
            self._drop_expired(now)
            key = (namespace, session_id)
            session = self._sessions.get(key)
            if session is None:
                return ()
            self._put(key, replace(session, used_at=now))
            return tuple(held.step for held in session.held)

    def end(self, namespace: Namespace, session_id: str) -> tuple[Step, ...]:
        """End a session and return what it held."""
        with self._lock:
            self._drop_expired(self._clock())
            session = self._sessions.pop((namespace, session_id), None)
            return () if session is None else tuple(held.step for held in session.held)

    def erase(self, namespace: Namespace) -> int:
        """End all sessions of a namespace and return how many there were."""
        with self._lock:
            keys = [key for key in self._sessions if key[0] == namespace]
            for key in keys:
                del self._sessions[key]
            return len(keys)

    def snapshot(self) -> dict[str, Any]:
        """Return all sessions as a JSON-safe object for `restore`."""
        with self._lock:
            self._drop_expired(self._clock())
            sessions = list(self._sessions.items())
        return {
            "version": SNAPSHOT_VERSION,
            "sessions": [
                {
                    "namespace": namespace.key,
                    "session_id": session_id,
                    "used_at": session.used_at.isoformat(),
                    "steps": [step_to_document(held.step) for held in session.held],
                }
                for (namespace, session_id), session in sessions
            ],
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Take over the sessions of a snapshot; sessions of the same name are replaced.

        What has expired since stays away.

        Raises:
            ConfigurationError: If it is no snapshot or of another version; then nothing
                was changed.
        """
        if snapshot.get("version") != SNAPSHOT_VERSION:
            raise ConfigurationError(
                f"snapshot version {snapshot.get('version')!r} can't be restored, "
                f"only {SNAPSHOT_VERSION}; pass what snapshot() returned"
            )
        try:
            restored = [self._restored(document) for document in snapshot["sessions"]]
        except (LookupError, TypeError, ValueError, AttributeError, HindsightError) as error:
            raise ConfigurationError(
                f"the snapshot can't be read ({error!r}); pass what snapshot() returned"
            ) from error
        restored.sort(key=lambda item: item[1].used_at)
        with self._lock:
            for key, session in restored:
                self._put(key, session)
            self._sessions = OrderedDict(
                sorted(self._sessions.items(), key=lambda item: item[1].used_at)
            )
            self._drop_expired(self._clock())

    def _held(self, steps: Iterable[Step]) -> tuple[Held, ...]:
        return tuple(hold(step, self._token_limit // 2, self._count_tokens) for step in steps)

    def _restored(self, document: Mapping[str, Any]) -> tuple[_Key, _Session]:
        held = self._held([step_from_document(step) for step in document["steps"]])
        key = (Namespace.from_key(document["namespace"]), str(document["session_id"]))
        used_at = datetime.fromisoformat(document["used_at"])
        if used_at.tzinfo is None:
            raise ValueError(f"used_at {document['used_at']!r} has no time zone")
        return key, _Session(used_at, fit(held, self._token_limit))

    def _put(self, key: _Key, session: _Session) -> None:
        self._sessions[key] = session
        self._sessions.move_to_end(key)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def _drop_expired(self, now: datetime) -> None:
        # Oldest use first; a clock that was set back makes nothing expire.
        while self._sessions:
            key, session = next(iter(self._sessions.items()))
            if now - session.used_at <= self._ttl:
                return
            del self._sessions[key]
