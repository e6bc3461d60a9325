"""The verbs that ask: forethought, what contradicts a statement, and the session under way."""

from __future__ import annotations

from typing import Unpack

from hindsight_core.options import ForethoughtOptions
from hindsight_core.retrieval.contradicting import LEAST_SCORE, Contradiction
from hindsight_core.retrieval.forethought import Forethought
from hindsight_core.verbs.contradicting import plan_contradictions
from hindsight_core.verbs.foreseeing import plan_forethought
from hindsight_core.verbs.scope import Scope
from hindsight_core.verbs.sessions import Session

__all__ = ["AskingVerbs"]


class AskingVerbs:
    """Forethought, contradictions and sessions; a part of `Hindsight`."""

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

    def contradictions(
        self, statement: str, *, top_k: int = 5, least: float = LEAST_SCORE
    ) -> list[Contradiction]:
        """Return what is known that contradicts `statement`, the strongest first.

        Reads only: nothing is replaced, and what is found is not counted as recalled. A
        contradiction is about the same thing and differs in a number, a named value or a
        negation; one clause of a long message is enough.

        Args:
            statement: The statement, taken to be newer than what is known.
            top_k: Most results, 1–1000.
            least: Least score of a result, 0–1; by default what no memory reaches that only
                confirms the statement, and 0 grades whatever is about it.

        Raises:
            ConfigurationError: If an argument can't be used.
        """
        return list(self._scope.run(plan_contradictions(self._scope, statement, top_k, least)))

    async def acontradictions(
        self, statement: str, *, top_k: int = 5, least: float = LEAST_SCORE
    ) -> list[Contradiction]:
        """Async twin of `contradictions`."""
        plan = plan_contradictions(self._scope, statement, top_k, least)
        return list(await self._scope.arun(plan))

    def session(self, session_id: str) -> Session:
        """Return the working memory of a session, from which vague queries are widened."""
        return Session(self._scope, session_id)
