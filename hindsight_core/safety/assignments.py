"""Secrets that are known by their name: `password=…`, `"api_key": "…"`, `--token …`.

The name alone proves nothing: `token_count = 5`, `password: required` and `token = get_token()`
hold no secret. So a value has to look like one, the more so the less its quotes and its name say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_core.safety.tokens import is_placeholder

__all__ = ["find_assigned", "find_options", "kind_of_name", "looks_secret"]

_NAMES = (
    r"(?P<password>pass(?:word|wd|phrase|code)|(?<![a-z])pwd|(?<=[_\-\"'])pass|密码|口令)"
    r"|(?P<api_key>api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|auth[_-]?key"
    r"|subscription[_-]?key|密钥)"
    r"|(?P<secret>secret(?:[_-]?(?:access)?[_-]?key|[_-]?value|[_-]?token)?|private[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|client[_-]?secret)"
    r"|(?P<token>token|令牌)"
)
_QUOTE = r"\\{0,8}[\"']"
_BARE = r"!#%+\-./0-9:=?@A-Z^_a-z~*$"
_VALUE = (
    r"(?:[bru]{0,2}\"(?P<double>(?:[^\"\\\n]|\\[^\n]){1,200})"
    r"|[bru]{0,2}'(?P<single>(?:[^'\\\n]|\\[^\n]){1,200})"
    r"|\\{1,8}[\"'](?P<escaped>[^\"'\\\n]{1,200})"
    rf"|(?P<bare>[{_BARE}]{{3,200}}))"
)
_ASSIGNED = re.compile(
    rf"(?:{_NAMES})(?:{_QUOTE}\]?|\])?"
    r"(?P<sep>[ \t]{0,8}(?:=>|:=|:[ \t]{0,2}str[ \t]{0,4}=(?!=)|==?(?!=)|[:：])[ \t]{0,8}"
    rf"|[ \t]{{1,4}}is[ \t]{{1,4}}|是[ \t]{{0,4}}){_VALUE}",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?<!\S)--?(?:[a-z0-9]{{1,20}}[_-]){{0,4}}(?:{_NAMES})(?P<sep>[ \t]{{1,4}}|=)(?!-){_VALUE}",
    re.IGNORECASE,
)
_REST = {
    "double": re.compile(r"(?:[^\"\\\n]|\\[^\n])*"),
    "single": re.compile(r"(?:[^'\\\n]|\\[^\n])*"),
    "escaped": re.compile(r"[^\"'\\\n]*"),
    "bare": re.compile(rf"[{_BARE}]*"),
}
"""How a value goes on after the part of it that was judged."""

_WORDS = re.compile(r"[^\W\d_]+(?:[_.-][^\W\d_]+)*")
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_]*(?:get|load|read|fetch|make|create|new)_\w+"
)
"""A bare value that is an expression: `os.environ`, `self.password`, `get_token2`."""

_PUNCTUATION = ".:!?"
_NO_VALUES = ("$", "%", "http:", "https:")
_SYMBOL = re.compile(r"[!@#$%^&*+/=~?|]")
_LINE_KEY = re.compile(r"(?:^|\n)[ \t]*(?:- |export |set |env )?[ \t]*[A-Za-z0-9_.-]{0,60}\Z", re.I)
_NAME_ENDS = re.compile(rf".*?(?:{_NAMES}|(?P<login>\Apass))", re.IGNORECASE | re.DOTALL)
_OTHER_TOKENS = re.compile(
    r".*(?:page|next|prev|previous|continuation|sync|pad|eos|bos|unk|sep|cls|mask|special)[_-]?token",
    re.IGNORECASE | re.DOTALL,
)


def kind_of_name(name: str) -> str:
    """Return the kind of secret that a field called `name` holds, `""` if it holds none."""
    found = _NAME_ENDS.fullmatch(name[-80:])
    if not found or _OTHER_TOKENS.fullmatch(name[-80:]):
        return ""
    return "password" if found.group("login") else _kind(found)


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in ("password", "api_key", "secret", "token") if found.group(kind))


def _is_variable(value: str) -> bool:
    """Whether a value is the name of a variable that holds the secret: `user_password`."""
    return "_" in value and bool(kind_of_name(value))


def looks_secret(value: str, kind: str) -> bool:
    """Whether the quoted `value` of a field of that kind is a secret.

    Texts with spaces are labels (`"Enter your password"`); numbers are no tokens (`50256`);
    short words are no keys (`"the"`).
    """
    stripped = value.strip()
    if is_placeholder(stripped) or "[redacted:" in stripped or _is_variable(stripped):
        return False
    has_digit = any(char.isdigit() for char in stripped)
    if any(char.isspace() for char in stripped):
        return kind == "password" and has_digit and len(stripped) <= 64
    if kind == "password":
        return len(stripped) >= 3 and (stripped.isascii() or has_digit)
    if len(stripped) < 8 or stripped.isdigit() or not stripped.isascii():
        return False
    return has_digit or bool(_SYMBOL.search(stripped)) or len(stripped) >= 20


def find_assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the values of secrets in assignments as start, end and kind, in order."""
    return _found(_ASSIGNED, text, is_option=False)


