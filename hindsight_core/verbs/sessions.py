"""The session under way, as working memory holds it."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_core.steps import Step
from hindsight_core.verbs.scope import Scope

__all__ = ["Session"]


@dataclass(frozen=True, slots=True)
class Session:
    """Steps and notes of one session: in this process only, gone after their time or its end.

    ```python
    session = h.session("chat-7")
    session.add(Step("user", text="Load sales.csv"), "the file is in GB18030")
    h.brief("fix it", session_id="chat-7", expand=True)
    ```

    Attributes:
        scope: Whose session it is.
        id: Its name.
    """

    scope: Scope
    id: str

    def add(self, *items: Step | str) -> None:
        """Add steps, oldest first; a text is a note."""
        self.scope.require_open()
        self.scope.engine.working.add(self.scope.namespace, self.id, *items)

    def steps(self) -> tuple[Step, ...]:
        """Return what it holds, oldest first; this counts as a use."""
        return self.scope.engine.working.steps(self.scope.namespace, self.id)

    def end(self) -> tuple[Step, ...]:
        """End it and return what it held."""
        return self.scope.engine.working.end(self.scope.namespace, self.id)
