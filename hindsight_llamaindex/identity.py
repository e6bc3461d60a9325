"""Who is asking: the user and the session, from the tags around a call.

```python
with instrument_tags({"user_id": "alice", "session_id": "s1"}):
    await agent.run("…", memory=memory)
```

Tags are context variables: each task and each thread sees its own, and they reach the steps of
a workflow and the threads that LlamaIndex starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from llama_index_instrumentation.dispatcher import active_instrument_tags

from hindsight_core.hindsight import Hindsight

__all__ = ["Caller", "current_caller"]

USER_TAG = "user_id"
SESSION_TAGS = ("session_id", "thread_id")


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf something is done.

    Attributes:
        user_id: The user as given, `None` if nobody said.
        session_id: The conversation, `""` if nobody said.
    """

    user_id: Any = None
    session_id: str = ""

    def view(self, hindsight: Hindsight) -> Hindsight:
        """Return the memory of this user, or `hindsight` itself if nobody said who it is.

        Raises:
            NamespaceError: If the id can't be part of a namespace; nobody's memory is used then.
        """
        return hindsight if self.user_id is None else hindsight.for_user(self.user_id)

    def conversation(self, key: str) -> str:
        """Return where this caller's messages stand in a chat store below `key`."""
        parts = [key]
        if self.user_id is not None:
            parts.append(f"user={quote(str(self.user_id).strip(), safe='')}")
        if self.session_id:
            parts.append(f"session={quote(self.session_id, safe='')}")
        return "/".join(parts)

    def known(self, *, user_id: Any = None, session_id: str | None = None) -> Caller:
        """Return this caller with what is fixed beforehand, which goes before the tags."""
        if user_id is None and session_id is None:
            return self
        return Caller(
            self.user_id if user_id is None else user_id,
            self.session_id if session_id is None else session_id,
        )


def current_caller() -> Caller:
    """Return who is asking, from the tags of the calling context."""
    tags = active_instrument_tags.get()
    for tag in SESSION_TAGS:
        session = tags.get(tag)
        if session is not None:
            return Caller(tags.get(USER_TAG), str(session))
    return Caller(tags.get(USER_TAG))
