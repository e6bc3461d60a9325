"""Who may see a memory: the namespace, its one written rule and its key.

A namespace is a path of 1 to 8 parts, for example `("acme", "alice")`. Each part is text
of 1 to 128 characters after NFC normalisation and trimming, without control characters and
without `{` or `}` (which show that a template was left unfilled). Integers and UUIDs are
accepted and become their decimal and canonical text, so `1` and `"1"` are the same part;
booleans, floats, bytes, sets, mappings and `None` are refused. A bare string is a namespace of
one part.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from hindsight_core.errors import NamespaceError

__all__ = ["Namespace", "NamespaceLike"]

NamespaceLike: TypeAlias = "Namespace | str | int | UUID | Iterable[str | int | UUID]"
"""Anything that can be read as a namespace."""

MAX_PARTS = 8
MAX_PART_LENGTH = 128
_RULE = (
    f"a namespace has 1 to {MAX_PARTS} parts of 1 to {MAX_PART_LENGTH} characters, "
    "without control characters or braces, for example ('acme', 'alice')"
)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A validated path that every memory belongs to and every read is limited to.

    Attributes:
        parts: The parts, from the widest to the narrowest.
    """

    parts: tuple[str, ...]

    @classmethod
    def of(cls, value: NamespaceLike | None) -> Namespace:
        """Return `value` as a namespace.

        Raises:
            NamespaceError: If it is missing, empty, blank, unfilled or malformed.
        """
        if isinstance(value, Namespace):
            return value
        if value is None:
            raise NamespaceError(f"no namespace was given; {_RULE}")
        if isinstance(value, (str, int, UUID)):
            raw: list[object] = [value]
        elif isinstance(value, (bytes, bytearray, Mapping, Set)):
            # Reading these as parts would give numbers, keys or an arbitrary order.
            raise NamespaceError(f"namespace {value!r} is a {type(value).__name__}; {_RULE}")
        else:
            try:
                raw = list(value)
            except TypeError:
                raise NamespaceError(f"namespace {value!r} can't be used; {_RULE}") from None
        if not 1 <= len(raw) <= MAX_PARTS:
            raise NamespaceError(f"namespace {value!r} has {len(raw)} parts; {_RULE}")
        return cls(tuple(_part(part, value) for part in raw))

    @classmethod
    def from_key(cls, key: str) -> Namespace:
        """Return the namespace whose `key` this is."""
        return cls.of(part.replace("%2F", "/").replace("%25", "%") for part in key.split("/"))

    @property
    def key(self) -> str:
        """One string for this namespace, injective, used in filters and tables."""
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in self.parts)

    def __str__(self) -> str:
        """Return the parts joined by slashes, for people to read."""
        return "/".join(self.parts)


def _part(part: object, whole: object) -> str:
    if isinstance(part, bool) or not isinstance(part, (str, int, UUID)):
        raise NamespaceError(
            f"namespace {whole!r} has a part of type {type(part).__name__}; {_RULE}"
        )
    text = unicodedata.normalize("NFC", str(part)).strip()
    if not text:
        raise NamespaceError(f"namespace {whole!r} has a blank part; {_RULE}")
    if len(text) > MAX_PART_LENGTH:
        raise NamespaceError(f"namespace part {text[:24]!r}… has {len(text)} characters; {_RULE}")
    if "{" in text or "}" in text:
        raise NamespaceError(
            f"namespace part {text!r} looks like an unfilled placeholder; fill it in first; {_RULE}"
        )
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in text):
        raise NamespaceError(f"namespace part {text!r} has a control character; {_RULE}")
    return text
