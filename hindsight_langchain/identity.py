"""Whose memory a run belongs to: the namespace, taken from each call's own config.

By default a run belongs to the memory's own namespace, and to the user's part of it when the
config's metadata names a `user_id`. A template such as `("acme", "{user_id}")` makes the id
compulsory: a run without one is refused, never put into a namespace that others share.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from hindsight_core.errors import NamespaceError
from hindsight_core.hindsight import Hindsight
from hindsight_core.namespaces import Namespace, NamespaceLike

__all__ = ["USER_KEY", "Identity", "NamespaceRule", "config_values"]

USER_KEY = "user_id"
"""The key that names a user unless a template says otherwise."""

NamespaceRule: TypeAlias = "NamespaceLike | Callable[[Mapping[str, Any]], NamespaceLike] | None"
"""A namespace, possibly with `{key}` in its parts, or a function of the config's values."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Finds the namespace of a run.

    Attributes:
        rule: A namespace, a template, a function of the config's values, or `None` for the
            memory's own namespace with the user's part.
        required: Whether a run without a `user_id` is refused where there is no rule.
    """

    rule: NamespaceRule = None
    required: bool = False

    def view(self, hindsight: Hindsight, values: Mapping[str, Any]) -> Hindsight:
        """Return the memory as the user of this run sees it.

        Args:
            hindsight: The memory.
            values: What the config says, see `config_values`.

        Raises:
            NamespaceError: If the config lacks what the rule needs, or it can't be used.
        """
        if self.rule is None:
            return self._own(hindsight, values)
        if callable(self.rule):
            wanted = Namespace.of(self.rule(values))
        else:
            wanted = Namespace.of(_filled(self.rule, values))
        if wanted == hindsight.namespace:
            return hindsight
        return hindsight.scoped(wanted, read_namespaces=hindsight.read_namespaces)

    def _own(self, hindsight: Hindsight, values: Mapping[str, Any]) -> Hindsight:
        user = values.get(USER_KEY)
        if user is None:
            if self.required:
                raise _missing(USER_KEY, values)
            return hindsight
        return hindsight.for_user(user)


def config_values(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a config says about a run: `configurable`, then `metadata` over it."""
    found: dict[str, Any] = {}
    for part in ("configurable", "metadata"):
        values = (config or {}).get(part)
        if isinstance(values, Mapping):
            found |= {
                str(key): value for key, value in values.items() if not str(key).startswith("__")
            }
    return found


def _filled(rule: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with every `{key}` replaced; other parts stay as they are."""
    if isinstance(rule, Namespace):
        return rule
    if isinstance(rule, str):
        return _fill(rule, values)
    if isinstance(rule, Iterable):
        return [_fill(part, values) if isinstance(part, str) else part for part in rule]
    return rule


def _fill(part: str, values: Mapping[str, Any]) -> Any:
    try:
        pieces = list(string.Formatter().parse(part))
    except ValueError:
        return part  # refused by the namespace's own rule, which names it
    names = [name for _, name, _, _ in pieces if name is not None]
    if not names:
        return part
    for name in names:
        if values.get(name) is None:
            raise _missing(name, values)
    if part == f"{{{names[0]}}}":
        return values[names[0]]
    filled = [
        literal + ("" if name is None else str(values[name])) for literal, name, _, _ in pieces
    ]
    return "".join(filled)


def _missing(name: str, values: Mapping[str, Any]) -> NamespaceError:
    known = ", ".join(sorted(values)) or "nothing"
    return NamespaceError(
        f"the config names no {name!r} (it has: {known}); pass "
        f'config={{"metadata": {{"{name}": …}}}} with every call'
    )
