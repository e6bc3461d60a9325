"""What a caller gives to a verb: known names, and values of the kind that a name takes.

Type checkers see misspelled options; an agent's code often runs without one. An option that
is not known is therefore refused: ignored, it would widen what is read or, worse, forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar, cast

from hindsight_core.errors import ConfigurationError, TrajectoryError
from hindsight_core.language import language_of
from hindsight_core.trajectory import Trajectory

__all__ = ["check_run", "check_tokens", "language_for", "options_given"]

Given = TypeVar("Given", bound=Mapping[str, object])
LANGUAGES = ("en", "zh", "auto")
"""Languages of briefs and forethoughts; `auto` is that of what is asked."""

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


def options_given(verb: str, given: Given, known: Collection[str]) -> Given:
    """Return what was given to `verb`, without what is `None`, and with its lists as tuples.

    What can be read only once is thereby read here, so that an empty one is seen to be empty.

    Args:
        verb: What an error calls the verb.
        given: The options by name; `None` stands for leaving one out.
        known: The names that the verb takes.

    Raises:
        ConfigurationError: If a name is not known, a text is no text, or labels are no list
            of texts.
    """
    taken: dict[str, object] = {}
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
            value = _labels(name, value)
        taken[name] = value
    return cast("Given", taken)


def check_tokens(name: str, value: object) -> None:
    """Refuse a number of tokens that is no whole number above 0.

    Args:
        name: The option.
        value: What was given for it.

    Raises:
        ConfigurationError: If it is another number or something else; `None` is the default's.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} {value!r} is not a whole number above 0")


def language_for(given: str, text: str) -> str:
    """Return the language to answer in: as given, or that of `text` for `""` and `auto`.

    Raises:
        ConfigurationError: If there is no wording in that language.
    """
    if given and given not in LANGUAGES:
        raise ConfigurationError(
            f"language {given!r} is not known; use one of {', '.join(LANGUAGES)}"
        )
    return language_of(text) if given in ("", "auto") else given


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


def _labels(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ConfigurationError(f"{name} {value!r} is one text; give a list of labels")
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"{name} {value!r} is no list; give a list of labels")
    labels = tuple(value)
    for label in labels:
        if not isinstance(label, str):
            raise ConfigurationError(
                f"{name} has the item {label!r} of type {type(label).__name__}; give texts"
            )
    return labels
