"""What a caller gives to a verb: known names, and values of the kind that a name takes.

Type checkers see misspelled options; an agent's code often runs without one. An option that
is not known is therefore refused: ignored, it would widen what is read or, worse, forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hindsight_core.errors import ConfigurationError, TrajectoryError
from hindsight_core.trajectory import Trajectory

__all__ = ["check_options", "check_run", "check_token_budget"]

_LISTS = frozenset(
    {
        *("tags", "kinds", "categories", "statuses", "task_types", "domains", "sources"),
        *("outcomes", "keywords"),
    }
)
_TEXTS = frozenset(
    {
        *("task_type", "task_description", "applies_when", "not_when", "domain", "session_id"),
        *("run_id", "memory_id", "language", "reason"),
    }
)


def check_options(verb: str, given: Mapping[str, object], known: Collection[str]) -> None:
    """Refuse names that `verb` does not take and values of another kind.

    Args:
        verb: What an error calls the verb.
        given: The options by name; `None` stands for leaving one out.
        known: The names that the verb takes.

    Raises:
        ConfigurationError: If a name is not known, a text is no text, or labels are no list
            of texts.
    """
    for name, value in given.items():
        if name not in known:
            raise ConfigurationError(
                f"{verb} takes no option {name!r}; it takes {', '.join(sorted(known))}"
            )
        if value is None:
            continue
        if name in _TEXTS and not isinstance(value, str):
            raise ConfigurationError(f"{name} {value!r} is {type(value).__name__}; give it text")
        if name in _LISTS:
            _check_labels(name, value)


def check_token_budget(value: object) -> None:
    """Refuse a token budget that is no whole number above 0.

    Raises:
        ConfigurationError: If it is another number or something else; `None` is the default's.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"token_budget {value!r} is not a whole number above 0")


def check_run(run: object) -> None:
    """Refuse what is no `Trajectory`, such as the bare messages of a chat.

    Raises:
        TrajectoryError: If it is something else.
    """
    if not isinstance(run, Trajectory):
        raise TrajectoryError(
            f"a run is {type(run).__name__}, not a Trajectory; make one of messages with "
            "Trajectory.from_messages(messages, run_id=…)"
        )


def _check_labels(name: str, value: object) -> None:
    if isinstance(value, str):
        raise ConfigurationError(f"{name} {value!r} is one text; give a list of labels")
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"{name} {value!r} is no list; give a list of labels")
    if isinstance(value, Collection):
        for label in value:
            if not isinstance(label, str):
                raise ConfigurationError(
                    f"{name} has the item {label!r} of type {type(label).__name__}; give texts"
                )
