"""Secrets that are known by their name: `password=…`, `"api_key": "…"`, `--token …`.

The name alone proves nothing: `token_count = 5`, `password: required` and `token = get_token()`
hold no secret. So a value has to look like one, the more so the less its quotes and its name say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_core.safety.tokens import is_placeholder

__all__ = ["find_assigned", "kind_of_name", "looks_secret"]

_NAMES = (
    r"(?P<password>pass(?:word|wd|phrase|code)|(?<![a-z])pwd|(?<=[_\-\"'])pass|密码|口令)"
    r"|(?P<api_key>api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|auth[_-]?key"
    r"|subscription[_-]?key|密钥)"
    r"|(?P<secret>secret(?:[_-]?(?:access)?[_-]?key|[_-]?value|[_-]?token)?|private[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|client[_-]?secret)"
    r"|(?P<token>token|令牌)"
)
_QUOTE = r"\\{0,8}[\"']"
_ASSIGNED = re.compile(
    rf"(?:{_NAMES})"
    rf"(?P<after>{_QUOTE}\]?|\])?"
    r"(?P<sep>[ \t]{0,8}(?:=>|:=|:[ \t]{0,2}str[ \t]{0,4}=(?!=)|==?(?!=)|[:：])[ \t]{0,8}"
    r"|[ \t]{1,4}is[ \t]{1,4}|是[ \t]{0,4}|[ \t]{1,4})"
    r"(?P<value>[bru]{0,2}\"(?P<double>(?:[^\"\\\n]|\\[^\n]){1,400})\""
    r"|[bru]{0,2}'(?P<single>(?:[^'\\\n]|\\[^\n]){1,400})'"
    r"|(?P<open>\\{1,8}[\"'])(?P<escaped>[^\"'\\\n]{1,400})(?=\\)"
    r"|(?P<bare>[^\s\"'`,;&<>(){}\[\]\\|，。；]{3,400}))",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]+(?:[_.-][^\W\d_]+)*")
_SYMBOL = re.compile(r"[!@#$%^&*+/=~?|]")
_OPTION = re.compile(r"--?[A-Za-z0-9_-]{0,40}\Z")
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


def looks_secret(value: str, kind: str) -> bool:
    """Whether the quoted `value` of a field of that kind is a secret.

    Texts with spaces are labels (`"Enter your password"`); numbers are no tokens (`50256`);
    short words are no keys (`"the"`).
    """
    stripped = value.strip()
    if is_placeholder(stripped) or "[redacted:" in stripped or kind_of_name(stripped):
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
    at = 0
    while found := _ASSIGNED.search(text, at):
        place = _judged(text, found)
        if place is None:
            at = max(found.end("sep"), found.start() + 1)
            continue
        yield place
        at = place[1]


def _judged(text: str, found: re.Match[str]) -> tuple[int, int, str] | None:
    kind = _kind(found)
    if kind == "token" and _OTHER_TOKENS.fullmatch(
        text[max(0, found.start() - 20) : found.end(kind)]
    ):
        return None
    separator = found.group("sep").strip()
    for group in ("double", "single", "escaped"):
        value = found.group(group)
        if value is not None:
            is_told = bool(separator) or _is_option(text, found)
            if is_told and looks_secret(value, kind):
                return found.start(group), found.end(group), kind
            return None
    value = found.group("bare").rstrip(".:!?")
    if not value or is_placeholder(value) or value.startswith(("[", "$", "%", "http:", "https:")):
        return None
    if _bare_is_secret(text, found, separator, value, kind):
        return found.start("bare"), found.start("bare") + len(value), kind
    return None


def _is_option(text: str, found: re.Match[str]) -> bool:
    """Whether the name is a command-line option such as `--db-password`."""
    return bool(_OPTION.search(text, max(0, found.start() - 44), found.start()))


def _bare_is_secret(text: str, found: re.Match[str], separator: str, value: str, kind: str) -> bool:
    """Judge a value without quotes by what stands around it."""
    is_option = _is_option(text, found)
    if not separator:
        return is_option and not value.startswith("-") and len(value) >= 4
    has_digit = any(char.isdigit() for char in value)
    if value.isdigit() and (kind != "password" or found.group("password").lower() == "pass"):
        return False
    has_sign = has_digit or bool(_SYMBOL.search(value))
    if text[found.end() : found.end() + 1] in ("(", "[") or separator in ("==", ":="):
        return False
    if has_sign and not _is_code(value):
        return len(value) >= (4 if kind == "password" else 8)
    if separator in ("is", "是") or not _WORDS.fullmatch(value) or len(value) < 6:
        return False
    return _plain_word_is_secret(text, found, separator, value, is_option)


def _plain_word_is_secret(
    text: str, found: re.Match[str], separator: str, value: str, is_option: bool
) -> bool:
    """Judge a value that is a word: taken in settings and options, left alone in code and prose."""
    if "." in value or kind_of_name(value) or _is_code(value):
        return False
    rest = text[found.end() : found.end() + 1]
    name = text[found.start() : found.start("sep")]
    if separator == "=" and found.group("sep") == "=":
        return is_option or name.isupper() or rest not in (",", ")")
    is_own_line = rest in ("", "\n", "\r")
    line_start = _LINE_KEY.search(text, max(0, found.start() - 80), found.start())
    return separator == ":" and is_own_line and bool(line_start) and name.islower()


_CODE = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_]*(?:get|load|read|fetch|make|create|new)_\w+"
)


def _is_code(value: str) -> bool:
    """Whether a bare value is an expression: `os.environ`, `self.password`, `get_token2`."""
    return bool(_CODE.fullmatch(value))
