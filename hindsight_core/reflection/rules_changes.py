"""What changed between a call that failed and the one that worked, and whether it tells anything.

Values that name one thing of one run (ids, codes) teach nothing to the next run, and a call
with nothing in common with the failed one is another attempt at something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from hindsight_core.reflection.rules_kinds import changed_keys, kind_of_id
from hindsight_core.reflection.rules_text import short_value

__all__ = ["ArgumentChange", "Difference", "difference_between", "echoes_payload"]

IGNORED_ARGUMENTS = frozenset(
    {
        *("thought", "thoughts", "reasoning", "reason", "explanation", "description", "comment"),
        *("request_id", "trace_id", "session_id", "timestamp", "nonce", "idempotency_key"),
    }
)
"""Arguments that say something about a call and do not steer it."""

PAYLOAD_ARGUMENTS = frozenset(
    {
        *("command", "cmd", "code", "script", "query", "sql", "expression", "input", "_raw"),
        *("text", "content", "prompt", "question", "keywords", "body", "action", "arguments"),
    }
)
"""Arguments that carry the task itself: a changed one is mostly another task.

Only a change of their form counts: another program, another option, quotes around a value.
"""

COMMAND_ARGUMENTS = frozenset({"command", "cmd"})
"""Payloads that begin with a program and take options."""

TARGET_ARGUMENTS = frozenset(
    {
        *("path", "file", "filename", "file_path", "filepath", "dir", "directory", "folder"),
        *("table", "sheet", "column", "database", "db", "url", "uri", "host", "repo", "branch"),
        *("key", "name", "target", "to", "recipient", "title"),
    }
)
"""Arguments that name what a call is about, however short their value is."""

RUNNERS = frozenset(
    {
        *("python", "py", "sudo", "env", "bash", "sh", "uv", "poetry", "pdm", "hatch", "pipenv"),
        *("rye", "npx", "npm", "pnpm", "yarn", "bundle", "conda", "time", "nice", "winpty"),
    }
)
"""Programs that run the program behind them: `python -m pytest`, `uv run pytest`."""

RUNNING_WORDS = frozenset({"run", "exec"})
"""Words that may stand between a runner and its program, besides options."""

MOST_CHANGES = 3
"""Changed arguments up to which a call counts as the same attempt."""

SIMILAR = 0.6
"""Likeness, by difflib's ratio, from which a value counts as mended and not as another one."""

COMPARED = 300
"""Longest value, in characters, that is compared."""

_ID_NAME = re.compile(r"(?:^|_)(?:id|ids|uuid|guid|token|number|no|ref|pnr)$", re.IGNORECASE)
_ID_VALUE = re.compile(
    r"(?:[A-Z0-9]{5,}|(?=\D*\d)[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\w+_\d{3,}|\d{6,})"
)
_QUOTES = re.compile(r"['\"`\\]")
_VERSION = re.compile(r"[\d.]+$")
_EDGES = re.compile(r"\s+")
_HAN = re.compile(r"[\u3400-\u9fff]")  # in which two characters are a word: 上海


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """One argument that changed.

    Attributes:
        name: The argument.
        old: Its failing value for a sentence, `""` if it was absent or can't be told.
        new: Its working value, `""` if it is gone or can't be told.
        added: It was not given before.
        removed: It is not given any more.
        is_kind: `old` and `new` are kinds of values and not values.
        keys: Keys of a nested value that changed or came, none if they can't be told.
        keys_added: They were missing before.
    """

    name: str
    old: str
    new: str
    added: bool = False
    removed: bool = False
    is_kind: bool = False
    keys: tuple[str, ...] = ()
    keys_added: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """How two calls of one tool differ.

    Attributes:
        changes: What changed, in the order of the working call.
        kept: Arguments that both share.
        trivial: Nothing changed but spaces or the case of letters.
        related: The second is another attempt at the same thing.
    """

    changes: tuple[ArgumentChange, ...]
    kept: Mapping[str, Any]
    trivial: bool
    related: bool


def difference_between(failed: Mapping[str, Any], worked: Mapping[str, Any]) -> Difference:
    """Compare the arguments of a call that failed with those of one that worked."""
    names = [n for n in dict.fromkeys([*worked, *failed]) if n.lower() not in IGNORED_ARGUMENTS]
    same = [n for n in names if n in failed and n in worked and _equal(failed[n], worked[n])]
    changed = [n for n in names if n not in same]
    kept = {name: worked[name] for name in same}
    return Difference(
        changes=tuple(_change(name, failed, worked) for name in changed),
        kept=kept,
        trivial=not changed,
        related=bool(changed) and _is_related(changed, kept, failed, worked),
    )