def find_options(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the values of secrets in command-line options as start, end and kind, in order."""
    return _found(_OPTION, text, is_option=True)


def _found(
    pattern: re.Pattern[str], text: str, *, is_option: bool
) -> Iterator[tuple[int, int, str]]:
    at = 0
    while found := pattern.search(text, at):
        group = next(name for name in _REST if found.group(name) is not None)
        kind = _kind(found)
        if not _is_secret(text, found, group, kind, is_option):
            at = found.end("sep")
            continue
        rest = _REST[group].match(text, found.end(group))
        end = rest.end() if rest else found.end(group)
        if group == "bare":
            end = found.start(group) + len(text[found.start(group) : end].rstrip(_PUNCTUATION))
        yield found.start(group), end, kind
        at = end


def _is_secret(text: str, found: re.Match[str], group: str, kind: str, is_option: bool) -> bool:
    if kind == "token" and _OTHER_TOKENS.fullmatch(
        text[max(0, found.start(kind) - 20) : found.end(kind)]
    ):
        return False
    if group != "bare":
        return looks_secret(found.group(group), kind)
    value = found.group(group).rstrip(_PUNCTUATION)
    if not value or is_placeholder(value) or value.startswith(_NO_VALUES):
        return False
    if is_option:
        return len(value) >= 4
    if value.isdigit() and (kind != "password" or found.group(kind).lower() == "pass"):
        return False
    return _bare_is_secret(text, found, value, kind)


def _bare_is_secret(text: str, found: re.Match[str], value: str, kind: str) -> bool:
    """Judge a value without quotes by what it is made of and what stands around it."""
    separator = found.group("sep").strip()
    next_char = text[found.end() : found.end() + 1]
    if next_char in ("(", "[") or separator in ("==", ":=") or _CODE.fullmatch(value):
        return False
    if any(char.isdigit() for char in value) or _SYMBOL.search(value):
        return len(value) >= (4 if kind == "password" else 8)
    if separator in ("is", "是") or not _WORDS.fullmatch(value) or len(value) < 6:
        return False
    return _word_is_secret(text, found, value, next_char)


def _word_is_secret(text: str, found: re.Match[str], value: str, next_char: str) -> bool:
    """Judge a value that is a word: taken in settings, left alone in code and prose."""
    if _is_variable(value):
        return False
    separator = found.group("sep")
    name = text[found.start() : found.start("sep")]
    if separator == "=":
        return name.isupper() or next_char not in (",", ")")
    if separator.strip() != ":" or next_char not in ("", "\n", "\r") or not name.islower():
        return False
    return bool(_LINE_KEY.search(text, max(0, found.start() - 80), found.start()))
