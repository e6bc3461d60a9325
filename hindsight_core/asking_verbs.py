"""The verbs around the beginning of a run: forethought, and the session under way."""

from __future__ import annotations

from typing import Unpack

from hindsight_core.options import ForethoughtOptions
from hindsight_core.retrieval.forethought import Forethought
from hindsight_core.verbs.foreseeing import plan_forethought
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.sessions import Session

__all__ = ["AskingVerbs"]


class AskingVerbs:
    """Forethought and sessions; a part of `Hindsight`."""

    _scope: Scope

    def forethought(self, task: str | None, **options: Unpack[ForethoughtOptions]) -> Forethought:
        """Return what past runs warn of before `task` begins, empty when nothing matches.

        The closest failure with its fix, the rules that match, and what repeats over similar
        runs, such as a weekday on which they fail; at most 200 tokens. Failures make it empty
        and `available` false; they are logged and counted, and raised only with
        `Settings(strict=True)`.

        Raises:
            ConfigurationError: If an option can't be used.
        """
        return self._scope.run(plan_forethought(self._scope, task, options))

    async def aforethought(
        self, task: str | None, **options: Unpack[ForethoughtOptions]
    ) -> Forethought:
        """Async twin of `forethought`."""
        return await self._scope.arun(plan_forethought(self._scope, task, options))

    def session(self, session_id: str) -> Session:
        """Return the working memory of a session, from which vague queries are widened."""
        return Session(self._scope, session_id)