def echoes_payload(error: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an error only repeats what was asked for, as a search without a hit does."""
    said = error.casefold()
    return any(
        name.lower() in PAYLOAD_ARGUMENTS and isinstance(value, str) and _inside(value, said)
        for name, value in arguments.items()
    )


def _inside(value: str, said: str) -> bool:
    asked = value.strip(" '\"").casefold()
    return 4 <= len(asked) <= COMPARED and asked[:60] in said


def _is_related(
    changed: list[str],
    kept: Mapping[str, Any],
    failed: Mapping[str, Any],
    worked: Mapping[str, Any],
) -> bool:
    if len(changed) > MOST_CHANGES:
        return False
    payloads = [n for n in changed if n.lower() in PAYLOAD_ARGUMENTS]
    if any(not _is_other_form(n, failed.get(n), worked.get(n)) for n in payloads):
        return False
    telling = [n for n, value in kept.items() if _tells_target(n, value, len(changed) == 1)]
    if telling or payloads:
        return True
    if len(changed) != 1 or _names_an_instance(changed[0], failed, worked):
        return False
    old, new = failed.get(changed[0]), worked.get(changed[0])
    return _is_reworked(old, new) or (isinstance(old, int | float) and type(old) is type(new))


def _tells_target(name: str, value: Any, all_else_equal: bool) -> bool:
    """Whether an argument that stayed the same shows that the target is the same.

    A short value shows it where it names a target and all but one argument stayed as they were.
    """
    if name.lower() in PAYLOAD_ARGUMENTS:
        return True
    if isinstance(value, str):
        said = value.strip()
        if all_else_equal and said and name.lower() in TARGET_ARGUMENTS:
            return True
        return len(said) >= (2 if _HAN.search(said) else 3)
    return isinstance(value, list | dict)


def _is_reworked(old: Any, new: Any) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    if max(len(old), len(new)) > COMPARED:
        return False
    if _is_completed(old, new):
        return True
    return SequenceMatcher(None, old, new, autojunk=False).ratio() >= SIMILAR


def _is_completed(old: str, new: str) -> bool:
    """Whether one value stands in the other as a word of its own: Bob, bob@example.com."""
    short, long = sorted((old.strip().casefold(), new.strip().casefold()), key=len)
    return len(short) >= 3 and bool(re.search(rf"(?<!\w){re.escape(short)}(?!\w)", long))


def _is_other_form(name: str, old: Any, new: Any) -> bool:
    """Whether two payloads ask for the same and differ in how: program, options or quotes."""
    if not isinstance(old, str) or not isinstance(new, str) or not old.strip():
        return False
    if max(len(old), len(new)) > COMPARED or "\n" in old.strip() + new.strip():
        return False
    if _QUOTES.sub("", old) == _QUOTES.sub("", new):
        return True
    if name.lower() not in COMMAND_ARGUMENTS:
        return False
    before, after = old.split(), new.split()
    if _is_wrapped(before, after) or _is_wrapped(after, before):
        return True
    if len(before) == len(after) == 1:
        return _program(old.strip()) == _program(new.strip())
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    touched = [(before[a:b], after[c:d], a) for tag, a, b, c, d in opcodes if tag != "equal"]
    return len(before) > 1 and all(
        _is_form(removed, at) and _is_form(added, at) for removed, added, at in touched
    )


def _is_wrapped(inner: list[str], outer: list[str]) -> bool:
    """Whether `outer` is `inner` behind a program that runs it, such as `python -m`."""
    added = outer[: len(outer) - len(inner)]
    if not added or outer[len(added) :] != inner or _program(added[0]) not in RUNNERS:
        return False
    return all(word in RUNNING_WORDS or word.startswith("-") for word in added[1:])


def _program(word: str) -> str:
    """Return the bare name of a program: without its folder and without its version."""
    name = word.rpartition("/")[2]
    return _VERSION.sub("", name) or name


def _is_form(words: list[str], at: int) -> bool:
    """Whether every word is an option, or the word is the program at the start."""
    return (at == 0 and len(words) == 1) or all(word.startswith("-") for word in words)


def _change(name: str, failed: Mapping[str, Any], worked: Mapping[str, Any]) -> ArgumentChange:
    added, removed = name not in failed, name not in worked
    if _names_an_instance(name, failed, worked):
        before, after = (kind_of_id(name, values.get(name)) for values in (failed, worked))
        if not after or not (added or before):
            before = after = ""
        return ArgumentChange(name, before, after, added, removed, is_kind=True)
    old = "" if added else short_value(failed[name])
    new = "" if removed else short_value(worked[name])
    if not added and not removed and not (old and new):
        old = new = ""
    keys, keys_added = changed_keys(failed.get(name), worked.get(name)) if not new else ((), False)
    return ArgumentChange(name, old, new, added, removed, keys=keys, keys_added=keys_added)


def _names_an_instance(name: str, failed: Mapping[str, Any], worked: Mapping[str, Any]) -> bool:
    if _ID_NAME.search(name):
        return True
    values = [v for v in (failed.get(name), worked.get(name)) if isinstance(v, str)]
    return bool(values) and all(_ID_VALUE.fullmatch(value[:200]) for value in values)


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        return _EDGES.sub("", old).casefold() == _EDGES.sub("", new).casefold()
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)
